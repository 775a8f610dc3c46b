#include "tests/support/zip_maker.h"

#include <archive_entry.h>
#include <locale.h>
#include <string.h>

#include "tests/support/test.h"

static la_ssize_t take(struct archive *archive, void *arg, const void *bytes, size_t length)
{
    (void)archive;
    buf_add(arg, bytes, length);
    return (la_ssize_t)length;
}

void zip_begin(struct zip_maker *zip, struct buf *bytes, const char *options)
{
    /* For names that are not ASCII. */
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    zip->archive = archive_write_new();
    assert_int_equal(archive_write_set_format_zip(zip->archive), ARCHIVE_OK);
    if (options)
        assert_int_equal(archive_write_set_options(zip->archive, options), ARCHIVE_OK);
    if (options && strstr(options, "encryption"))
        assert_int_equal(archive_write_set_passphrase(zip->archive, "secret"), ARCHIVE_OK);
    /* No padding behind the end. */
    archive_write_set_bytes_in_last_block(zip->archive, 1);
    assert_int_equal(archive_write_open(zip->archive, bytes, NULL, take, NULL), ARCHIVE_OK);
}

static void begin_entry(struct zip_maker *zip, const char *name, size_t length)
{
    struct archive_entry *entry = archive_entry_new();

    archive_entry_set_pathname(entry, name);
    archive_entry_set_size(entry, (la_int64_t)length);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    assert_int_equal(archive_write_header(zip->archive, entry), ARCHIVE_OK);
    archive_entry_free(entry);
}

static void write_bytes(struct zip_maker *zip, const char *bytes, size_t length)
{
    while (length) {
        la_ssize_t written = archive_write_data(zip->archive, bytes, length);

        assert_true(written > 0);
        bytes += written;
        length -= (size_t)written;
    }
}

void zip_add(struct zip_maker *zip, const char *name, const char *text)
{
    zip_add_bytes(zip, name, text, strlen(text));
}

void zip_add_bytes(struct zip_maker *zip, const char *name, const char *bytes, size_t length)
{
    begin_entry(zip, name, length);
    write_bytes(zip, bytes, length);
}

void zip_add_letters(struct zip_maker *zip, const char *name, char letter, size_t length)
{
    char letters[65536];

    memset(letters, letter, sizeof(letters));
    begin_entry(zip, name, length);
    for (size_t room; length; length -= room) {
        room = length < sizeof(letters) ? length : sizeof(letters);
        write_bytes(zip, letters, room);
    }
}

void zip_add_repeated(struct zip_maker *zip, const char *name, const char *head,
                      const char *middle, size_t count, const char *tail)
{
    begin_entry(zip, name, strlen(head) + count * strlen(middle) + strlen(tail));
    write_bytes(zip, head, strlen(head));
    for (size_t i = 0; i < count; i++)
        write_bytes(zip, middle, strlen(middle));
    write_bytes(zip, tail, strlen(tail));
}

void zip_end(struct zip_maker *zip)
{
    assert_int_equal(archive_write_close(zip->archive), ARCHIVE_OK);
    archive_write_free(zip->archive);
}

void zip_of(struct buf *bytes, const struct zip_file *files, size_t count)
{
    struct zip_maker zip;

    zip_begin(&zip, bytes, NULL);
    for (size_t i = 0; i < count; i++)
        zip_add(&zip, files[i].name, files[i].text);
    zip_end(&zip);
}
