/*
 * Variables that many threads change at once, also while their scope is deleted.
 *
 * Several threads put and remove the same names in opposite orders, in two scopes, while a run
 * writes its results there. A deadlock or a limit that is exceeded fails the test. Deletions
 * race with threads that put until the scope is gone: no row may remain behind them.
 */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/threads/deleted.h"
#include "core/store/tables/threads/threads.h"
#include "core/store/tables/threads/variables.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/integration/core/store/variable_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

#define CROWD  4
#define ROUNDS 40

struct crowd {
    const char *scopes[2];
    int number;
    enum err_code rc; /* the first error */
};

/* Odd threads also remove, in the opposite order of the one before: without the lock of the
 * scope two of them would lock rows crosswise. */
static enum err_code change_some(const struct crowd *crowd, int round)
{
    static const char *const up[] = {"v1", "v2", "v3", "v4", "v5", "v6"};
    static const char *const down[] = {"v6", "v5", "v4", "v3", "v2", "v1"};
    const char *scope = crowd->scopes[(round + crowd->number) % 2];
    json_auto_t *removed = NULL;
    AUTO_FREE char *name = mem_printf("v%d", 1 + (round * 7 + crowd->number) % 9);
    enum err_code rc =
        put_change(scope,
                   &(struct variable_change){
                       .name = name, .type = VARIABLE_USER_ADD, .value = "from the crowd"},
                   VARIABLE_PUT, NULL);

    if (!rc && crowd->number % 2)
        rc = store_variables_remove(store, TENANT, scope, round % 2 ? up : down, 6, NULL,
                                    &removed, NULL);
    return rc;
}

static void *be_in_the_crowd(void *arg)
{
    struct crowd *crowd = arg;

    for (int round = 0; round < ROUNDS && !crowd->rc; round++)
        crowd->rc = change_some(crowd, round);
    return NULL;
}

/* Results of a run, in an order of their own, for a scope that is full. */
static void put_results(const struct run_load *load, const char *scope, int round)
{
    struct run_write *write = sample_write(&load->run, load->fence);

    for (int i = 0; i < 9; i++) {
        AUTO_FREE char *name = mem_printf("v%d", round % 2 ? 9 - i : 1 + i);

        add_result(write, scope, name, "from a run");
    }
    assert_int_equal(sample_put(store, write), ERR_OK);
}

/* F31. */
TEST(many_threads_change_a_scope_at_once)
{
    char threads[2][ID_SIZE];
    struct crowd crowd[CROWD];
    pthread_t ids[CROWD];
    struct run_load loads[2];

    for (int i = 0; i < 2; i++) {
        sample_thread(threads[i]);
        fill(threads[i], VARIABLE_COUNT_LIMIT);
        loads[i] = sample_created(store, threads[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (struct crowd){.scopes = {threads[0], threads[1]}, .number = i};
        assert_int_equal(pthread_create(&ids[i], NULL, be_in_the_crowd, &crowd[i]), 0);
    }
    for (int round = 0; round < ROUNDS; round++)
        put_results(&loads[round % 2], threads[round % 2], round);
    for (int i = 0; i < CROWD; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(crowd[i].rc, ERR_OK);
    for (int i = 0; i < 2; i++) {
        assert_true(pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s'",
                                     threads[i]) <= VARIABLE_COUNT_LIMIT);
        run_load_clear(&loads[i]);
    }
}

static void *keep_one(void *arg)
{
    struct crowd *crowd = arg;
    const bool keep = true;
    AUTO_FREE char *name = mem_printf("v%d", VARIABLE_KEEP_LIMIT + crowd->number);

    crowd->rc = put_change(
        crowd->scopes[0],
        &(struct variable_change){.name = name, .type = VARIABLE_USER_ADD, .keep = &keep},
        VARIABLE_PUT, NULL);
    return NULL;
}

/* F31: one place is left. */
TEST(two_threads_together_keep_no_more_than_the_limit)
{
    char thread[ID_SIZE];
    struct crowd crowd[CROWD];
    pthread_t ids[CROWD];
    int kept = 0;

    sample_thread(thread);
    fill(thread, VARIABLE_KEEP_LIMIT + CROWD);
    pg_fixture_ask("UPDATE variables SET keep = true WHERE scope_id = '%s' AND updated_at < %d",
                   thread, VARIABLE_KEEP_LIMIT);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (struct crowd){.scopes = {thread}, .number = i};
        assert_int_equal(pthread_create(&ids[i], NULL, keep_one, &crowd[i]), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        pthread_join(ids[i], NULL);
        assert_true(crowd[i].rc == ERR_OK || crowd[i].rc == ERR_INVALID);
        kept += crowd[i].rc == ERR_OK;
    }
    assert_int_equal(kept, 1);
}

/* ---- Against deletion ---- */

static int64_t rows_of(const char *scope)
{
    return pg_fixture_count("SELECT count(*) FROM variables WHERE scope_id = '%s'", scope);
}

static void expect_refused(const char *scope, const char *text)
{
    static const char *const names[] = {"a"};
    const struct variable_change change = {
        .name = "a", .type = VARIABLE_USER_ADD, .value = "1"};
    json_auto_t *removed = NULL;
    struct err err;

    assert_int_equal(put_change(scope, &change, VARIABLE_PUT, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, text);
    assert_int_equal(
        store_variables_remove(store, TENANT, scope, names, 1, NULL, &removed, &err),
        ERR_NOT_FOUND);
    assert_string_equal(err.text, text);
}

/* F33. */
TEST(no_variable_is_put_into_a_deleted_scope)
{
    AUTO_FREE char *no_thread = NULL, *no_response = NULL;
    char thread[ID_SIZE], root[ID_SIZE], child[ID_SIZE];

    sample_thread(thread);
    put(thread, "a", "1");
    assert_int_equal(store_thread_delete(store, TENANT, thread, NULL), ERR_OK);
    no_thread = mem_printf("No thread found with id '%s'.", thread);
    expect_refused(thread, no_thread);
    assert_int_equal(rows_of(thread), 0);

    respond("", "", root);
    put(root, "a", "1");
    respond(root, "", child);
    assert_int_equal(store_response_delete(store, TENANT, root, 0, NULL), ERR_OK);
    no_response = mem_printf("Response with id '%s' not found.", root);
    expect_refused(root, no_response);
    expect_is(child, "a", "1"); /* its variables remain for the response that continues it */
    put(child, "a", "2");
}

/* A response that has not ended is deleted as a whole, at any time. */
static void begin_response(char ret_id[ID_SIZE])
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    memcpy(ret_id, run.id, ID_SIZE);
    run_row_clear(&run);
}

#define PUTS_LIMIT 5000

/* Puts until there is nothing left to put to. */
static void *put_until_gone(void *arg)
{
    const char *scope = arg;
    const struct variable_change change = {
        .name = "a", .type = VARIABLE_USER_ADD, .value = "1"};
    enum err_code rc = ERR_OK;

    for (int i = 0; i < PUTS_LIMIT && !rc; i++)
        rc = put_change(scope, &change, VARIABLE_PUT, NULL);
    return (void *)(uintptr_t)(rc == ERR_NOT_FOUND);
}

#define DELETIONS 12

/* F33. */
TEST(a_deletion_leaves_no_variable_behind)
{
    for (int round = 0; round < DELETIONS; round++) {
        char scope[ID_SIZE];
        pthread_t putters[2];
        void *fine;

        if (round % 2)
            sample_thread(scope);
        else
            begin_response(scope);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&putters[i], NULL, put_until_gone, scope), 0);
        put(scope, "b", "1"); /* meanwhile the other threads have begun, or will */
        if (round % 2)
            assert_int_equal(store_thread_delete(store, TENANT, scope, NULL), ERR_OK);
        else
            assert_int_equal(store_response_delete(store, TENANT, scope, 0, NULL), ERR_OK);
        for (int i = 0; i < 2; i++) {
            pthread_join(putters[i], &fine);
            assert_non_null(fine);
        }
        assert_int_equal(rows_of(scope), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_change_a_scope_at_once),
        cmocka_unit_test(two_threads_together_keep_no_more_than_the_limit),
        cmocka_unit_test(no_variable_is_put_into_a_deleted_scope),
        cmocka_unit_test(a_deletion_leaves_no_variable_behind),
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
