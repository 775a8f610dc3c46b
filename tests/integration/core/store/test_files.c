/*
 * Files as rows: the blob, the row and the bytes of the project change together or not at all.
 */

#include "core/store/tables/files/files.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/tables/files/blobs.h"
#include "core/store/tables/files/file_change.h"
#include "core/store/tables/files/file_pictures.h"
#include "core/store/tables/files/file_texts.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_files")
#define THEIRS TENANT_OF("proj_others")

static const struct idempotency no_key = {.key = ""};

static struct blob_row written(uint64_t bytes)
{
    struct blob_row blob = {.place = BLOB_DATABASE, .bytes = bytes};

    id_make(blob.id, "blob_");
    assert_int_equal(store_blob_begin(store, MINE, &blob, NULL), ERR_OK);
    assert_int_equal(store_blob_written(store, MINE, &blob, NULL), ERR_OK);
    return blob;
}

static struct file_row sample(uint64_t bytes)
{
    struct file_row row = {.filename = mem_strdup("报告 \"a\".md"),
                           .purpose = mem_strdup("assistants"),
                           .bytes = bytes,
                           .created_at = clock_wall_us()};
    struct blob_row blob = written(bytes);

    id_make(row.id, "file-");
    memcpy(row.blob_id, blob.id, sizeof(blob.id));
    return row;
}

static struct file_row made(uint64_t bytes)
{
    struct file_row row = sample(bytes);

    assert_int_equal(store_file_create(store, MINE, &no_key, 0, &row, NULL), ERR_OK);
    return row;
}

/* "files holders bytes", of the project and of the blob. */
static void assert_state(const char *blob_id, const char *expected)
{
    assert_string_equal(
        pg_fixture_ask("SELECT (SELECT count(*) FROM files WHERE blob_id = '%s') || ' ' ||"
                       " (SELECT holders FROM blobs WHERE id = '%s') || ' ' ||"
                       " coalesce((SELECT bytes FROM storage_use WHERE project_id ="
                       " 'proj_files'), 0)",
                       blob_id, blob_id),
        expected);
}

TEST(a_file_is_read_as_it_was_made_and_holds_its_blob)
{
    struct file_row row = made(7);
    struct file_row read;

    assert_state(row.blob_id, "1 1 7");
    assert_int_equal(store_file_get(store, MINE, row.id, &read, NULL), ERR_OK);
    assert_string_equal(read.id, row.id);
    assert_string_equal(read.blob_id, row.blob_id);
    assert_string_equal(read.filename, "报告 \"a\".md");
    assert_string_equal(read.purpose, "assistants");
    assert_int_equal(read.bytes, 7);
    assert_int_equal(read.created_at, row.created_at);
    assert_int_equal(read.expires_at, 0);
    file_row_clear(&read);
    assert_int_equal(store_file_delete(store, MINE, row.id, NULL), ERR_OK);
    assert_state(row.blob_id, "0 0 0");
    file_row_clear(&row);
}

/* Bytes that count beside those of files. */
static size_t counted(void)
{
    return (size_t)pg_fixture_count("SELECT document_bytes FROM storage_use"
                                    " WHERE project_id = 'proj_files'");
}

TEST(the_text_of_a_file_is_kept_by_version_and_goes_with_it)
{
    struct file_row row = made(7);
    struct file_row other;
    const char *text = "说明 [page 1]";
    struct file_text_row read;

    assert_int_equal(store_file_text_get(store, MINE, &row, 1, &read, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_file_text_put(store, MINE, &row, 1, text, 3, NULL), ERR_OK);
    assert_int_equal(store_file_text_get(store, MINE, &row, 1, &read, NULL), ERR_OK);
    assert_string_equal(read.text, text);
    assert_int_equal(read.pages, 3);
    assert_int_equal(counted(), strlen(text));
    file_text_row_clear(&read);
    assert_int_equal(store_file_text_get(store, THEIRS, &row, 1, &read, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_file_text_get(store, MINE, &row, 2, &read, NULL), ERR_NOT_FOUND);
    other = row;
    memcpy(other.blob_id, "blob_other", sizeof("blob_other"));
    assert_int_equal(store_file_text_get(store, MINE, &other, 1, &read, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_file_text_put(store, MINE, &other, 1, "later", 0, NULL), ERR_OK);
    assert_int_equal(store_file_text_put(store, MINE, &row, 2, text, 0, NULL), ERR_OK);
    assert_int_equal(store_file_text_get(store, MINE, &row, 2, &read, NULL), ERR_OK);
    assert_int_equal(read.pages, 0);
    assert_int_equal(counted(), strlen(text));
    file_text_row_clear(&read);
    assert_int_equal(store_file_delete(store, MINE, row.id, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM file_texts"), 0);
    assert_int_equal(counted(), 0);
    assert_int_equal(store_file_text_put(store, MINE, &row, 2, text, 0, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM file_texts"), 0);
    file_row_clear(&row);
}

/* "holders of the blob, rows, bytes that count beside those of files" */
static void assert_pictures(const struct blob_row *blob, const char *expected)
{
    assert_string_equal(
        pg_fixture_ask("SELECT (SELECT holders FROM blobs WHERE id = '%s') || ' ' ||"
                       " (SELECT count(*) FROM file_pictures) || ' ' || (SELECT document_bytes"
                       " FROM storage_use WHERE project_id = 'proj_files')",
                       blob->id),
        expected);
}

static bool is_kept(const struct tenant *tenant, const struct file_row *row, int version,
                    const struct blob_row *blob)
{
    char found[ID_SIZE];

    return !store_file_pictures_get(store, tenant, row, version, found, NULL) &&
           strcmp(found, blob->id) == 0;
}

TEST(the_pictures_of_a_file_are_held_and_counted_and_go_with_it)
{
    struct file_row row = made(7);
    struct blob_row first = written(100), twin = written(50), second = written(30);
    bool kept;

    assert_int_equal(store_file_pictures_put(store, MINE, &row, 1, &first, &kept, NULL),
                     ERR_OK);
    assert_true(kept);
    assert_true(is_kept(MINE, &row, 1, &first));
    assert_false(is_kept(THEIRS, &row, 1, &first));
    assert_false(is_kept(MINE, &row, 2, &first));
    assert_pictures(&first, "1 1 100");
    assert_int_equal(store_file_pictures_put(store, THEIRS, &row, 1, &twin, &kept, NULL),
                     ERR_OK);
    assert_false(kept);
    assert_int_equal(store_file_pictures_put(store, MINE, &row, 2, &second, &kept, NULL),
                     ERR_OK);
    assert_true(kept);
    assert_true(is_kept(MINE, &row, 2, &second));
    assert_pictures(&first, "0 1 30");
    assert_int_equal(store_file_delete(store, MINE, row.id, NULL), ERR_OK);
    assert_pictures(&second, "0 0 0");
    assert_int_equal(store_file_pictures_put(store, MINE, &row, 2, &twin, &kept, NULL), ERR_OK);
    assert_false(kept);
    assert_pictures(&twin, "0 0 0");
    file_row_clear(&row);
}

TEST(pictures_go_when_the_bytes_of_their_file_change)
{
    struct file_row row = made(7);
    struct blob_row drawn = written(100), other = written(9);
    bool kept = false;

    assert_int_equal(store_file_pictures_put(store, MINE, &row, 1, &drawn, &kept, NULL),
                     ERR_OK);
    assert_int_equal(store_file_replace(store, MINE, 0, &row, &other, NULL), ERR_OK);
    assert_pictures(&drawn, "0 0 0");
    assert_int_equal(store_file_pictures_put(store, MINE, &row, 1, &drawn, &kept, NULL),
                     ERR_OK);
    assert_false(kept);
    assert_int_equal(store_file_delete(store, MINE, row.id, NULL), ERR_OK);
    file_row_clear(&row);
}

TEST(pictures_are_not_kept_beyond_the_limit_of_the_project)
{
    struct file_row row = made(7);
    struct blob_row drawn = written(100);
    bool kept = false;
    struct err err;

    store_set_storage_limit(store, 7);
    assert_int_equal(store_file_pictures_put(store, MINE, &row, 1, &drawn, &kept, &err),
                     ERR_INVALID);
    assert_int_equal(err.reason, REASON_STORAGE_QUOTA);
    store_set_storage_limit(store, 0);
    assert_false(kept);
    assert_int_equal(store_file_delete(store, MINE, row.id, NULL), ERR_OK);
    file_row_clear(&row);
}

TEST(a_file_of_another_project_is_unknown)
{
    struct file_row row = made(7);
    struct file_row read;
    AUTO_FREE struct file_row *rows = NULL;
    struct page page = {.limit = 10};
    size_t count;
    bool more;
    struct err err;

    assert_int_equal(store_file_get(store, THEIRS, row.id, &read, &err), ERR_NOT_FOUND);
    assert_string_equal(err.place, "id");
    assert_int_equal(store_file_delete(store, THEIRS, row.id, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_file_list(store, THEIRS, NULL, &page, &rows, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, 0);
    assert_int_equal(store_file_delete(store, MINE, row.id, &err), ERR_OK);
    assert_int_equal(store_file_delete(store, MINE, row.id, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "No such File object: file-"));
    assert_state(row.blob_id, "0 0 0");
    file_row_clear(&row);
}

TEST(files_are_found_in_the_order_of_their_ids)
{
    struct file_row one = made(1);
    struct file_row two = made(2);
    const char *ids[] = {two.id, "file-none", one.id};
    struct file_row *rows;
    size_t count;

    assert_int_equal(store_files_named(store, MINE, ids, 3, &rows, &count, NULL), ERR_OK);
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].bytes, 2);
    assert_string_equal(rows[1].id, one.id);
    file_rows_free(rows, count);
    assert_int_equal(store_files_named(store, THEIRS, ids, 3, &rows, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    file_rows_free(rows, count);
    assert_int_equal(store_file_delete(store, MINE, one.id, NULL), ERR_OK);
    assert_int_equal(store_file_delete(store, MINE, two.id, NULL), ERR_OK);
    file_row_clear(&one);
    file_row_clear(&two);
}

TEST(a_project_has_no_more_bytes_than_it_may)
{
    struct file_row first = sample(60);
    struct file_row second = sample(41);
    struct err err;

    assert_int_equal(store_file_create(store, MINE, &no_key, 100, &first, NULL), ERR_OK);
    assert_int_equal(store_file_create(store, MINE, &no_key, 100, &second, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_STORAGE_QUOTA);
    assert_state(second.blob_id, "0 0 60");
    assert_int_equal(store_file_create(store, MINE, &no_key, 101, &second, NULL), ERR_OK);
    assert_state(second.blob_id, "1 1 101");
    assert_int_equal(store_file_delete(store, MINE, first.id, NULL), ERR_OK);
    assert_state(second.blob_id, "1 1 41");
    assert_int_equal(store_file_delete(store, MINE, second.id, NULL), ERR_OK);
    file_row_clear(&first);
    file_row_clear(&second);
}

TEST(a_request_that_is_repeated_under_its_key_makes_one_file)
{
    const struct idempotency key = {.key = "file-key", .hash = "one"};
    const struct idempotency reused = {.key = "file-key", .hash = "two"};
    struct file_row first = sample(7);
    struct file_row again = sample(7);
    struct file_row other = sample(8);
    AUTO_FREE char *id = mem_strdup(again.id);
    AUTO_FREE char *blob = mem_strdup(again.blob_id);

    assert_int_equal(store_file_create(store, MINE, &key, 0, &first, NULL), ERR_OK);
    assert_int_equal(store_file_create(store, MINE, &key, 0, &again, NULL), ERR_OK);
    assert_string_equal(again.id, first.id);
    assert_string_equal(again.blob_id, first.blob_id);
    assert_state(blob, "0 0 7");
    assert_int_equal(store_file_create(store, MINE, &reused, 0, &other, NULL), ERR_INVALID);
    assert_state(other.blob_id, "0 0 7");
    assert_int_equal(store_file_delete(store, MINE, first.id, NULL), ERR_OK);
    file_row_clear(&first);
    file_row_clear(&again);
    file_row_clear(&other);
}

TEST(an_expired_file_is_gone_at_once_and_its_blob_with_the_keeper)
{
    struct file_row row = sample(7);
    struct file_row later = sample(5);
    struct file_row read;
    size_t count;

    row.expires_at = clock_wall_us() - 1;
    later.expires_at = clock_wall_us() + 3600 * US_PER_SECOND;
    assert_int_equal(store_file_create(store, MINE, &no_key, 0, &row, NULL), ERR_OK);
    assert_int_equal(store_file_create(store, MINE, &no_key, 0, &later, NULL), ERR_OK);
    assert_int_equal(store_file_get(store, MINE, row.id, &read, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_file_delete(store, MINE, row.id, NULL), ERR_NOT_FOUND);
    assert_state(row.blob_id, "1 1 12");
    assert_int_equal(store_files_expire(store, 10, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_state(row.blob_id, "0 0 5");
    assert_int_equal(store_file_get(store, MINE, later.id, &read, NULL), ERR_OK);
    assert_int_equal(read.expires_at, later.expires_at);
    file_row_clear(&read);
    assert_int_equal(store_file_delete(store, MINE, later.id, NULL), ERR_OK);
    file_row_clear(&row);
    file_row_clear(&later);
}

TEST(a_blob_that_is_gone_makes_no_file)
{
    struct file_row row = sample(7);
    struct blob_row blob;

    assert_int_equal(store_blob_doom(store, MINE, row.blob_id, &blob, NULL), ERR_OK);
    assert_int_equal(store_file_create(store, MINE, &no_key, 0, &row, NULL), ERR_STORE);
    assert_state(row.blob_id, "0 -1 0");
    file_row_clear(&row);
}

static void assert_list(const char *purpose, const struct page *page, size_t expected,
                        bool expected_more, const char *first_id)
{
    struct file_row *rows;
    size_t count;
    bool more;

    assert_int_equal(store_file_list(store, MINE, purpose, page, &rows, &count, &more, NULL),
                     ERR_OK);
    assert_int_equal(count, expected);
    assert_int_equal(more, expected_more);
    if (count)
        assert_string_equal(rows[0].id, first_id);
    file_rows_free(rows, count);
}

TEST(lists_go_by_id_and_purpose_in_pages)
{
    struct file_row files[3];
    struct page page = {.limit = 2};
    struct file_row *rows = NULL;
    size_t count;
    bool more;

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        files[i] = sample(1);
        free(files[i].purpose);
        files[i].purpose = mem_strdup(i == 1 ? "vision" : "batch");
        assert_int_equal(store_file_create(store, MINE, &no_key, 0, &files[i], NULL), ERR_OK);
    }
    assert_list(NULL, &page, 2, true, files[2].id);
    assert_list("batch", &page, 2, false, files[2].id);
    assert_list("vision", &page, 1, false, files[1].id);
    assert_list("nonsense", &page, 0, false, NULL);
    memcpy(page.after, files[2].id, sizeof(page.after));
    assert_list(NULL, &page, 2, false, files[1].id);
    assert_list("batch", &page, 1, false, files[0].id);
    page.ascending = true;
    assert_list(NULL, &page, 0, false, NULL);
    memcpy(page.after, files[0].id, sizeof(page.after));
    assert_list(NULL, &page, 2, false, files[1].id);
    /* The place of one that is gone. */
    assert_int_equal(store_file_delete(store, MINE, files[0].id, NULL), ERR_OK);
    assert_list(NULL, &page, 2, false, files[1].id);
    snprintf(page.after, sizeof(page.after), "file-nothing");
    assert_int_equal(store_file_list(store, MINE, NULL, &page, &rows, &count, &more, NULL),
                     ERR_INVALID);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        assert_int_equal(store_file_delete(store, MINE, files[i].id, NULL),
                         i ? ERR_OK : ERR_NOT_FOUND);
        file_row_clear(&files[i]);
    }
}

#ifdef RUNNEL_FAULTS
TEST(a_statement_that_fails_leaves_nothing_half_made)
{
    static const char *const points[] = {"store_file_hold", "store_file_create",
                                         "store_file_count", "store.commit"};

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        struct file_row row = sample(7);

        fault_arm(points[i], 1);
        assert_int_not_equal(store_file_create(store, MINE, &no_key, 0, &row, NULL), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_state(row.blob_id, "0 0 0");
        file_row_clear(&row);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_as_it_was_made_and_holds_its_blob),
        cmocka_unit_test(the_text_of_a_file_is_kept_by_version_and_goes_with_it),
        cmocka_unit_test(the_pictures_of_a_file_are_held_and_counted_and_go_with_it),
        cmocka_unit_test(pictures_go_when_the_bytes_of_their_file_change),
        cmocka_unit_test(pictures_are_not_kept_beyond_the_limit_of_the_project),
        cmocka_unit_test(a_file_of_another_project_is_unknown),
        cmocka_unit_test(files_are_found_in_the_order_of_their_ids),
        cmocka_unit_test(a_project_has_no_more_bytes_than_it_may),
        cmocka_unit_test(a_request_that_is_repeated_under_its_key_makes_one_file),
        cmocka_unit_test(an_expired_file_is_gone_at_once_and_its_blob_with_the_keeper),
        cmocka_unit_test(a_blob_that_is_gone_makes_no_file),
        cmocka_unit_test(lists_go_by_id_and_purpose_in_pages),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_statement_that_fails_leaves_nothing_half_made),
#endif
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
