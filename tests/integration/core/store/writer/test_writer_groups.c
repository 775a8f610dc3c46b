/*
 * The group commit, from outside: writes of several runs are handed over, and what comes back is
 * compared with the rows.
 *
 *   order            writes of a run are committed as they were handed over
 *   company          a bad write fails alone; large ones go alone; a late group goes in halves
 *   questions        come back last, and keep no other write waiting
 *
 * Faults stand where a connection may break: before the group is sent, after it was committed
 * and before its answer is read, and at the deadline. Each test with faults lets them strike at
 * the first visit, then at the second, and so on, until a round passes without one: so no
 * statement is left out.
 */

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/writer/writer.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/integration/core/store/writer/writer_samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

/* ---- Groups ---- */

#define MANY 200

TEST(many_runs_at_once_all_come_back)
{
    struct run_write *writes[MANY];
    struct run_row runs[MANY];

    for (size_t i = 0; i < MANY; i++)
        writes[i] = finished_response(&runs[i]);
    sample_hand_over(store, writes, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(writes[i]->rc, ERR_OK);
        run_write_free(writes[i]);
    }
    for (size_t i = 0; i < MANY; i += 37)
        assert_int_equal(items_of(&runs[i]), 2);
    for (size_t i = 0; i < MANY; i++)
        run_row_clear(&runs[i]);
}

TEST(writes_of_one_run_keep_their_order)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *writes[MANY + 1];
    char frame[32];

    writes[0] = sample_write(&run, 0);
    writes[0]->create = true;
    for (int i = 1; i <= MANY; i++) {
        run.turn = i;
        writes[i] = sample_write(&run, 1);
        writes[i]->update = true;
        snprintf(frame, sizeof(frame), "data: %d\n\n", i);
        sample_add_log(writes[i], i - 1, frame);
    }
    sample_hand_over(store, writes, MANY + 1);
    for (size_t i = 0; i <= MANY; i++) {
        assert_int_equal(writes[i]->rc, ERR_OK);
        run_write_free(writes[i]);
    }
    assert_int_equal(pg_fixture_count("SELECT turn FROM runs WHERE id = '%s'", run.id), MANY);
    assert_int_equal(
        pg_fixture_count("SELECT last_seq FROM run_leases WHERE run_id = '%s'", run.id),
        MANY - 1);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM run_events WHERE run_id = '%s'", run.id), MANY);
    run_row_clear(&run);
}

/* All kinds of writes in one group, the bad one among them: the same item twice in an insert is
 * refused by PostgreSQL, and takes the whole group's transaction with it. */
TEST(a_bad_write_does_not_harm_its_company)
{
    struct run_row fenced = sample_run("", RUN_IN_PROGRESS);
    struct run_row going = sample_run("", RUN_IN_PROGRESS);
    struct run_row ending = sample_run("", RUN_IN_PROGRESS);
    struct run_row bad = sample_run("", RUN_COMPLETED);
    struct run_row good;
    struct item_row twice = sample_item(&bad, 0, "{}");
    struct run_write *writes[5];
    struct run_row *first[] = {&fenced, &going, &ending};

    for (size_t i = 0; i < COUNT_OF(first); i++) {
        writes[i] = sample_write(first[i], 0);
        writes[i]->create = true;
    }
    sample_hand_over(store, writes, COUNT_OF(first));
    for (size_t i = 0; i < COUNT_OF(first); i++)
        run_write_free(writes[i]);

    writes[0] = sample_write(&fenced, 7);
    writes[1] = sample_write(&going, 1);
    sample_add_log(writes[1], 0, "data: x\n\n");
    ending.status = RUN_FAILED;
    writes[2] = sample_write(&ending, 1);
    writes[2]->update = true;
    writes[3] = sample_write(&bad, 0);
    writes[3]->create = true;
    sample_add_item(writes[3], &twice);
    twice.body = mem_strdup("{}");
    twice.position = -1;
    sample_add_item(writes[3], &twice);
    writes[4] = finished_response(&good);
    sample_hand_over(store, writes, 5);

    assert_int_equal(writes[0]->rc, ERR_CONFLICT);
    assert_int_equal(writes[1]->rc, ERR_OK);
    assert_int_equal(writes[2]->rc, ERR_OK);
    assert_int_equal(writes[3]->rc, ERR_INTERNAL);
    assert_int_equal(writes[4]->rc, ERR_OK);
    assert_int_equal(
        pg_fixture_count("SELECT max(last_seq) FROM run_events WHERE run_id = '%s'", going.id),
        0);
    assert_string_equal(status_of(&ending), "failed");
    assert_string_equal(status_of(&bad), "");
    assert_int_equal(items_of(&good), 2);
    for (size_t i = 0; i < 5; i++)
        run_write_free(writes[i]);
    run_row_clear(&fenced);
    run_row_clear(&going);
    run_row_clear(&ending);
    run_row_clear(&bad);
    run_row_clear(&good);
}

TEST(a_run_whose_writes_are_refused_can_still_fail)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0), *failure;
    struct item_row bad;

    write->create = true;
    assert_null(run_write_failure(write, &run));
    assert_int_equal(sample_put(store, write), ERR_OK);

    bad = sample_item(&run, 0, "\xff");
    run.turn = 2;
    write = sample_write(&run, 1);
    sample_add_item(write, &bad);
    sample_hand_over(store, &write, 1);
    assert_int_equal(write->rc, ERR_INTERNAL);
    failure = run_write_failure(write, &run);
    run_write_free(write);
    assert_int_equal(sample_put(store, failure), ERR_OK);
    assert_string_equal(status_of(&run), "failed");
    assert_int_equal(leases_of(&run), 0);
    assert_string_equal(pg_fixture_ask("SELECT error::json->>'code' || (failed_at > 0) || turn"
                                       " FROM runs WHERE id = '%s'",
                                       run.id),
                        "server_errortrue2");
    run_row_clear(&run);
}

TEST(an_item_of_another_run_is_never_taken_over)
{
    struct run_row theirs = sample_run("", RUN_COMPLETED),
                   ours = sample_run("", RUN_IN_PROGRESS);
    struct item_row item = sample_item(&theirs, 0, "{\"of\":\"theirs\"}");
    struct run_write *write = sample_write(&theirs, 0);

    write->create = true;
    sample_add_item(write, &item);
    assert_int_equal(sample_put(store, write), ERR_OK);
    write = sample_write(&ours, 0);
    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);

    memcpy(item.run_id, ours.id, ID_SIZE);
    item.body = mem_strdup("{}");
    write = sample_write(&ours, 1);
    sample_add_item(write, &item);
    assert_int_equal(sample_put(store, write), ERR_INTERNAL);
    assert_string_equal(pg_fixture_ask("SELECT body FROM items WHERE id = '%s'", item.id),
                        "{\"of\":\"theirs\"}");
    run_row_clear(&theirs);
    run_row_clear(&ours);
}

TEST(a_second_active_run_on_a_thread_is_a_conflict)
{
    char thread[ID_SIZE];
    struct run_row first, second;
    struct run_write *write;

    sample_thread(thread);
    first = sample_run(thread, RUN_IN_PROGRESS);
    second = sample_run(thread, RUN_IN_PROGRESS);
    write = sample_write(&first, 0);
    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    write = sample_write(&second, 0);
    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_CONFLICT);
    assert_string_equal(status_of(&second), "");
    run_row_clear(&first);
    run_row_clear(&second);
}

/* ---- Faults ---- */

#ifdef RUNNEL_FAULTS

/* A run from its first write to its last, with the fault on its n-th visit: it ends well, and
 * everything is stored once. */
static void live_with_fault(const char *point, unsigned visit)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct item_row question = sample_item(&run, 0, "{}"), answer = sample_item(&run, 1, "{}");
    struct run_write *write;

    fault_arm(point, visit);
    write = sample_write(&run, 0);
    write->create = true;
    sample_add_item(write, &question);
    sample_add_log(write, 0, "data: 0\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);

    write = sample_write(&run, 1);
    sample_add_log(write, 1, "data: 1\n\ndata: 2\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);

    run.status = RUN_COMPLETED;
    run.completed_at = clock_wall_us();
    write = sample_write(&run, 1);
    write->update = true;
    sample_add_item(write, &answer);
    assert_int_equal(sample_put(store, write), ERR_OK);
    /* Disarming forgets that it fired; the caller asks first. */
    assert_string_equal(status_of(&run), "completed");
    assert_int_equal(items_of(&run), 2);
    assert_int_equal(leases_of(&run), 0);
    assert_int_equal(
        pg_fixture_count("SELECT count(*) FROM run_events WHERE run_id = '%s'", run.id), 2);
    run_row_clear(&run);
}

TEST(every_write_survives_a_broken_connection)
{
    const char *const points[] = {"writer.send", "writer.result", "writer.late"};

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        unsigned visit = 0;

        do {
            live_with_fault(points[i], ++visit);
        } while (fault_fired());
        /* One visit for each of the three writes, then one more round without a fault. */
        assert_int_equal(visit, 4);
        fault_disarm();
    }
}

TEST(a_response_whose_commit_went_unanswered_is_stored_once)
{
    struct run_row run;

    fault_arm("writer.result", 1);
    assert_int_equal(sample_put(store, finished_response(&run)), ERR_OK);
    assert_true(fault_fired());
    fault_disarm();
    assert_int_equal(items_of(&run), 2);
    run_row_clear(&run);
}

/* Whether it was committed is looked up until the database answers. */
TEST(an_end_whose_commit_went_unanswered_is_looked_up)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    assert_int_equal(sample_put(store, write), ERR_OK);
    run.status = RUN_COMPLETED;
    run.completed_at = clock_wall_us();
    write = sample_write(&run, 1);
    write->update = true;
    fault_arm("writer.result", 1);
    fault_arm_also("writer.resolve", 1);
    fault_arm_also("writer.resolve", 2);
    assert_int_equal(sample_put(store, write), ERR_OK);
    assert_true(fault_fired());
    fault_disarm();
    run_row_clear(&run);
}

#define HALVED 9

/* A group that was too much at once is written in halves, each once. The deadline is missed at
 * different depths: by the whole group, by a half, by a quarter. */
TEST(a_group_that_is_late_is_written_in_halves)
{
    struct run_write *writes[HALVED];
    struct run_row runs[HALVED];

    for (unsigned visit = 1; visit < 6; visit++) {
        for (size_t i = 0; i < HALVED; i++)
            writes[i] = finished_response(&runs[i]);
        fault_arm("writer.late", visit);
        fault_arm_also("writer.late", visit + 1);
        sample_hand_over(store, writes, HALVED);
        fault_disarm();
        for (size_t i = 0; i < HALVED; i++) {
            assert_int_equal(writes[i]->rc, ERR_OK);
            assert_int_equal(items_of(&runs[i]), 2);
            run_write_free(writes[i]);
            run_row_clear(&runs[i]);
        }
    }
}

#endif

/* ---- Size ---- */

#define LARGE       10
#define LARGE_BYTES ((size_t)3 << 20)

static char *large_body(void)
{
    char *body = mem_new_array(char, LARGE_BYTES);

    memset(body, 'x', LARGE_BYTES - 1);
    return body;
}

TEST(large_writes_do_not_share_a_group)
{
    struct run_write *writes[LARGE];
    char *body = large_body();

    for (size_t i = 0; i < LARGE; i++) {
        struct run_row run = sample_run("", RUN_COMPLETED);
        struct item_row item = sample_item(&run, 0, body);

        writes[i] = sample_write(&run, 0);
        writes[i]->create = true;
        sample_add_item(writes[i], &item);
        run_row_clear(&run);
    }
    sample_hand_over(store, writes, LARGE);
    for (size_t i = 0; i < LARGE; i++) {
        assert_int_equal(writes[i]->rc, ERR_OK);
        run_write_free(writes[i]);
    }
    /* xmin is the number of the transaction that a row came with. */
    assert_int_equal(pg_fixture_count("SELECT max(n) FROM (SELECT count(*) AS n FROM items"
                                      " WHERE length(body) = %zu GROUP BY xmin::text) g",
                                      LARGE_BYTES - 1),
                     WRITER_GROUP_BYTES / LARGE_BYTES);
    free(body);
}

/* ---- Questions ---- */

static struct run_write *asking(struct run_row *run)
{
    struct run_write *write = finished_response(run);

    write->approvals = mem_new(struct approval_row);
    write->approval_count = 1;
    *write->approvals = (struct approval_row){.kind = APPROVAL_OF_PERMISSION,
                                              .server_label = mem_strdup("test"),
                                              .tool = mem_strdup("act"),
                                              .arguments = mem_strdup("{}"),
                                              .policy = mem_strdup("auto"),
                                              .status = APPROVAL_PENDING,
                                              .created_at = run->created_at};
    id_make(write->approvals->id, "mcpr_");
    memcpy(write->approvals->run_id, run->id, ID_SIZE);
    (void)snprintf(write->approvals->call_id, sizeof(write->approvals->call_id), "call_1");
    return write;
}

static void run_sql(PGconn *session, const char *sql)
{
    PGresult *result = PQexec(session, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(session));
    PQclear(result);
}

/* A session that locks the grants, and keeps the writer busy with that run until ROLLBACK TO
 * busy. */
static PGconn *keep_busy(const struct run_row *run)
{
    AUTO_FREE char *lock =
        mem_printf("SELECT FROM run_leases WHERE run_id = '%s' FOR UPDATE", run->id);
    PGconn *session = PQconnectdb(pg_fixture_url());

    run_sql(session, "BEGIN");
    run_sql(session, "LOCK TABLE approval_grants");
    run_sql(session, "SAVEPOINT busy");
    run_sql(session, lock);
    return session;
}

static bool a_session_waits(void)
{
    return pg_fixture_count("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0;
}

TEST(writes_without_questions_do_not_wait_for_those_with_questions)
{
    /* Waiting for the write with the question would outlast this test. */
    const struct store_options options = {
        .node_id = "node_one/boot_1", .writers = 1, .deadline_seconds = 3600};
    struct store *one = pg_fixture_store_with(&options);
    struct run_row busy_run = sample_run("", RUN_IN_PROGRESS), asking_run, run;
    struct run_write *busy = sample_write(&busy_run, 0);
    struct run_write *asked = asking(&asking_run), *write = finished_response(&run);
    PGconn *session;

    assert_int_equal(store_writers_start(one, NULL), ERR_OK);
    busy->create = true;
    assert_int_equal(sample_put(one, busy), ERR_OK);
    busy = sample_write(&busy_run, 1);
    sample_add_log(busy, 0, "data: x\n\n");
    session = keep_busy(&busy_run);
    store_write(one, busy);
    while (!a_session_waits())
        ;
    store_write(one, asked);
    store_write(one, write);
    run_sql(session, "ROLLBACK TO busy");
    samples_await(2);
    assert_int_equal(write->rc, ERR_OK);
    assert_string_equal(status_of(&asking_run), "completed");
    run_sql(session, "ROLLBACK");
    samples_await(1);
    assert_int_equal(asked->rc, ERR_OK);

    PQfinish(session);
    run_write_free(busy);
    run_write_free(asked);
    run_write_free(write);
    store_writers_stop(one);
    store_free(one);
    pg_fixture_ask("DELETE FROM run_leases WHERE run_id = '%s'", busy_run.id);
    run_row_clear(&busy_run);
    run_row_clear(&asking_run);
    run_row_clear(&run);
}

#ifdef RUNNEL_FAULTS
static struct run_write *expiring_write(const struct run_row *run, const char *frames)
{
    struct run_write *write = sample_write(run, 1);

    write->update = true;
    sample_add_log(write, 0, frames);
    return write;
}

/* Two owners let a run expire, and an expired run has no time of its end. */
TEST(the_same_end_by_another_owner_is_not_taken_for_its_own)
{
    char thread[ID_SIZE];
    struct run_load load;

    sample_thread(thread);
    load = sample_created(store, thread);
    load.run.status = RUN_EXPIRED;
    assert_int_equal(sample_put(store, expiring_write(&load.run, "data: theirs\n\n")), ERR_OK);
    fault_arm("writer.result", 1);
    assert_int_equal(sample_put(store, expiring_write(&load.run, "data: ours\n\n")),
                     ERR_CONFLICT);
    assert_true(fault_fired());
    fault_arm("writer.result", 1);
    assert_int_equal(sample_put(store, expiring_write(&load.run, "data: theirs\n\n")), ERR_OK);
    fault_disarm();
    run_load_clear(&load);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_without_questions_do_not_wait_for_those_with_questions),
        cmocka_unit_test(many_runs_at_once_all_come_back),
        cmocka_unit_test(writes_of_one_run_keep_their_order),
        cmocka_unit_test(a_bad_write_does_not_harm_its_company),
        cmocka_unit_test(a_run_whose_writes_are_refused_can_still_fail),
        cmocka_unit_test(an_item_of_another_run_is_never_taken_over),
        cmocka_unit_test(a_second_active_run_on_a_thread_is_a_conflict),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(the_same_end_by_another_owner_is_not_taken_for_its_own),
        cmocka_unit_test(every_write_survives_a_broken_connection),
        cmocka_unit_test(a_response_whose_commit_went_unanswered_is_stored_once),
        cmocka_unit_test(an_end_whose_commit_went_unanswered_is_looked_up),
        cmocka_unit_test(a_group_that_is_late_is_written_in_halves),
#endif
        cmocka_unit_test(large_writes_do_not_share_a_group),
    };

    return cmocka_run_group_tests(tests, open_writing_store, close_store);
}
