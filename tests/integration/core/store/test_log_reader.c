/*
 * The log as followers read it. A session of the test locks the log, so that requests gather in
 * the reader's queue. When it lets go, equal requests must have been answered by one read: a
 * fault that is armed for a later visit shows how often the statement was executed.
 */

#include <libpq-fe.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/store/cluster/log_reader.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/integration/core/store/samples.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

#define FOLLOWERS 20

static struct loop *loop;
static struct log_reader *reader;
static sem_t back;

static void came_back(struct loop_task *task)
{
    (void)task;
    sem_post(&back);
}

static void ask(struct log_read *read, const struct run_row *run, int64_t first_seq)
{
    *read = (struct log_read){
        .first_seq = first_seq, .limit = 1 << 16, .loop = loop, .done.run = came_back};
    read->tenant = tenant_of_project(run->project);
    read->face = run->face;
    (void)snprintf(read->run_id, sizeof(read->run_id), "%s", run->id);
    log_reader_ask(reader, read);
}

static void await(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (sem_wait(&back) != 0)
            ;
    }
}

static void check(struct log_read *read, const char *frames, int64_t next)
{
    assert_int_equal(read->rc, ERR_OK);
    assert_int_equal(read->length, strlen(frames));
    assert_memory_equal(read->frames, frames, read->length);
    assert_int_equal(read->next, next);
    assert_int_equal(read->status, RUN_IN_PROGRESS);
    free(TAKE(read->frames));
}

/* A run with the frames x, y and z. */
static struct run_row logged_run(void)
{
    struct run_row run = sample_run("", RUN_IN_PROGRESS);
    struct run_write *write = sample_write(&run, 0);

    write->create = true;
    sample_add_log(write, 0, "data: x\n\ndata: y\n\ndata: z\n\n");
    assert_int_equal(sample_put(store, write), ERR_OK);
    return run;
}

/* A session that lets no other read the log until it is closed. */
static PGconn *hold_log(void)
{
    PGconn *session = PQconnectdb(pg_fixture_url());

    PQclear(PQexec(session, "BEGIN"));
    PQclear(PQexec(session, "LOCK TABLE run_events"));
    assert_int_equal(PQtransactionStatus(session), PQTRANS_INTRANS);
    return session;
}

static void await_reader(void)
{
    while (!pg_fixture_count("SELECT count(*) FROM pg_locks WHERE NOT granted"))
        ;
}

/* ---- Promises ---- */

/* The fault would strike at the fifth read: four different requests may be made, and no more. */
TEST(equal_requests_are_answered_together)
{
    struct run_row run = logged_run(), other = logged_run();
    struct log_read reads[FOLLOWERS], first, later, others;
    PGconn *session = hold_log();

#ifdef RUNNEL_FAULTS
    fault_arm("store_events_read", 5);
#endif
    ask(&first, &run, 0);
    await_reader();
    for (size_t i = 0; i < FOLLOWERS; i++) {
        ask(&reads[i], &run, 1);
        if (i == 3)
            ask(&others, &other, 1);
        if (i == 5)
            ask(&later, &run, 2);
    }
    PQfinish(session);
    await(FOLLOWERS + 3);

    check(&first, "data: x\n\ndata: y\n\ndata: z\n\n", 3);
    check(&others, "data: y\n\ndata: z\n\n", 3);
    check(&later, "data: z\n\n", 3);
    for (size_t i = 0; i < FOLLOWERS; i++)
        check(&reads[i], "data: y\n\ndata: z\n\n", 3);
#ifdef RUNNEL_FAULTS
    assert_false(fault_fired());
    fault_disarm();
#endif
    run_row_clear(&run);
    run_row_clear(&other);
}

TEST(every_request_for_a_deleted_run_is_answered)
{
    struct run_row run = logged_run(), gone = sample_run("", RUN_IN_PROGRESS);
    struct log_read first, reads[3];
    PGconn *session = hold_log();

    ask(&first, &run, 0);
    await_reader();
    for (size_t i = 0; i < COUNT_OF(reads); i++)
        ask(&reads[i], &gone, 0);
    PQfinish(session);
    await(COUNT_OF(reads) + 1);
    for (size_t i = 0; i < COUNT_OF(reads); i++) {
        assert_int_equal(reads[i].rc, ERR_NOT_FOUND);
        assert_null(reads[i].frames);
    }
    free(first.frames);
    run_row_clear(&run);
    run_row_clear(&gone);
}

static int set_up(void **state)
{
    if (open_writing_store(state))
        return -1;
    sem_init(&back, 0, 0);
    loop = loop_new("reads");
    return loop_start(loop, NULL) || log_reader_start(store, &reader, NULL) ? -1 : 0;
}

static int tear_down(void **state)
{
    log_reader_stop(reader);
    loop_stop(loop);
    loop_free(loop);
    sem_destroy(&back);
    return close_store(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_requests_are_answered_together),
        cmocka_unit_test(every_request_for_a_deleted_run_is_answered),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
