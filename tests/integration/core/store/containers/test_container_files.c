/*
 * The rows of files, made equal to what was seen.
 */

#include "core/store/tables/containers/container_files.h"

#include <stdio.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/store/tables/containers/containers.h"
#include "core/store/tables/files/blobs.h"
#include "tests/integration/core/store/containers/failing.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE TENANT_OF("proj_box_files")

static char box[ID_SIZE];

static void new_container(void)
{
    static const struct idempotency no_key = {.key = ""};
    CLEANUP(container_row_clear)
    struct container_row row = {.name = mem_strdup("files"),
                                .node_id = mem_strdup("node_a"),
                                .memory_gib = 1,
                                .idle_seconds = 1200};

    id_make(row.id, "cntr_");
    memcpy(box, row.id, sizeof(box));
    assert_int_equal(store_container_create(store, MINE, &no_key, 0, &row, NULL), ERR_OK);
}

/* What has changed, as "+a.csv ~b.csv -c.csv ". */
static const char *look_for(const char *call_id, const struct seen_file *seen, size_t count,
                            enum seen_extent extent)
{
    static char text[200];
    struct changed_file *changed;
    size_t changes;

    assert_int_equal(store_container_files_seen(store, MINE, box, 1, seen, count, extent,
                                                CONTAINER_FILE_ASSISTANT, call_id, &changed,
                                                &changes, NULL),
                     ERR_OK);
    *text = '\0';
    for (size_t i = 0; i < changes; i++) {
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%c%s ",
                       "+~-"[changed[i].change], changed[i].path);
        assert_true(id_has_prefix(changed[i].id, "cfile_"));
    }
    changed_files_free(changed, changes);
    return text;
}

static const char *look(const struct seen_file *seen, size_t count, enum seen_extent extent)
{
    return look_for("call_1", seen, count, extent);
}

static struct container_file_row at(const char *path)
{
    struct container_file_row row;

    assert_int_equal(store_container_file_at(store, MINE, box, path, &row, NULL), ERR_OK);
    return row;
}

TEST(rows_follow_what_was_seen)
{
    struct seen_file seen[] = {{"b.csv", 2, 20, 2}, {"a.csv", 1, 10, 1}, {"ä/c", 3, 30, 3}};
    CLEANUP(container_file_row_clear) struct container_file_row before = {0};
    CLEANUP(container_file_row_clear) struct container_file_row after = {0};

    new_container();
    assert_string_equal(look(seen, 3, SEEN_ALL), "+a.csv +b.csv +ä/c ");
    assert_string_equal(look(seen, 3, SEEN_ALL), "");
    before = at("b.csv");
    assert_int_equal(before.source, CONTAINER_FILE_ASSISTANT);
    assert_string_equal(before.call_id, "call_1");
    seen[0].modified_ns++;
    assert_string_equal(look(seen, 2, SEEN_ALL), "~b.csv -ä/c ");
    after = at("b.csv");
    assert_string_equal(after.id, before.id);
    assert_int_equal(after.modified_ns, 21);
}

TEST(what_a_part_does_not_have_stays)
{
    struct seen_file seen[] = {{"a", 1, 10, 1}, {"b", 2, 20, 2}};

    new_container();
    assert_string_equal(look(seen, 2, SEEN_ALL), "+a +b ");
    assert_string_equal(look(seen, 1, SEEN_PART), "");
    assert_string_equal(look(seen, 1, SEEN_ALL), "-b ");
}

TEST(what_a_scan_between_has_found_belongs_to_the_call_that_ends_next)
{
    struct seen_file seen = {"a", 1, 10, 1};
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};

    new_container();
    assert_string_equal(look_for("", &seen, 1, SEEN_ALL), "+a ");
    assert_string_equal(look(&seen, 1, SEEN_ALL), "+a ");
    row = at("a");
    assert_string_equal(row.call_id, "call_1");
    assert_string_equal(look_for("call_2", &seen, 1, SEEN_ALL), "");
}

static struct blob_row new_blob(void)
{
    struct blob_row blob = {.place = BLOB_DATABASE, .bytes = 1};

    id_make(blob.id, "blob_");
    assert_int_equal(store_blob_begin(store, MINE, &blob, NULL), ERR_OK);
    assert_int_equal(store_blob_written(store, MINE, &blob, NULL), ERR_OK);
    return blob;
}

static const char *holders(const char *blob_id)
{
    return pg_fixture_ask("SELECT holders FROM blobs WHERE id = '%s'", blob_id);
}

/* The only file, with a copy. */
static struct blob_row copied(struct seen_file *seen)
{
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};
    struct blob_row blob = new_blob();

    new_container();
    assert_string_equal(look(seen, 1, SEEN_ALL), "+a ");
    row = at("a");
    memcpy(row.blob_id, blob.id, sizeof(blob.id));
    assert_int_equal(store_container_file_copied(store, MINE, &row, NULL), ERR_OK);
    assert_int_equal(store_container_file_copied(store, MINE, &row, NULL), ERR_CONFLICT);
    assert_string_equal(holders(blob.id), "1");
    return blob;
}

TEST(a_changed_file_lets_go_of_its_copy)
{
    struct seen_file seen = {"a", 1, 10, 1};
    struct blob_row blob = copied(&seen);
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};

    seen.bytes++;
    assert_string_equal(look(&seen, 1, SEEN_ALL), "~a ");
    row = at("a");
    assert_string_equal(row.blob_id, "");
    assert_string_equal(holders(blob.id), "0");
}

TEST(files_let_go_of_their_copies_with_their_container)
{
    struct seen_file seen = {"a", 1, 10, 1};
    struct blob_row deleted = copied(&seen);
    struct blob_row expired;
    size_t count;

    assert_int_equal(store_container_delete(store, MINE, box, NULL), ERR_OK);
    assert_string_equal(holders(deleted.id), "0");
    expired = copied(&seen);
    (void)pg_fixture_ask("UPDATE containers SET expires_at = 1 WHERE id = '%s' RETURNING 1",
                         box);
    assert_int_equal(store_containers_expire(store, 10, &count, NULL), ERR_OK);
    assert_string_equal(holders(expired.id), "0");
    assert_string_equal(
        pg_fixture_ask("SELECT count(*) FROM container_files WHERE container_id = '%s'", box),
        "0");
}

TEST(a_file_that_a_request_puts_there_keeps_its_origin_until_it_changes)
{
    struct seen_file seen = {"in.csv", 1, 10, 1};
    CLEANUP(container_file_row_clear)
    struct container_file_row row = {
        .path = mem_strdup("in.csv"), .bytes = 1, .modified_ns = 10, .inode = 1};
    CLEANUP(container_file_row_clear) struct container_file_row found = {0};
    struct container_file_row *top;
    size_t count;

    new_container();
    id_make(row.id, "cfile_");
    memcpy(row.container_id, box, sizeof(box));
    memcpy(row.origin_id, "file-1", sizeof("file-1"));
    assert_int_equal(store_container_file_put(store, MINE, &row, 1, NULL), ERR_OK);
    assert_string_equal(look(&seen, 1, SEEN_ALL), "");
    assert_int_equal(store_container_file_from(store, MINE, box, "file-1", &found, NULL),
                     ERR_OK);
    assert_string_equal(found.id, row.id);
    assert_int_equal(found.source, CONTAINER_FILE_USER);
    assert_int_equal(store_container_files_top(store, MINE, box, "", &top, &count, NULL),
                     ERR_OK);
    assert_int_equal(count, 1);
    assert_string_equal(top[0].origin_id, "file-1");
    container_file_rows_free(top, count);
    assert_int_equal(
        store_container_files_top(store, MINE, "", "thread_none", &top, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    container_file_rows_free(top, count);
    seen.bytes++;
    assert_string_equal(look(&seen, 1, SEEN_ALL), "~in.csv ");
    assert_int_equal(store_container_file_from(store, MINE, box, "file-1", &found, NULL),
                     ERR_NOT_FOUND);
}

TEST(a_deleted_file_is_not_found_afterwards)
{
    struct seen_file seen = {"a", 1, 10, 1};
    struct blob_row blob = copied(&seen);
    CLEANUP(container_file_row_clear) struct container_file_row row = at("a");
    struct err err;

    assert_int_equal(store_container_file_delete(store, MINE, box, row.id, NULL), ERR_OK);
    assert_int_equal(store_container_file_delete(store, MINE, box, row.id, &err),
                     ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "Container file with id 'cfile_"));
    assert_string_equal(holders(blob.id), "0");
}

TEST(an_ended_container_takes_no_files)
{
    struct seen_file seen = {"a", 1, 10, 1};
    struct changed_file *changed;
    size_t count;

    new_container();
    assert_int_equal(store_container_delete(store, MINE, box, NULL), ERR_OK);
    assert_int_equal(store_container_files_seen(store, MINE, box, 1, &seen, 1, SEEN_ALL,
                                                CONTAINER_FILE_USER, "", &changed, &count,
                                                NULL),
                     ERR_NOT_FOUND);
}

#ifdef RUNNEL_FAULTS
/* The rows and who holds their copies, in one text. */
static char *all_rows(void)
{
    return mem_strdup(pg_fixture_ask(
        "SELECT coalesce(string_agg(f.path || f.bytes || coalesce(f.blob_id, '') ||"
        " coalesce(b.holders, 0), ',' ORDER BY f.path), '') FROM container_files f"
        " LEFT JOIN blobs b ON b.id = f.blob_id WHERE f.container_id = '%s'",
        box));
}

static enum err_code see_changes(void)
{
    static const struct seen_file seen[] = {{"a", 9, 9, 9}, {"new", 1, 1, 1}};
    struct changed_file *changed;
    size_t count;

    return store_container_files_seen(store, MINE, box, 1, seen, 2, SEEN_ALL,
                                      CONTAINER_FILE_ASSISTANT, "", &changed, &count, NULL);
}

static enum err_code put_one(void)
{
    CLEANUP(container_file_row_clear) struct container_file_row row = {.path = mem_strdup("a")};

    id_make(row.id, "cfile_");
    memcpy(row.container_id, box, sizeof(box));
    return store_container_file_put(store, MINE, &row, 1, NULL);
}

static enum err_code copy_one(void)
{
    CLEANUP(container_file_row_clear) struct container_file_row row = at("gone");
    struct blob_row blob = new_blob();

    memcpy(row.blob_id, blob.id, sizeof(blob.id));
    return store_container_file_copied(store, MINE, &row, NULL);
}

TEST(a_statement_that_fails_leaves_nothing_half_done)
{
    static const struct failing cases[] = {
        {"store_container_lock", see_changes},
        {"store_container_files", see_changes},
        {"store_container_files_release", see_changes},
        {"store_container_files_delete", see_changes},
        {"store_container_files_update", see_changes},
        {"store_container_files_insert", see_changes},
        {"store_container_lock", put_one},
        {"store_container_file_replace", put_one},
        {"store_container_file_put", put_one},
        {"store_container_file_copied", copy_one},
    };
    struct seen_file seen[] = {{"a", 1, 10, 1}, {"gone", 1, 10, 2}};

    (void)copied(seen);
    assert_string_equal(look(seen, 2, SEEN_ALL), "+gone ");
    assert_undone(cases, COUNT_OF(cases), all_rows);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_what_was_seen),
        cmocka_unit_test(what_a_part_does_not_have_stays),
        cmocka_unit_test(what_a_scan_between_has_found_belongs_to_the_call_that_ends_next),
        cmocka_unit_test(a_changed_file_lets_go_of_its_copy),
        cmocka_unit_test(files_let_go_of_their_copies_with_their_container),
        cmocka_unit_test(a_file_that_a_request_puts_there_keeps_its_origin_until_it_changes),
        cmocka_unit_test(a_deleted_file_is_not_found_afterwards),
        cmocka_unit_test(an_ended_container_takes_no_files),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_statement_that_fails_leaves_nothing_half_done),
#endif
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
