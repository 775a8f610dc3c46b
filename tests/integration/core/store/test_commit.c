/*
 * Commits whose answer is lost, and statements that fail: what is stored is never reported as an
 * outage, and nothing is half done.
 *
 * A lost answer has two cases that look alike from here. Either the commit has happened, or it
 * is still under way. The second is made with a deferred trigger that waits for an advisory
 * lock: the COMMIT hangs in it until the test lets it end or kills it, and the look-up must wait
 * for that.
 */

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/base/fault.h"
#include "core/store/tables/runs/runs.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/run_samples.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* What was stored must not be reported as an outage, or the client would be refused when it tries
 * again. */
TEST(a_commit_that_went_unanswered_is_looked_up)
{
    const char *const ids[] = {"a", "b"};
    struct run_load load, accepted, cancelled;
    enum cancel_outcome outcome;
    char thread[ID_SIZE];
    bool repeated;

    sample_thread(thread);
    fault_arm("store.commit_unanswered", 1);
    fault_arm_also("commit.look", 1);
    assert_int_equal(create(thread, &load, NULL), ERR_OK);
    assert_int_equal(load.fence, 1);
    sample_ask_client(store, &load);
    fault_arm("store.commit_unanswered", 1);
    assert_int_equal(submit(&load.run, ids, 2, hash_one, &accepted, &repeated, NULL), ERR_OK);
    assert_int_equal(accepted.fence, 2);
    assert_false(repeated);
    fault_arm("store.commit_unanswered", 1);
    assert_int_equal(store_run_cancel(store, TENANT, thread, load.run.id, CONTEXT, &outcome,
                                      &cancelled, NULL),
                     ERR_OK);
    assert_true(fault_fired());
    fault_disarm();
    assert_int_equal(outcome, CANCEL_OWNED_HERE);
    run_load_clear(&load);
    run_load_clear(&cancelled);
    end_run(&accepted);
}

TEST(a_run_that_was_made_for_another_node_is_looked_up_by_its_row)
{
    char thread[ID_SIZE];
    struct run_row run;
    struct run_load load;

    sample_thread(thread);
    run = sample_run(thread, RUN_QUEUED);
    fault_arm("store.commit_unanswered", 1);
    assert_int_equal(store_run_create(store,
                                      &(struct run_creation){.tenant = TENANT,
                                                             .run = &run,
                                                             .context_limit = CONTEXT,
                                                             .wanted_node = "node_other"},
                                      &load, NULL),
                     ERR_OK);
    assert_true(fault_fired());
    fault_disarm();
    assert_int_equal(load.fence, 0);
    run_load_clear(&load);
    run_row_clear(&run);
    pg_fixture_ask("DELETE FROM run_leases");
}

/* The COMMIT of a response outside conversations: no other session sees a row of it before. */
struct slow_commit {
    PGconn *holder;  /* holds what the COMMIT waits for */
    const char *end; /* executed once a session waits for the COMMIT, or none will */
    atomic_bool over;
};

static void say(PGconn *connection, const char *sql)
{
    PQclear(PQexec(connection, sql));
}

static bool another_session_waits(PGconn *connection)
{
    PGresult *result =
        PQexec(connection, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted"
                           " AND locktype = 'transactionid')");
    bool waits = PQgetvalue(result, 0, 0)[0] == 't';

    PQclear(result);
    return waits;
}

static void *end_commit(void *arg)
{
    struct slow_commit *slow = arg;

    while (!atomic_load(&slow->over) && !another_session_waits(slow->holder))
        continue;
    say(slow->holder, slow->end);
    return NULL;
}

/* A response whose connection breaks while its COMMIT waits. */
static enum err_code create_slowly(const char *end, struct run_load *ret_load)
{
    struct slow_commit slow = {.holder = PQconnectdb(pg_fixture_url()), .end = end};
    pthread_t thread;
    enum err_code rc;

    say(slow.holder, "SELECT pg_advisory_lock(84)");
    assert_int_equal(pthread_create(&thread, NULL, end_commit, &slow), 0);
    fault_arm("store.commit_under_way", 1);
    rc = create("", ret_load, NULL);
    fault_disarm();
    atomic_store(&slow.over, true);
    pthread_join(thread, NULL);
    PQfinish(slow.holder);
    return rc;
}

TEST(a_commit_that_is_under_way_is_waited_for)
{
    const char *const end = "SELECT pg_advisory_unlock(84)";
    const char *const kill = "SELECT pg_terminate_backend(pid) FROM pg_locks"
                             " WHERE NOT granted AND locktype = 'advisory'";
    struct run_load load = {0};
    long leases;

    pg_fixture_ask("CREATE FUNCTION wait_84() RETURNS trigger LANGUAGE plpgsql AS"
                   " 'BEGIN PERFORM pg_advisory_xact_lock(84); RETURN NULL; END'");
    pg_fixture_ask("CREATE CONSTRAINT TRIGGER wait_84 AFTER INSERT ON runs"
                   " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_84()");
    leases = pg_fixture_count("SELECT count(*) FROM run_leases");
    assert_int_equal(create_slowly(end, &load), ERR_OK);
    assert_string_equal(status_of(load.run.id), "queued");
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM run_leases"), leases + 1);
    assert_int_equal(create_slowly(kill, &load), ERR_STORE);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM run_leases"), leases + 1);
    pg_fixture_ask("DROP TRIGGER wait_84 ON runs");
    end_run(&load);
}

/* One of two requests that submit the same outputs. */
struct submitter {
    const struct run_row *run;
    pthread_t thread;
    struct run_load load;
    enum err_code rc;
};

static void *submit_both(void *arg)
{
    const char *const ids[] = {"a", "b"};
    struct submitter *submitter = arg;
    bool repeated;

    submitter->rc = submit(submitter->run, ids, 2, hash_one, &submitter->load, &repeated, NULL);
    store_thread_end(store);
    return NULL;
}

/* Starts it, and returns when `waiting` sessions wait for a lock. */
static void start_submitter(struct submitter *submitter, const struct run_row *run,
                            long waiting)
{
    submitter->run = run;
    assert_int_equal(pthread_create(&submitter->thread, NULL, submit_both, submitter), 0);
    while (pg_fixture_count("SELECT count(*) FROM pg_locks WHERE NOT granted") < waiting)
        continue;
}

/* The first transaction is rolled back, and the second one raises the lease to the same fence. If both
 * took that for their own, the run would be handed to its loop twice. */
TEST(the_commit_of_another_request_is_no_proof)
{
    PGconn *holder = PQconnectdb(pg_fixture_url());
    struct submitter first = {0}, second = {0};
    struct run_load load;
    char thread[ID_SIZE];

    sample_thread(thread);
    assert_int_equal(create(thread, &load, NULL), ERR_OK);
    sample_ask_client(store, &load);
    say(holder, "BEGIN");
    say(holder, "SELECT FROM tool_calls FOR UPDATE");
    start_submitter(&first, &load.run, 1);
    start_submitter(&second, &load.run, 2);
    fault_arm("store.commit", 1);
    say(holder, "COMMIT");
    pthread_join(first.thread, NULL);
    pthread_join(second.thread, NULL);
    assert_true(fault_fired());
    fault_disarm();
    PQfinish(holder);
    assert_int_equal(first.rc, ERR_STORE);
    assert_int_equal(second.rc, ERR_OK);
    assert_int_equal(second.load.fence, 2);
    run_load_clear(&load);
    end_run(&second.load);
}

/* All that a client does with a run, from making to cancelling it. False, with the code of an
 * outage, if the fault struck. */
static bool live(const char *thread)
{
    const char *const ids[] = {"a", "b"};
    struct run_load load = {0}, accepted = {0}, cancelled = {0};
    enum cancel_outcome outcome;
    bool repeated, well = false;
    enum err_code rc;

    rc = create(thread, &load, NULL);
    if (rc)
        goto out;
    sample_ask_client(store, &load);
    rc = submit(&load.run, ids, 2, hash_one, &accepted, &repeated, NULL);
    if (rc)
        goto out;
    rc = store_run_cancel(store, TENANT, thread, load.run.id, CONTEXT, &outcome, &cancelled,
                          NULL);
    well = rc == ERR_OK;
out:
    assert_true(rc == ERR_OK || rc == ERR_STORE);
    run_load_clear(&load);
    run_load_clear(&accepted);
    run_load_clear(&cancelled);
    return well;
}

/* When any statement fails, an error says so, nothing is half done, and the next call works. */
TEST(every_statement_may_fail)
{
    const char *const points[] = {"store.begin", "store.exec", "store.commit",
                                  "store.commit_unanswered", "store.commit_under_way"};

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        bool fired = true;

        for (unsigned visit = 1; fired; visit++) {
            char thread[ID_SIZE];
            bool well;

            assert_true(visit < 100);
            sample_thread(thread);
            fault_arm(points[i], visit);
            well = live(thread);
            fired = fault_fired();
            fault_disarm();
            assert_int_equal(well, !fired || i >= 3);
            /* A run without a lease, or a lease without a run, is half of a transaction. */
            assert_int_equal(
                pg_fixture_count("SELECT (SELECT count(*) FROM runs WHERE thread_id = '%s'"
                                 "  AND id NOT IN (SELECT run_id FROM run_leases))"
                                 " + (SELECT count(*) FROM run_leases"
                                 "  WHERE run_id NOT IN (SELECT id FROM runs))",
                                 thread),
                0);
            pg_fixture_ask("DELETE FROM run_leases");
            pg_fixture_ask("DELETE FROM runs WHERE thread_id = '%s'", thread);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_that_went_unanswered_is_looked_up),
        cmocka_unit_test(a_run_that_was_made_for_another_node_is_looked_up_by_its_row),
        cmocka_unit_test(a_commit_that_is_under_way_is_waited_for),
        cmocka_unit_test(the_commit_of_another_request_is_no_proof),
        cmocka_unit_test(every_statement_may_fail),
    };

    return cmocka_run_group_tests(tests, open_two_stores, close_store);
}
