/* Zip files that are read in real children: what comes out, and which tricks are refused. */

#include "core/document/bundle/bundle.h"

#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/readers_group.h"
#include "tests/support/zip_maker.h"

/* A zip with an entry of this kind among others. */
static void zip_with(struct buf *bytes, const char *name, mode_t type, const char *options)
{
    struct zip_maker zip;
    struct archive_entry *entry = archive_entry_new();

    zip_begin(&zip, bytes, options);
    zip_add(&zip, "a/SKILL.md", "x");
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 0777);
    if (type == AE_IFLNK)
        archive_entry_set_symlink(entry, "/etc/passwd");
    assert_int_equal(archive_write_header(zip.archive, entry), ARCHIVE_OK);
    archive_entry_free(entry);
    zip_end(&zip);
}

static void expect_refused(const struct buf *zip, enum err_code code, const char *words)
{
    CLEANUP(bundle_clear) struct bundle bundle = {.count = 0};
    struct err err = {0};
    enum err_code rc = bundle_unpack(zip->data, zip->length, &bundle, &err);

    if (rc != code || strcmp(err.text, words) != 0)
        fail_msg("code %d: \"%s\", not \"%s\"", rc, err.text, words);
    assert_int_equal(bundle.count, 0);
}

TEST(what_is_packed_is_unpacked)
{
    CLEANUP(bundle_clear) struct bundle bundle = {.count = 0}, back = {.count = 0};
    AUTO_BUF zip = {0}, again = {0};
    struct err err;

    bundle_add(&bundle, "SKILL.md", "text", 4);
    bundle_add(&bundle, "b/\xC3\xA9.bin", "\0\xFF\n", 3);
    bundle_add(&bundle, "empty", "", 0);
    assert_int_equal(bundle_pack(&bundle, "top", &zip, &err), ERR_OK);
    assert_int_equal(bundle_pack(&bundle, "top", &again, &err), ERR_OK);
    assert_int_equal(zip.length, again.length);
    assert_memory_equal(zip.data, again.data, zip.length);
    if (bundle_unpack(zip.data, zip.length, &back, &err) != ERR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(back.count, 3);
    assert_string_equal(back.list[0].path, "top/SKILL.md");
    assert_string_equal(back.list[1].path, "top/b/\xC3\xA9.bin");
    assert_int_equal(back.list[1].bytes.length, 3);
    assert_memory_equal(back.list[1].bytes.data, "\0\xFF\n", 3);
    assert_int_equal(back.list[2].bytes.length, 0);
}

TEST(paths_that_lead_elsewhere_are_refused)
{
    static const struct {
        const char *name, *words;
    } rows[] = {
        {"../b", "the path of the entry '../b' has a part '..'"},
        {"a/../../b", "the path of the entry 'a/../../b' has a part '..'"},
        {"/etc/passwd", "the path of the entry '/etc/passwd' is absolute"},
        {"a//b", "the path of the entry 'a//b' has an empty part"},
        {"a/./b", "the path of the entry 'a/./b' has a part '.'"},
        {"a\nb", "the path of the entry 'a?b' has a backslash or a control character"},
        {"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17",
         "the path of the entry '1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17' is more than 16 "
         "folders deep"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF zip = {0};
        struct zip_file files[] = {{"a/SKILL.md", "x"}, {rows[i].name, "x"}};

        zip_of(&zip, files, 2);
        expect_refused(&zip, ERR_INVALID, rows[i].words);
    }
}

TEST(links_and_passwords_are_refused)
{
    AUTO_BUF link = {0}, folder = {0}, locked = {0};
    CLEANUP(bundle_clear) struct bundle bundle = {.count = 0};
    struct zip_maker zip;

    zip_with(&link, "a/link", AE_IFLNK, NULL);
    expect_refused(&link, ERR_INVALID, "the entry 'a/link' is a link");
    zip_with(&folder, "a/folder/", AE_IFDIR, NULL);
    assert_int_equal(bundle_unpack(folder.data, folder.length, &bundle, NULL), ERR_OK);
    assert_int_equal(bundle.count, 1);
    zip_begin(&zip, &locked, NULL);
    if (archive_write_set_options(zip.archive, "zip:encryption=zipcrypt") == ARCHIVE_OK) {
        archive_write_set_passphrase(zip.archive, "secret");
        zip_add(&zip, "a/SKILL.md", "x");
        zip_end(&zip);
        expect_refused(&locked, ERR_INVALID, "the entry 'a/SKILL.md' has a password");
    } else {
        zip_end(&zip);
    }
}

TEST(bombs_are_refused_before_they_are_unpacked)
{
    AUTO_BUF dense = {0}, large = {0}, many = {0};
    struct zip_maker zip;

    zip_begin(&zip, &dense, NULL);
    zip_add_letters(&zip, "a/zeros", 'x', (size_t)10 << 20);
    zip_end(&zip);
    expect_refused(&dense, ERR_TOO_LARGE,
                   "the entry 'a/zeros' unpacks to more than 100 times the size of the zip");
    zip_begin(&zip, &large, "zip:compression=store");
    zip_add_letters(&zip, "a/large", 'x', BUNDLE_BYTES_LIMIT + 1);
    zip_end(&zip);
    expect_refused(&large, ERR_TOO_LARGE,
                   "with the entry 'a/large' its files have more than 16 MiB");
    zip_begin(&zip, &many, NULL);
    for (size_t i = 0; i <= BUNDLE_FILES_LIMIT; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "a/%zu", i);
        zip_add(&zip, name, "");
    }
    zip_end(&zip);
    expect_refused(&many, ERR_TOO_LARGE, "it has more than 500 files");
}

TEST(what_is_no_zip_is_refused)
{
    AUTO_BUF whole = {0}, junk = {0};
    struct zip_file files[] = {{"a/SKILL.md", "some text that is long enough"}};

    buf_add_text(&junk, "PK\3\4 and nothing more");
    expect_refused(&junk, ERR_INVALID, "it is no whole zip");
    zip_of(&whole, files, 1);
    whole.length -= 20;
    expect_refused(&whole, ERR_INVALID, "it is no whole zip");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_is_unpacked),
        cmocka_unit_test(paths_that_lead_elsewhere_are_refused),
        cmocka_unit_test(links_and_passwords_are_refused),
        cmocka_unit_test(bombs_are_refused_before_they_are_unpacked),
        cmocka_unit_test(what_is_no_zip_is_refused),
    };

    return cmocka_run_group_tests(tests, readers_start, readers_stop);
}
