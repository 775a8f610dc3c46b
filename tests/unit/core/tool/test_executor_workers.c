#include <dirent.h>
#include <sched.h>

#include "core/base/log.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"
#include "tests/unit/core/tool/executor_turn.h"

/* Workers whose handlers take too long, or never return. */

TEST(executor_ends_a_cooperative_call_at_its_deadline)
{
    struct tool_executor *executor = executor_started(1, 0);
    struct turn turn;

    turn_open(&turn, 2);
    turn_submit(executor, &turn, 0, &handler_patient, "run", "call");
    turn_expect_end(&turn, ERR_TIMEOUT);
    turn_submit(executor, &turn, 1, &handler_listed, "run", "next");
    turn_expect_result(&turn, "next");
    turn_close(&turn);
    executor_stop(executor);
}

TEST(executor_has_a_deadline_for_handlers_that_name_none)
{
    struct tool_executor *executor = executor_started(1, 0.02);
    struct turn turn;

    turn_open(&turn, 1);
    turn_submit(executor, &turn, 0, &handler_patient_for_ever, "run", "call");
    turn_expect_end(&turn, ERR_TIMEOUT);
    turn_close(&turn);
    executor_stop(executor);
}

/* Two other calls are given up meanwhile, one after the other: each had as much time as it. */
TEST(executor_stops_the_clock_of_a_call_that_waits_for_the_floor)
{
    struct tool_executor *executor = executor_started(2, 0.2);
    struct tool_output output = {.kind = TOOL_OUTPUT_TEXT};
    struct turn turn, other;

    turn_open(&turn, 2);
    turn_open(&other, 2);
    assert_int_equal(tool_channel_put(turn.channel, 1, &output), ERR_OK);
    turn_submit(executor, &turn, 0, &handler_emitter, "run", "call");
    for (unsigned i = 0; i < 2; i++) {
        turn_submit(executor, &other, i, &handler_patient_for_ever, "other", "late");
        turn_expect_end(&other, ERR_TIMEOUT);
    }
    output = (struct tool_output){.kind = TOOL_OUTPUT_END};
    assert_int_equal(tool_channel_put(turn.channel, 1, &output), ERR_OK);
    turn_expect_end(&turn, ERR_OK); /* of the call that had the floor */
    turn_expect_end(&turn, ERR_OK);
    turn_close(&other);
    turn_close(&turn);
    executor_stop(executor);
}

/* Peer fault A15: tools had no timeout, and one that hung held its run for ever. */
TEST(executor_bella_A15_a_stubborn_handler_is_given_up_at_its_deadline)
{
    struct tool_executor *executor = executor_started(1, 0);
    struct tool_output output;
    struct turn turn;

    turn_open(&turn, 1);
    turn_submit(executor, &turn, 0, &handler_deaf, "run", "call");
    turn_expect_end(&turn, ERR_TIMEOUT);
    assert_true(tool_channel_finished(turn.channel));
    door_open();
    assert_true(door_wait(&door.left, 1, TAKER_PATIENCE));
    assert_false(tool_channel_take(turn.channel, &output));
    turn_close(&turn);
    executor_stop(executor);
}

TEST(executor_replaces_workers_that_do_not_return)
{
    struct tool_executor *executor = executor_started(2, 0);
    struct turn turn;

    turn_open(&turn, 3);
    turn_submit(executor, &turn, 0, &handler_deaf, "run_a", "a");
    turn_submit(executor, &turn, 1, &handler_deaf, "run_b", "b");
    turn_submit(executor, &turn, 2, &handler_listed, "run_c", "c");
    turn_expect_end(&turn, ERR_TIMEOUT);
    turn_expect_end(&turn, ERR_TIMEOUT);
    turn_expect_result(&turn, "c");
    turn_close(&turn);
    executor_stop(executor);
}

TEST(executor_replaces_no_more_than_the_limit)
{
    enum { POOL = 70, CALLS = 3 * POOL };
    struct tool_executor *executor = executor_started(POOL, 0);
    struct turn turn;

    turn_open(&turn, CALLS);
    for (unsigned i = 0; i < CALLS; i++)
        turn_submit(executor, &turn, i, &handler_deaf, "run", "call");
    for (unsigned i = 0; i < POOL + EXECUTOR_STRAY_LIMIT; i++)
        turn_expect_end(&turn, ERR_TIMEOUT);
    /* One more would have entered one grace later. */
    assert_false(door_wait(&door.entered, POOL + EXECUTOR_STRAY_LIMIT + 1,
                           EXECUTOR_GRACE_NS + EXECUTOR_GRACE_NS / 4));
    door_open();
    for (unsigned i = POOL + EXECUTOR_STRAY_LIMIT; i < CALLS; i++) {
        struct tool_output end = turn_wait_for_end(&turn);

        tool_output_clear(&end);
    }
    turn_close(&turn);
    executor_stop(executor);
}

/* Of this process. */
static unsigned threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;

    assert_non_null(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks));)
        count += *entry->d_name != '.';
    (void)closedir(tasks);
    return count;
}

/* Only the kernel knows when a thread has ended, so the test asks again and again. */
TEST(executor_ends_workers_that_have_no_calls)
{
    enum { CALLS = 4 };
    unsigned before = threads();
    struct tool_executor *executor = tool_executor_new(CALLS, 0);
    struct turn turn;

    tool_executor_idle(executor, 1);
    assert_int_equal(tool_executor_start(executor, NULL), ERR_OK);
    for (unsigned round = 0; round < 2; round++) {
        turn_open(&turn, CALLS);
        for (unsigned i = 0; i < CALLS; i++)
            turn_submit(executor, &turn, i, &handler_listed, "run", "call");
        for (unsigned i = 0; i < CALLS; i++)
            turn_expect_result(&turn, "call");
        turn_close(&turn);
        while (threads() - before > 1) /* the timekeeper stays */
            sched_yield();
    }
    executor_stop(executor);
}

TEST(executor_starts_workers_when_calls_need_them)
{
    enum { POOL = 4, CALLS = 6 };
    unsigned before = threads();
    struct tool_executor *executor = executor_started(POOL, 0);
    struct turn turn;

    assert_int_equal(threads() - before, 0);
    door_reset();
    turn_open(&turn, CALLS);
    for (unsigned i = 0; i < CALLS; i++)
        turn_submit(executor, &turn, i, &handler_deaf_for_ever, "run", "call");
    assert_true(door_wait(&door.entered, POOL, patience_ns(20)));
    assert_int_equal(threads() - before, POOL + 1);
    door_open();
    for (unsigned i = 0; i < CALLS; i++) {
        struct tool_output end = turn_wait_for_end(&turn);

        tool_output_clear(&end);
    }
    assert_int_equal(threads() - before, POOL + 1);
    turn_close(&turn);
    executor_stop(executor);
}

/* A pool is large, and each worker is a thread. */
TEST(executor_has_one_worker_for_one_call)
{
    unsigned before = threads();
    struct tool_executor *executor = executor_started(8, 0);
    struct turn turn;

    door_reset();
    turn_open(&turn, 2);
    turn_submit(executor, &turn, 0, &handler_deaf_for_ever, "run", "call");
    assert_true(door_wait(&door.entered, 1, patience_ns(20)));
    assert_int_equal(threads() - before, 2); /* and the timekeeper */
    turn_submit(executor, &turn, 1, &handler_deaf_for_ever, "run", "call");
    assert_true(door_wait(&door.entered, 2, patience_ns(20)));
    assert_int_equal(threads() - before, 3);
    door_open();
    for (unsigned i = 0; i < 2; i++) {
        struct tool_output end = turn_wait_for_end(&turn);

        tool_output_clear(&end);
    }
    turn_close(&turn);
    executor_stop(executor);
}

TEST(executor_that_never_started_ends_its_calls)
{
    unsigned before = threads();
    struct tool_executor *executor = tool_executor_new(1, 0);
    struct turn turn;

    turn_open(&turn, 1);
    turn_submit(executor, &turn, 0, &handler_listed, "run", "call");
    assert_int_equal(threads(), before);
    tool_executor_free(executor);
    turn_expect_end(&turn, ERR_CANCELLED);
    turn_close(&turn);
}

TEST(executor_takes_the_worker_of_a_closed_call_when_others_wait)
{
    struct tool_executor *executor = executor_started(1, 0);
    struct turn cancelled, other;

    turn_open(&cancelled, 1);
    turn_open(&other, 1);
    turn_submit(executor, &cancelled, 0, &handler_deaf_for_ever, "run_a", "a");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    turn_submit(executor, &other, 0, &handler_listed, "run_b", "b");
    /* No other call comes; meanwhile the timekeeper has found nothing to do. */
    assert_false(door_wait(&door.entered, 2, 50 * NS_PER_MS));
    tool_channel_close(cancelled.channel);
    turn_expect_result(&other, "b");
    turn_close(&cancelled);
    turn_close(&other);
    executor_stop(executor);
}

TEST(executor_leaves_a_stuck_handler_behind)
{
    struct tool_executor *executor = executor_started(2, 0);
    struct turn turn;

    turn_open(&turn, 1);
    turn_submit(executor, &turn, 0, &handler_deaf_for_ever, "run", "call");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    tool_channel_close(turn.channel);
    tool_executor_stop(executor, NS_PER_MS);
    tool_executor_free(executor);
    turn_close(&turn);
    door_open();
    assert_true(door_wait(&door.left, 1, TAKER_PATIENCE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executor_ends_a_cooperative_call_at_its_deadline),
        cmocka_unit_test(executor_has_a_deadline_for_handlers_that_name_none),
        cmocka_unit_test(executor_stops_the_clock_of_a_call_that_waits_for_the_floor),
        cmocka_unit_test(executor_bella_A15_a_stubborn_handler_is_given_up_at_its_deadline),
        cmocka_unit_test(executor_replaces_workers_that_do_not_return),
        cmocka_unit_test(executor_replaces_no_more_than_the_limit),
        cmocka_unit_test(executor_ends_workers_that_have_no_calls),
        cmocka_unit_test(executor_starts_workers_when_calls_need_them),
        cmocka_unit_test(executor_has_one_worker_for_one_call),
        cmocka_unit_test(executor_that_never_started_ends_its_calls),
        cmocka_unit_test(executor_takes_the_worker_of_a_closed_call_when_others_wait),
        cmocka_unit_test(executor_leaves_a_stuck_handler_behind),
    };

    log_set_level(LOG_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
