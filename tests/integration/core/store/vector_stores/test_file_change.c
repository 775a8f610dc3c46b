/*
 * Files that get other bytes: the blob, the bytes of the project and all vector stores change together or not at all.
 */

#include "core/store/tables/files/file_change.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/tables/files/blobs.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/vector_stores/vector_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_changes")
#define THEIRS TENANT_OF("proj_others")

/* A sample has 7 bytes. */
static struct file_row file_of(struct sample_id id)
{
    struct file_row row;

    assert_int_equal(store_file_get(store, MINE, id.text, &row, NULL), ERR_OK);
    return row;
}

static struct blob_row written(uint64_t bytes)
{
    struct blob_row blob = {.place = BLOB_DATABASE, .bytes = bytes};

    id_make(blob.id, "blob_");
    assert_int_equal(store_blob_begin(store, MINE, &blob, NULL), ERR_OK);
    assert_int_equal(store_blob_written(store, MINE, &blob, NULL), ERR_OK);
    return blob;
}

static int64_t holders(const char *blob_id)
{
    return pg_fixture_count("SELECT holders FROM blobs WHERE id = '%s'", blob_id);
}

static int64_t used(void)
{
    return pg_fixture_count("SELECT bytes FROM storage_use WHERE project_id = 'proj_changes'");
}

/* Of its documents, too: what counts for the limit. */
static uint64_t counted(void)
{
    return (uint64_t)pg_fixture_count("SELECT bytes + document_bytes FROM storage_use"
                                      " WHERE project_id = 'proj_changes'");
}

/* As it is now. */
static enum err_code change_to(struct sample_id id, uint64_t bytes, uint64_t limit,
                               struct err *err)
{
    struct file_row row = file_of(id);
    struct blob_row blob = written(bytes);
    enum err_code rc = store_file_replace(store, MINE, limit, &row, &blob, err);

    assert_int_equal(holders(blob.id), rc ? 0 : 1);
    assert_int_equal(holders(row.blob_id), rc ? 1 : 0);
    file_row_clear(&row);
    return rc;
}

static enum err_code change(struct sample_id id, uint64_t limit, struct err *err)
{
    return change_to(id, 40, limit, err);
}

TEST(a_file_gets_other_bytes_under_its_id)
{
    struct sample_id id = sample_file(MINE);
    int64_t before = used();
    struct file_row now;

    assert_int_equal(change(id, 0, NULL), ERR_OK);
    now = file_of(id);
    assert_int_equal(now.bytes, 40);
    assert_string_equal(now.filename, "手册.txt");
    assert_int_equal(used(), before + 33);
    file_row_clear(&now);
}

TEST(bytes_that_were_read_before_another_change_replace_nothing)
{
    struct sample_id id = sample_file(MINE);
    struct file_row seen = file_of(id);
    struct blob_row blob = written(9);
    struct err err;

    assert_int_equal(change(id, 0, NULL), ERR_OK);
    assert_int_equal(store_file_replace(store, MINE, 0, &seen, &blob, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "was changed meanwhile. Read it again."));
    assert_int_equal(holders(blob.id), 0);
    file_row_clear(&seen);
}

TEST(a_file_of_another_project_is_unknown)
{
    struct sample_id id = sample_file(MINE);
    struct file_row row = file_of(id);
    struct blob_row blob = written(9);
    struct err err;

    assert_int_equal(store_file_replace(store, THEIRS, 0, &row, &blob, &err), ERR_NOT_FOUND);
    assert_int_equal(holders(row.blob_id), 1);
    file_row_clear(&row);
}

TEST(a_project_has_no_more_bytes_than_it_may)
{
    struct sample_id id = sample_file(MINE), store_id = sample_store(MINE);
    uint64_t before;
    struct err err;

    attach(MINE, store_id, id);
    publish_all();
    before = counted();
    assert_int_equal(change(id, before + 32, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_STORAGE_QUOTA);
    assert_int_equal(counted(), before);
    assert_counters(store_id, "0 1 0 0 bytes 10");
    assert_int_equal(change(id, before + 33, NULL), ERR_OK);
    store_set_storage_limit(store, counted());
    assert_int_equal(change(id, 0, &err), ERR_INVALID);
    store_set_storage_limit(store, 0);
    assert_int_equal(err.reason, REASON_STORAGE_QUOTA);
}

TEST(a_project_with_too_many_bytes_may_have_fewer)
{
    struct sample_id id = sample_file(MINE);
    int64_t before = used();

    assert_int_equal(change(id, 0, NULL), ERR_OK);
    assert_int_equal(change_to(id, 9, 1, NULL), ERR_OK);
    assert_int_equal(change_to(id, 9, 1, NULL), ERR_OK); /* as many as before */
    assert_int_equal(used(), before + 2);
}

/* Which document is searched. */
static const char *searched(struct sample_id store_id)
{
    return pg_fixture_ask("SELECT coalesce(searched_id, '') FROM vector_store_files"
                          " WHERE vector_store_id = '%s'",
                          store_id.text);
}

TEST(stores_search_the_old_text_until_the_new_one_is_ready)
{
    struct sample_id id = sample_file(MINE), first = sample_store(MINE),
                     second = sample_store(MINE);
    AUTO_FREE char *old = NULL;

    attach(MINE, first, id);
    assert_int_equal(try_attach(MINE, second, id, 400, NULL), ERR_OK);
    publish_all();
    old = mem_strdup(searched(first));
    assert_int_equal(change(id, 0, NULL), ERR_OK);
    assert_counters(first, "1 0 0 0 bytes 0");
    assert_counters(second, "1 0 0 0 bytes 0");
    assert_string_equal(searched(first), old);
    assert_int_equal(publish_all(), 2);
    assert_counters(first, "0 1 0 0 bytes 10");
    assert_counters(second, "0 1 0 0 bytes 10");
    assert_string_not_equal(searched(first), old);
    assert_int_equal(pg_fixture_count("SELECT chunk_tokens FROM vector_store_files WHERE"
                                      " vector_store_id = '%s'",
                                      second.text),
                     400);
    assert_nothing_orphaned();
}

TEST(a_document_of_the_old_bytes_is_dropped_by_its_owner)
{
    struct sample_id id = sample_file(MINE), store_id = sample_store(MINE);
    struct document_work work, anew;

    attach(MINE, store_id, id);
    work = claimed();
    assert_int_equal(change(id, 0, NULL), ERR_OK);
    assert_int_equal(publish(&work, "old", NULL), ERR_CANCELLED);
    anew = claimed();
    assert_string_not_equal(anew.blob_id, work.blob_id);
    assert_int_equal(publish(&anew, "new", NULL), ERR_OK);
    assert_counters(store_id, "0 1 0 0 bytes 10");
    document_work_clear(&work);
    document_work_clear(&anew);
    assert_nothing_orphaned();
}

TEST(a_second_change_comes_before_the_first_is_searched)
{
    struct sample_id id = sample_file(MINE), store_id = sample_store(MINE);

    attach(MINE, store_id, id);
    publish_all();
    assert_int_equal(change(id, 0, NULL), ERR_OK);
    assert_int_equal(change(id, 0, NULL), ERR_OK);
    publish_all();
    assert_counters(store_id, "0 1 0 0 bytes 10");
    assert_nothing_orphaned();
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM documents WHERE file_id = '%s'", id.text), 1);
}

TEST(what_failed_is_tried_anew_and_what_was_cancelled_is_not)
{
    struct sample_id id = sample_file(MINE), failed = sample_store(MINE),
                     cancelled = sample_store(MINE);
    struct document_work work;

    attach(MINE, failed, id);
    work = claimed();
    assert_int_equal(store_document_fail(store, &work, "invalid_file", "x", NULL), ERR_OK);
    document_work_clear(&work);
    assert_int_equal(try_attach(MINE, cancelled, id, 400, NULL), ERR_OK);
    pg_fixture_ask("UPDATE vector_store_files SET status = 'cancelled' WHERE"
                   " vector_store_id = '%s'",
                   cancelled.text);
    pg_fixture_ask("UPDATE vector_stores SET in_progress = 0, cancelled = 1 WHERE id = '%s'",
                   cancelled.text);
    assert_int_equal(change(id, 0, NULL), ERR_OK);
    publish_all();
    assert_counters(failed, "0 1 0 0 bytes 10");
    assert_counters(cancelled, "0 0 0 1 bytes 0");
}

TEST(a_file_in_too_many_stores_is_not_changed)
{
    struct sample_id id = sample_file(MINE);
    struct err err;

    for (int i = 0; i <= FILE_CHANGE_STORES; i++)
        attach(MINE, sample_store(MINE), id);
    publish_all();
    assert_int_equal(change(id, 0, &err), ERR_LIMIT);
    assert_int_equal(publish_all(), 0);
}

TEST(a_file_is_made_in_its_store_or_not_at_all)
{
    struct sample_id store_id = sample_store(MINE);
    struct file_row row = {.filename = mem_strdup("a.md"),
                           .purpose = mem_strdup("assistants_output"),
                           .bytes = 12,
                           .created_at = clock_wall_us()};
    const struct store_file_new attached = {
        .file_id = row.id, .chunk_tokens = 800, .overlap_tokens = 400};
    struct blob_row blob = written(12);
    int64_t before = used();
    struct err err;

    id_make(row.id, "file-");
    memcpy(row.blob_id, blob.id, sizeof(blob.id));
    assert_int_equal(store_file_make(store, MINE, 0, &row, "vs_none", &attached, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(holders(blob.id), 0);
    assert_int_equal(store_file_make(store, MINE, 0, &row, store_id.text, &attached, NULL),
                     ERR_OK);
    assert_int_equal(holders(blob.id), 1);
    assert_int_equal(used(), before + 12);
    publish_all();
    assert_counters(store_id, "0 1 0 0 bytes 10");
    file_row_clear(&row);
}

/* ---- Two at once ---- */

struct race {
    struct sample_id id;
    const struct file_row *seen;
    pthread_barrier_t *barrier;
    enum err_code rc;
};

static void *change_once(void *arg)
{
    struct race *race = arg;
    struct blob_row blob = written(40);

    pthread_barrier_wait(race->barrier);
    race->rc = store_file_replace(store, MINE, 0, race->seen, &blob, NULL);
    store_thread_end(store);
    return NULL;
}

TEST(of_two_changes_at_once_one_is_made)
{
    struct sample_id id = sample_file(MINE), store_id = sample_store(MINE);
    struct file_row seen = file_of(id);
    pthread_barrier_t barrier;
    struct race races[2] = {{id, &seen, &barrier, ERR_OK}, {id, &seen, &barrier, ERR_OK}};
    pthread_t threads[2];

    attach(MINE, store_id, id);
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, change_once, &races[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(races[0].rc + races[1].rc, ERR_OK + ERR_CONFLICT);
    publish_all();
    assert_counters(store_id, "0 1 0 0 bytes 10");
    file_row_clear(&seen);
}

/* $1 of the statement is the store. */
static void hold(PGconn *holder, const char *statement, struct sample_id store_id)
{
    const char *const values[] = {store_id.text};
    PGresult *result = PQexecParams(holder, statement, 1, NULL, values, NULL, NULL, 0);

    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
}

/* The other session has the second store, and notes the document that the change leaves in the first. */
TEST(a_file_that_leaves_a_store_meanwhile_is_not_put_back)
{
    struct sample_id id = sample_file(MINE), kept = sample_store(MINE),
                     left = sample_store(MINE);
    struct file_row seen = file_of(id);
    PGconn *holder = PQconnectdb(pg_fixture_url());
    pthread_barrier_t barrier;
    struct race race = {id, &seen, &barrier, ERR_OK};
    pthread_t thread;

    attach(MINE, kept, id);
    attach(MINE, left, id);
    publish_all();
    pthread_barrier_init(&barrier, NULL, 1);
    PQclear(PQexec(holder, "BEGIN"));
    hold(holder, "UPDATE vector_stores SET completed = 0, usage_bytes = 0 WHERE id = $1", left);
    assert_int_equal(pthread_create(&thread, NULL, change_once, &race), 0);
    while (pg_fixture_count("SELECT count(*) FROM pg_locks WHERE NOT granted") < 1)
        continue;
    hold(holder,
         "INSERT INTO left_documents SELECT project_id, document_id, 1"
         " FROM vector_store_files WHERE vector_store_id = $1",
         left);
    hold(holder, "DELETE FROM vector_store_files WHERE vector_store_id = $1", left);
    PQclear(PQexec(holder, "COMMIT"));
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
    PQfinish(holder);
    assert_int_equal(race.rc, ERR_OK);
    publish_all();
    assert_counters(kept, "0 1 0 0 bytes 10");
    assert_counters(left, "0 0 0 0 bytes 0");
    file_row_clear(&seen);
}

#ifdef RUNNEL_FAULTS
TEST(a_statement_that_fails_changes_nothing)
{
    static const char *const points[] = {
        "store_file_change_lock",   "store_file_hold",
        "store_file_change",        "store_file_change_recipes",
        "store_file_change_places", "store_file_change_stores",
        "store_files_documents",    "store_files_put",
        "store_file_count",         "store.commit"};
    struct sample_id id = sample_file(MINE), store_id = sample_store(MINE);
    int64_t before = used();

    attach(MINE, store_id, id);
    publish_all();
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        struct file_row row = file_of(id);
        struct blob_row blob = written(40);

        fault_arm(points[i], 1);
        assert_int_not_equal(store_file_replace(store, MINE, 0, &row, &blob, NULL), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_int_equal(holders(row.blob_id), 1);
        assert_int_equal(holders(blob.id), 0);
        assert_int_equal(used(), before);
        assert_counters(store_id, "0 1 0 0 bytes 10");
        file_row_clear(&row);
    }
    assert_int_equal(publish_all(), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_gets_other_bytes_under_its_id),
        cmocka_unit_test(bytes_that_were_read_before_another_change_replace_nothing),
        cmocka_unit_test(a_file_of_another_project_is_unknown),
        cmocka_unit_test(a_project_has_no_more_bytes_than_it_may),
        cmocka_unit_test(a_project_with_too_many_bytes_may_have_fewer),
        cmocka_unit_test(stores_search_the_old_text_until_the_new_one_is_ready),
        cmocka_unit_test(a_document_of_the_old_bytes_is_dropped_by_its_owner),
        cmocka_unit_test(a_second_change_comes_before_the_first_is_searched),
        cmocka_unit_test(what_failed_is_tried_anew_and_what_was_cancelled_is_not),
        cmocka_unit_test(a_file_in_too_many_stores_is_not_changed),
        cmocka_unit_test(a_file_is_made_in_its_store_or_not_at_all),
        cmocka_unit_test(of_two_changes_at_once_one_is_made),
        cmocka_unit_test(a_file_that_leaves_a_store_meanwhile_is_not_put_back),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_statement_that_fails_changes_nothing),
#endif
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
