/*
 * bundle_task.c -- packs and unpacks zip files, in a child that can do nothing else.
 *
 * The reader that seeks takes the entries from the directory at the end of the file. It stops at the first thing that
 * is no file or folder and reports that alone: half a folder is of no use.
 */

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/document/bundle/bundle.h"
#include "core/document/bundle/bundle_record.h"
#include "core/document/office/late_library.h"
#include "core/document/reading.h"
#include "core/document/tasks.h"

/* clang-format off */
#define CALLS(X) \
    X(archive_read_new) X(archive_read_free) X(archive_read_support_format_zip_seekable) \
    X(archive_read_open_memory) X(archive_read_next_header) X(archive_read_data) \
    X(archive_entry_pathname) X(archive_entry_pathname_utf8) X(archive_entry_is_data_encrypted) \
    X(archive_entry_filetype) X(archive_write_new) X(archive_write_free) X(archive_write_close) \
    X(archive_write_set_format_zip) X(archive_write_set_bytes_in_last_block) X(archive_write_open) \
    X(archive_write_header) X(archive_write_data) X(archive_entry_new) X(archive_entry_free) \
    X(archive_entry_set_pathname_utf8) X(archive_entry_set_filetype) X(archive_entry_set_perm) \
    X(archive_entry_set_size) X(archive_entry_set_mtime)
/* clang-format on */

static struct {
    CALLS(LATE_POINTER)
} lib;

static bool load_library(void)
{
    static const char *const names[] = {CALLS(LATE_NAME)};

    /* libarchive knows names in the encoding of the locale only. */
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return late_library_load("libarchive.so.13", names, COUNT_OF(names), &lib);
}

/* ---- Out of a zip ---- */

#define READ_SIZE ((size_t)64 << 10)

static void put(struct buf *out, enum bundle_kind kind, const char *name,
                const struct buf *bytes)
{
    const struct bundle_head head = {.kind = kind,
                                     .name_length = (uint32_t)strlen(name),
                                     .length = bytes ? bytes->length : 0};

    buf_add(out, &head, sizeof(head));
    buf_add(out, name, head.name_length);
    if (head.length)
        buf_add(out, bytes->data, bytes->length);
}

static enum bundle_kind kind_of(struct archive_entry *entry)
{
    if (lib.archive_entry_is_data_encrypted(entry))
        return BUNDLE_ENCRYPTED;
    switch (lib.archive_entry_filetype(entry)) {
    case AE_IFREG: return BUNDLE_FILE;
    case AE_IFDIR: return BUNDLE_FOLDER;
    case AE_IFLNK: return BUNDLE_LINK;
    default: return BUNDLE_DEVICE;
    }
}

/* Its bytes, while they stay within the limits of all files. */
static enum bundle_kind read_bytes(struct archive *archive, size_t zip_length, size_t *total,
                                   struct buf *ret_bytes)
{
    for (;;) {
        la_ssize_t got =
            lib.archive_read_data(archive, buf_reserve(ret_bytes, READ_SIZE), READ_SIZE);

        if (got <= 0)
            return got ? BUNDLE_UNREADABLE : BUNDLE_FILE;
        buf_added(ret_bytes, (size_t)got);
        *total += (size_t)got;
        if (*total > BUNDLE_BYTES_LIMIT)
            return BUNDLE_TOO_LARGE;
        if (*total > BUNDLE_RATIO_FROM && *total / BUNDLE_RATIO_LIMIT > zip_length)
            return BUNDLE_TOO_DENSE;
    }
}

static void unpack(struct archive *archive, size_t zip_length, struct buf *out)
{
    size_t total = 0;

    for (size_t count = 0;; count++) {
        struct archive_entry *entry = NULL;
        int rc = lib.archive_read_next_header(archive, &entry);
        const char *name;
        enum bundle_kind kind;
        AUTO_BUF bytes = {0};

        if (rc == ARCHIVE_EOF)
            return;
        name = rc < ARCHIVE_WARN ? "" : lib.archive_entry_pathname_utf8(entry);
        if (rc < ARCHIVE_WARN || !name || count == BUNDLE_ENTRIES_LIMIT) {
            put(out, count == BUNDLE_ENTRIES_LIMIT ? BUNDLE_TOO_MANY : BUNDLE_UNREADABLE, "",
                NULL);
            return;
        }
        kind = kind_of(entry);
        if (kind == BUNDLE_FILE)
            kind = read_bytes(archive, zip_length, &total, &bytes);
        put(out, kind, name, kind == BUNDLE_FILE ? &bytes : NULL);
        if (kind != BUNDLE_FILE && kind != BUNDLE_FOLDER)
            return;
    }
}

int task_bundle_unpack(void)
{
    size_t length;
    const char *bytes = task_input(&length);
    struct archive *archive;
    AUTO_BUF out = {0};

    if (!load_library())
        return READING_NO_READER;
    archive = lib.archive_read_new();
    if (bytes && lib.archive_read_support_format_zip_seekable(archive) == ARCHIVE_OK &&
        lib.archive_read_open_memory(archive, bytes, length) == ARCHIVE_OK)
        unpack(archive, length, &out);
    else
        put(&out, BUNDLE_UNREADABLE, "", NULL);
    lib.archive_read_free(archive);
    return task_output(out.data ? out.data : "", out.length);
}

/* ---- Into a zip ---- */

static la_ssize_t write_out(struct archive *archive, void *arg, const void *bytes,
                            size_t length)
{
    (void)archive;
    (void)arg;
    return task_output(bytes, length) == READING_DONE ? (la_ssize_t)length : -1;
}

static bool pack_one(struct archive *archive, const char *name, size_t name_length,
                     const char *bytes, size_t length)
{
    AUTO_BUF path = {0};
    struct archive_entry *entry = lib.archive_entry_new();
    bool fine;

    buf_add(&path, name, name_length);
    buf_add_char(&path, '\0');
    lib.archive_entry_set_pathname_utf8(entry, path.data);
    lib.archive_entry_set_filetype(entry, AE_IFREG);
    lib.archive_entry_set_perm(entry, 0644);
    lib.archive_entry_set_size(entry, (la_int64_t)length);
    lib.archive_entry_set_mtime(entry, 315532800, 0); /* 1980, where the time of zips begins */
    fine = lib.archive_write_header(archive, entry) >= ARCHIVE_WARN &&
           (!length || lib.archive_write_data(archive, bytes, length) == (la_ssize_t)length);
    lib.archive_entry_free(entry);
    return fine;
}

int task_bundle_pack(void)
{
    size_t length;
    const char *at = task_input(&length), *end = at ? at + length : NULL;
    struct bundle_head head;
    const char *name, *bytes;
    struct archive *archive;
    bool fine;

    if (!load_library())
        return READING_NO_READER;
    archive = lib.archive_write_new();
    fine = at && lib.archive_write_set_format_zip(archive) == ARCHIVE_OK &&
           lib.archive_write_set_bytes_in_last_block(archive, 1) == ARCHIVE_OK &&
           lib.archive_write_open(archive, NULL, NULL, write_out, NULL) == ARCHIVE_OK;
    while (fine && bundle_record_take(&at, end, &head, &name, &bytes))
        fine = pack_one(archive, name, head.name_length, bytes, head.length);
    fine = fine && lib.archive_write_close(archive) == ARCHIVE_OK;
    lib.archive_write_free(archive);
    return fine ? READING_DONE : READING_DAMAGED;
}
