/*
 * A database that hangs, breaks, or is gone.
 *
 * Hanging is SIGSTOP to the server processes of the store's connections: the kernel goes on to
 * acknowledge packets, as with a frozen machine, so nothing but a deadline of the store's own
 * ends the call. Gone is a stopped cluster. The tests measure time only against the deadline,
 * which is short here, and with much room above it.
 *
 * What must hold: an outage costs one thread one deadline, all other calls fail at once, and
 * everything works again after the probe, without a restart. Writers keep what they were handed
 * until then.
 */

#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/cluster/leases.h"
#include "core/store/tables/keys.h"
#include "core/store/writer/writer.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

#define DEADLINE 0.4

static struct store *store;

static double seconds_since(uint64_t start)
{
    return (double)(clock_mono_ns() - start) / (double)NS_PER_SECOND;
}

static enum err_code call(struct err *err)
{
    struct key_row *rows = NULL;
    size_t count;
    enum err_code rc = store_key_list(store, &rows, &count, err);

    free(rows);
    return rc;
}

/* Signals the processes that serve the store's connections: with SIGCONT those that SIGSTOP found. */
static size_t signal_backends(int signal)
{
    static pid_t pids[32];
    static size_t count;
    PGconn *connection;
    PGresult *result;

    if (signal == SIGSTOP) {
        connection = PQconnectdb(pg_fixture_url());
        result = PQexec(connection, "SELECT pid FROM pg_stat_activity"
                                    " WHERE application_name = 'runnel'");
        count = (size_t)PQntuples(result);
        assert_true(count <= COUNT_OF(pids));
        for (size_t i = 0; i < count; i++)
            pids[i] = (pid_t)strtol(PQgetvalue(result, (int)i, 0), NULL, 10);
        PQclear(result);
        PQfinish(connection);
    }
    for (size_t i = 0; i < count; i++)
        kill(pids[i], signal);
    return count;
}

/* ---- A client that stands still in the middle of a pipeline ---- */

/* A session with the server's application name, in a transaction that has changed a row, whose
 * client never sends the Sync. PostgreSQL's idle_in_transaction_session_timeout does not count
 * for it. */
static PGconn *stand_still(void)
{
    const char *const names[] = {"dbname", "application_name", NULL};
    const char *const values[] = {pg_fixture_url(), "runnel", NULL};
    PGconn *connection = PQconnectdbParams(names, values, 1);

    assert_int_equal(PQenterPipelineMode(connection), 1);
    assert_int_equal(PQsendQueryParams(connection, "BEGIN", 0, NULL, NULL, NULL, NULL, 0), 1);
    assert_int_equal(PQsendQueryParams(connection,
                                       "INSERT INTO nodes VALUES ('still', 'still', 0, 0)", 0,
                                       NULL, NULL, NULL, NULL, 0),
                     1);
    assert_int_equal(PQflush(connection), 0); /* and never a Sync */
    return connection;
}

static size_t end_stalled(double seconds)
{
    size_t count = 0;

    assert_int_equal(store_stalled_end(store, seconds, &count, NULL), ERR_OK);
    return count;
}

TEST(a_pipeline_that_stands_still_is_ended)
{
    PGconn *still = stand_still();
    struct pollfd socket = {.fd = PQsocket(still), .events = POLLIN};

    while (!pg_fixture_count("SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
                             " AND wait_event = 'ClientRead' AND backend_xid IS NOT NULL"))
        continue;
    assert_int_equal(end_stalled(3600), 0);
    assert_int_equal(end_stalled(0), 1);
    while (PQconsumeInput(still)) /* until it hangs up */
        (void)poll(&socket, 1, -1);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM pg_locks"
                                      " WHERE relation = 'nodes'::regclass"),
                     0);
    assert_int_equal(end_stalled(0), 0);
    PQfinish(still);
}

/* ---- A server that does not answer ---- */

TEST(a_frozen_server_costs_one_deadline_then_nothing)
{
    uint64_t start;
    struct err err;

    assert_int_equal(call(NULL), ERR_OK);
    assert_true(signal_backends(SIGSTOP) > 0);
    start = clock_mono_ns();
    assert_int_equal(call(&err), ERR_STORE);
    assert_true(seconds_since(start) >= DEADLINE * 0.9);
    assert_true(seconds_since(start) < DEADLINE + 2);
    assert_string_equal(err.text, "the database did not answer in time");
    assert_false(store_is_up(store));

    start = clock_mono_ns();
    for (int i = 0; i < 100; i++)
        assert_int_equal(call(&err), ERR_STORE);
    assert_true(seconds_since(start) < DEADLINE);
    assert_string_equal(err.text, "the database is away");

    /* Other server processes can be reached, which is enough: frozen ones are not used again. */
    assert_int_equal(store_probe(store, NULL), ERR_OK);
    assert_true(store_is_up(store));
    assert_int_equal(call(NULL), ERR_OK);
    signal_backends(SIGCONT);
}

/* Two threads, both connected when the server freezes: the one that did not notice must not wait
 * for its own connection once more. */
struct other_thread {
    sem_t connected, proceed;
    enum err_code rc;
    double seconds;
};

static void *connect_then_call_later(void *arg)
{
    struct other_thread *other = arg;
    uint64_t start;

    other->rc = call(NULL);
    sem_post(&other->connected);
    while (sem_wait(&other->proceed) != 0)
        ;
    start = clock_mono_ns();
    if (!other->rc)
        other->rc = call(NULL);
    other->seconds = seconds_since(start);
    store_thread_end(store);
    return NULL;
}

TEST(connections_from_before_an_outage_are_not_used_again)
{
    struct other_thread other;
    pthread_t thread;

    sem_init(&other.connected, 0, 0);
    sem_init(&other.proceed, 0, 0);
    assert_int_equal(call(NULL), ERR_OK);
    assert_int_equal(pthread_create(&thread, NULL, connect_then_call_later, &other), 0);
    while (sem_wait(&other.connected) != 0)
        ;
    assert_int_equal(signal_backends(SIGSTOP), 2);
    assert_int_equal(call(NULL), ERR_STORE);
    assert_int_equal(store_probe(store, NULL), ERR_OK);
    sem_post(&other.proceed);
    pthread_join(thread, NULL);
    signal_backends(SIGCONT);
    assert_int_equal(other.rc, ERR_OK);
    assert_true(other.seconds < DEADLINE);
    sem_destroy(&other.connected);
    sem_destroy(&other.proceed);
}

/* ---- A server that has gone ---- */

TEST(a_connection_that_the_server_closed_is_made_anew)
{
    assert_int_equal(call(NULL), ERR_OK);
    pg_fixture_ask("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
                   " WHERE application_name = 'runnel'");
    assert_int_equal(call(NULL), ERR_OK);
}

TEST(calls_fail_while_it_is_gone_and_work_when_it_is_back)
{
    struct err err;

    pg_fixture_stop();
    assert_int_equal(call(&err), ERR_STORE);
    assert_false(store_is_up(store));
    assert_int_equal(store_probe(store, &err), ERR_STORE);
    assert_non_null(strstr(err.text, "cannot reach the database"));
    pg_fixture_start();
    assert_int_equal(call(NULL), ERR_STORE);
    assert_int_equal(store_probe(store, NULL), ERR_OK);
    assert_int_equal(call(NULL), ERR_OK);
}

/* ---- Writers ---- */

#define MANY 50

static struct run_write *new_response(struct run_row *ret_run)
{
    struct item_row item;
    struct run_write *write;

    *ret_run = sample_run("", RUN_COMPLETED);
    item = sample_item(ret_run, 0, "{}");
    write = sample_write(ret_run, 0);
    write->create = true;
    sample_add_item(write, &item);
    return write;
}

static void *start_again(void *arg)
{
    (void)arg;
    pg_fixture_start();
    return NULL;
}

/* The writes are handed over while the cluster is stopped, and it starts again meanwhile. */
TEST(writers_keep_what_they_have_until_it_is_back)
{
    struct run_write *writes[MANY];
    pthread_t starter;
    struct run_row run;

    assert_int_equal(store_writers_start(store, NULL), ERR_OK);
    assert_int_equal(sample_put(store, new_response(&run)), ERR_OK);
    run_row_clear(&run);
    pg_fixture_stop();
    for (size_t i = 0; i < MANY; i++) {
        writes[i] = new_response(&run);
        run_row_clear(&run);
    }
    assert_int_equal(pthread_create(&starter, NULL, start_again, NULL), 0);
    sample_hand_over(store, writes, MANY);
    pthread_join(starter, NULL);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(writes[i]->rc, ERR_OK);
        assert_int_equal(pg_fixture_count("SELECT count(*) FROM items WHERE run_id = '%s'",
                                          writes[i]->run_id),
                         1);
        run_write_free(writes[i]);
    }
    store_writers_stop(store);
    assert_int_equal(store_probe(store, NULL), ERR_OK);
}

TEST(writers_that_stop_while_it_is_away_say_so)
{
    struct run_write *write;
    struct run_row run;
    uint64_t start;

    assert_int_equal(store_writers_start(store, NULL), ERR_OK);
    pg_fixture_stop();
    write = new_response(&run);
    store_write(store, write);
    start = clock_mono_ns();
    store_writers_stop(store);
    assert_true(seconds_since(start) < DEADLINE + 2);
    samples_await(1);
    assert_int_equal(write->rc, ERR_STORE);
    run_write_free(write);
    run_row_clear(&run);
    pg_fixture_start();
    assert_int_equal(store_probe(store, NULL), ERR_OK);
}

static int set_up(void **state)
{
    const struct store_options options = {.node_id = "node_test/boot_1",
                                          .deadline_seconds = DEADLINE};

    (void)state;
    store = pg_fixture_store_with(&options);
    samples_start();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    samples_stop();
    pg_fixture_end(store);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_that_stands_still_is_ended),
        cmocka_unit_test(a_frozen_server_costs_one_deadline_then_nothing),
        cmocka_unit_test(connections_from_before_an_outage_are_not_used_again),
        cmocka_unit_test(a_connection_that_the_server_closed_is_made_anew),
        cmocka_unit_test(calls_fail_while_it_is_gone_and_work_when_it_is_back),
        cmocka_unit_test(writers_keep_what_they_have_until_it_is_back),
        cmocka_unit_test(writers_that_stop_while_it_is_away_say_so),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
