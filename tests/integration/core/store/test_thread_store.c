/*
 * The vector store of a thread: made with the first files that a message or a run brings, and only then.
 */

#include "core/store/tables/threads/thread_store.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/search_resources.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/thread_copies.h"
#include "core/store/tables/threads/threads.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/integration/core/store/vector_stores/vector_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* What a request brings: a file, and a store in case that the thread has none. */
struct brought {
    struct vector_store_row row;
    struct store_file_new file;
    struct store_filling filling;
};

static void bring(struct brought *brought, struct sample_id *file)
{
    *brought = (struct brought){
        .row = {.name = mem_strdup(""),
                .metadata = mem_strdup("{}"),
                .expires_days = 7,
                .created_at = clock_wall_us()},
        .file = {.file_id = file->text, .chunk_tokens = 800, .overlap_tokens = 400}};
    id_make(brought->row.id, "vs_");
    brought->filling =
        (struct store_filling){.store = &brought->row, .files = &brought->file, .count = 1};
}

static enum err_code say(const char *thread, struct sample_id file, struct err *err)
{
    struct brought brought;
    struct item_row row = {.input = true,
                           .turn = -1,
                           .status = ITEM_COMPLETED,
                           .type = ITEM_MESSAGE,
                           .role = "user",
                           .body = mem_strdup("{\"role\":\"user\",\"content\":[]}"),
                           .metadata = mem_strdup("{}"),
                           .created_at = clock_wall_us()};
    enum err_code rc;

    bring(&brought, &file);
    id_make(row.id, "msg_");
    (void)snprintf(row.thread_id, sizeof(row.thread_id), "%s", thread);
    rc = store_message_create_once(store, TENANT, NULL, &brought.filling, &row, err);
    item_row_clear(&row);
    vector_store_row_clear(&brought.row);
    return rc;
}

/* A run that was made to search `expected`; NULL: the store that it brings. */
static enum err_code run_with(const char *thread, struct sample_id file, const char *expected,
                              struct err *err)
{
    struct brought brought;
    struct run_load load = {0};
    struct run_row run = sample_run(thread, RUN_QUEUED);
    struct run_creation creation = {.tenant = TENANT, .run = &run, .context_limit = CONTEXT};
    enum err_code rc;

    bring(&brought, &file);
    creation.filling = &brought.filling;
    creation.filled_id = expected ? expected : brought.row.id;
    rc = store_run_create(store, &creation, &load, err);
    run_row_clear(&run);
    run_load_clear(&load);
    vector_store_row_clear(&brought.row);
    return rc;
}

/* The store that the thread names; "" if it names none. */
static struct sample_id named(const char *thread)
{
    struct sample_id id = {""};
    struct thread_row row;
    json_auto_t *resources = NULL;
    const char *found;

    assert_int_equal(store_thread_get(store, TENANT, thread, &row, NULL), ERR_OK);
    resources = json_parse_own(row.tool_resources);
    found = search_resources_store(resources);
    (void)snprintf(id.text, sizeof(id.text), "%s", found ? found : "");
    thread_row_clear(&row);
    return id;
}

static long count(const char *table)
{
    return (long)pg_fixture_count("SELECT count(*) FROM %s WHERE project_id = '%s'", table,
                                  PROJECT);
}

TEST(the_first_files_make_the_store_and_others_join_them)
{
    char thread[ID_SIZE];
    struct sample_id made;

    sample_thread(thread);
    assert_string_equal(named(thread).text, "");
    assert_int_equal(say(thread, sample_file(TENANT), NULL), ERR_OK);
    made = named(thread);
    assert_counters(made, "1 0 0 0 bytes 0");
    assert_int_equal(say(thread, sample_file(TENANT), NULL), ERR_OK);
    assert_string_equal(named(thread).text, made.text);
    assert_counters(made, "2 0 0 0 bytes 0");
    assert_int_equal(run_with(thread, sample_file(TENANT), made.text, NULL), ERR_OK);
    assert_counters(made, "3 0 0 0 bytes 0");
}

TEST(a_store_that_expired_or_was_deleted_is_replaced)
{
    char thread[ID_SIZE];
    struct sample_id first, second;

    sample_thread(thread);
    assert_int_equal(say(thread, sample_file(TENANT), NULL), ERR_OK);
    first = named(thread);
    pg_fixture_ask("UPDATE vector_stores SET expires_at = 1 WHERE id = '%s'", first.text);
    assert_int_equal(say(thread, sample_file(TENANT), NULL), ERR_OK);
    second = named(thread);
    assert_string_not_equal(second.text, first.text);
    assert_counters(second, "1 0 0 0 bytes 0");
    assert_int_equal(store_vector_store_delete(store, TENANT, second.text, NULL), ERR_OK);
    assert_int_equal(run_with(thread, sample_file(TENANT), NULL, NULL), ERR_OK);
    assert_string_not_equal(named(thread).text, second.text);
}

/* ---- Forks ---- */

static struct sample_id forked(const char *thread)
{
    struct sample_id fork;
    struct thread_row row;

    assert_int_equal(store_thread_fork(store, TENANT, thread, &row, NULL), ERR_OK);
    memcpy(fork.text, row.id, sizeof(row.id));
    thread_row_clear(&row);
    return fork;
}

TEST(a_fork_has_a_store_of_its_own_with_the_same_files)
{
    char thread[ID_SIZE];
    struct sample_id fork, original, own, failed = sample_file(TENANT);
    struct document_work work;
    long documents;

    sample_thread(thread);
    publish_all();
    assert_int_equal(say(thread, sample_file(TENANT), NULL), ERR_OK);
    publish_all();
    assert_int_equal(say(thread, failed, NULL), ERR_OK);
    work = claimed();
    assert_int_equal(store_document_fail(store, &work, "server_error", "It failed.", NULL),
                     ERR_OK);
    document_work_clear(&work);
    assert_int_equal(say(thread, sample_file(TENANT), NULL), ERR_OK);
    original = named(thread);
    assert_counters(original, "1 1 1 0 bytes 10");
    documents = count("documents");
    fork = forked(thread);
    own = named(fork.text);
    assert_string_not_equal(own.text, original.text);
    assert_counters(own, "1 1 0 0 bytes 10");
    publish_all(); /* for both */
    assert_counters(own, "0 2 0 0 bytes 20");
    assert_counters(original, "0 2 1 0 bytes 20");
    assert_int_equal(count("documents"), documents);
    /* What one attaches is not the other's, and a fork of the fork is alike. */
    assert_int_equal(say(fork.text, sample_file(TENANT), NULL), ERR_OK);
    assert_string_equal(named(fork.text).text, own.text);
    assert_counters(own, "1 2 0 0 bytes 20");
    assert_counters(original, "0 2 1 0 bytes 20");
    assert_string_not_equal(named(forked(fork.text).text).text, own.text);
    publish_all();
}

TEST(the_end_of_one_thread_and_its_store_leaves_the_store_of_its_fork)
{
    char thread[ID_SIZE];
    struct sample_id fork, original, file = sample_file(TENANT);

    sample_thread(thread);
    assert_int_equal(say(thread, file, NULL), ERR_OK);
    publish_all();
    original = named(thread);
    fork = forked(thread);
    assert_int_equal(store_thread_delete(store, TENANT, thread, NULL), ERR_OK);
    assert_int_equal(store_vector_store_delete(store, TENANT, original.text, NULL), ERR_OK);
    assert_nothing_orphaned(); /* the document is the fork's now */
    assert_counters(named(fork.text), "0 1 0 0 bytes 10");
    assert_int_equal(store_file_delete(store, TENANT, file.text, NULL), ERR_OK);
    assert_counters(named(fork.text), "0 0 0 0 bytes 0");
    assert_nothing_orphaned();
}

TEST(a_store_that_was_made_for_no_thread_or_has_expired_is_shared)
{
    char thread[ID_SIZE];
    struct sample_id made = sample_store(TENANT), old;

    sample_thread(thread);
    pg_fixture_ask("UPDATE threads SET tool_resources = '{\"file_search\":"
                   " {\"vector_store_ids\": [\"%s\"]}}' WHERE id = '%s'",
                   made.text, thread);
    assert_int_equal(say(thread, sample_file(TENANT), NULL), ERR_OK);
    assert_string_equal(named(forked(thread).text).text, made.text);
    sample_thread(thread);
    assert_string_equal(named(forked(thread).text).text, "");
    assert_int_equal(say(thread, sample_file(TENANT), NULL), ERR_OK);
    old = named(thread);
    pg_fixture_ask("UPDATE vector_stores SET expires_at = 1 WHERE id = '%s'", old.text);
    assert_string_equal(named(forked(thread).text).text, old.text);
}

struct speaker {
    const char *thread;
    struct sample_id file;
    pthread_t id;
    enum err_code rc;
};

static void *speak(void *arg)
{
    struct speaker *speaker = arg;

    speaker->rc = say(speaker->thread, speaker->file, NULL);
    store_thread_end(store);
    return NULL;
}

static void hold(PGconn *holder, const char *statement)
{
    PQclear(PQexec(holder, statement));
}

/* The file is locked behind the look at the store, so the lock of another session stops the message there. */
TEST(a_store_that_ends_while_a_message_takes_its_files_is_replaced)
{
    PGconn *holder = PQconnectdb(pg_fixture_url());
    struct speaker speaker = {.file = sample_file(TENANT)};
    struct sample_id first, second;
    char thread[ID_SIZE];

    sample_thread(thread);
    assert_int_equal(say(thread, sample_file(TENANT), NULL), ERR_OK);
    first = named(thread);
    hold(holder, "BEGIN");
    hold(holder, "SELECT FROM files FOR UPDATE");
    speaker.thread = thread;
    assert_int_equal(pthread_create(&speaker.id, NULL, speak, &speaker), 0);
    while (pg_fixture_count("SELECT count(*) FROM pg_locks WHERE NOT granted") < 1)
        continue;
    pg_fixture_ask("UPDATE vector_stores SET expires_at = 1 WHERE id = '%s'", first.text);
    hold(holder, "COMMIT");
    pthread_join(speaker.id, NULL);
    PQfinish(holder);
    assert_int_equal(speaker.rc, ERR_OK);
    second = named(thread);
    assert_string_not_equal(second.text, first.text);
    assert_counters(second, "1 0 0 0 bytes 0");
    assert_counters(first, "1 0 0 0 bytes 0");
}

TEST(a_run_is_not_made_for_another_store_than_the_threads)
{
    char thread[ID_SIZE];
    struct sample_id made;
    struct err err;
    long runs;

    sample_thread(thread);
    assert_int_equal(say(thread, sample_file(TENANT), NULL), ERR_OK);
    made = named(thread);
    runs = count("runs");
    assert_int_equal(run_with(thread, sample_file(TENANT), NULL, &err), ERR_CONFLICT);
    assert_string_equal(err.place, THREAD_STORE_PLACE);
    assert_int_equal(count("runs"), runs);
    assert_counters(made, "1 0 0 0 bytes 0");
}

#ifdef RUNNEL_FAULTS
TEST(a_statement_that_fails_leaves_the_thread_as_it_was)
{
    static const char *const points[] = {"thread_store_resources",    "thread_store_name",
                                         "store_vector_store_create", "store_files_put",
                                         "store_message_create",      "store.commit"};
    static const char *const forking[] = {
        "vector_store_copy_lock", "vector_store_copy", "vector_store_copy_files",
        "thread_store_name",      "copy_target",       "store.commit"};
    struct sample_id file = sample_file(TENANT);
    long stores = count("vector_stores"), items = count("items");
    char thread[ID_SIZE];

    sample_thread(thread);
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        fault_arm(points[i], 1);
        assert_int_not_equal(say(thread, file, NULL), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_string_equal(named(thread).text, "");
        assert_int_equal(count("vector_stores"), stores);
        assert_int_equal(count("items"), items);
    }
    assert_int_equal(say(thread, file, NULL), ERR_OK);
    stores++;
    for (size_t i = 0; i < COUNT_OF(forking); i++) {
        struct thread_row row;
        long threads = count("threads");

        fault_arm(forking[i], 1);
        assert_int_not_equal(store_thread_fork(store, TENANT, thread, &row, NULL), ERR_OK);
        assert_true(fault_fired());
        fault_disarm();
        assert_int_equal(count("threads"), threads);
        assert_int_equal(count("vector_stores"), stores);
    }
    fault_arm("thread_store_lives", 1);
    assert_int_not_equal(say(thread, file, NULL), ERR_OK);
    assert_true(fault_fired());
    fault_disarm();
    assert_int_equal(count("items"), items + 1);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_files_make_the_store_and_others_join_them),
        cmocka_unit_test(a_store_that_expired_or_was_deleted_is_replaced),
        cmocka_unit_test(a_fork_has_a_store_of_its_own_with_the_same_files),
        cmocka_unit_test(the_end_of_one_thread_and_its_store_leaves_the_store_of_its_fork),
        cmocka_unit_test(a_store_that_was_made_for_no_thread_or_has_expired_is_shared),
        cmocka_unit_test(a_store_that_ends_while_a_message_takes_its_files_is_replaced),
        cmocka_unit_test(a_run_is_not_made_for_another_store_than_the_threads),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_statement_that_fails_leaves_the_thread_as_it_was),
#endif
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
