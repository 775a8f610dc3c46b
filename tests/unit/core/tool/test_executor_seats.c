#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/tool/seats.h"
#include "tests/support/test.h"
#include "tests/unit/core/tool/executor_turn.h"

/* Calls that share a container, and what they leave to other calls. */

/* ---- Containers, each called like the thread of its calls ---- */

static atomic_uint opened, closed, ran_before;

static enum err_code open_container(void *arg, const struct tool_call *call,
                                    struct tool_container **ret_container, struct err *err)
{
    (void)arg;
    if (!*tool_call_thread(call))
        return err_set(err, ERR_NOT_FOUND, "it was deleted");
    *ret_container = mem_new(struct tool_container);
    (void)snprintf((*ret_container)->id, ID_SIZE, "%s", tool_call_thread(call));
    atomic_fetch_add(&opened, 1);
    return ERR_OK;
}

static void close_container(void *arg, struct tool_container *container, bool ran)
{
    (void)arg;
    atomic_fetch_add(&closed, 1);
    atomic_fetch_add(&ran_before, ran);
    free(container);
}

static const struct tool_containers containers = {
    .at_once = 2, .open = open_container, .close = close_container};

/* ---- Handlers ---- */

static atomic_uint inside, most_inside;

static enum err_code run_counted(struct tool_call *call, struct tool_result *ret_result,
                                 struct err *err)
{
    unsigned now = atomic_fetch_add(&inside, 1) + 1;
    enum err_code rc;

    if (now > atomic_load(&most_inside))
        atomic_store(&most_inside, now);
    rc = handler_deaf_for_ever.run(call, ret_result, err);
    atomic_fetch_sub(&inside, 1);
    return rc;
}

static const struct tool_handler python = {
    .name = "python", .run = run_counted, .flags = TOOL_TAKES_SEAT | TOOL_NEEDS_PYTHON};
static const struct tool_handler command = {
    .name = "command", .run = run_counted, .flags = TOOL_TAKES_SEAT};
static const struct tool_handler reader = {
    .name = "reader", .run = run_counted, .flags = TOOL_TAKES_SEAT | TOOL_READ_ONLY};

static void submit(struct tool_executor *executor, struct turn *turn, unsigned position,
                   const struct tool_handler *handler, const char *container)
{
    const struct tool_call_spec spec = {.handler = handler,
                                        .channel = turn->channel,
                                        .position = position,
                                        .call_id = "call",
                                        .run = "run",
                                        .thread = container,
                                        .containers = &containers};

    tool_executor_submit(executor, &spec);
}

static struct tool_executor *started(unsigned workers)
{
    atomic_store(&opened, 0);
    atomic_store(&closed, 0);
    atomic_store(&ran_before, 0);
    atomic_store(&most_inside, 0);
    return executor_started(workers, 0);
}

/* ---- Tests ---- */

TEST(calls_that_wait_for_their_container_hold_no_worker)
{
    enum { WAITING = 5 };
    struct tool_executor *executor = started(2);
    struct turn turn, other;

    turn_open(&turn, WAITING + 1);
    turn_open(&other, 1);
    for (unsigned i = 0; i <= WAITING; i++)
        submit(executor, &turn, i, &python, "a");
    turn_submit(executor, &other, 0, &handler_listed, "run", "other");
    turn_expect_result(&other, "other");
    assert_int_equal(atomic_load(&opened) - atomic_load(&closed), 1);
    door_open();
    for (unsigned i = 0; i <= WAITING; i++)
        turn_expect_end(&turn, ERR_OK);
    assert_int_equal(atomic_load(&most_inside), 1);
    turn_close(&other);
    turn_close(&turn);
    executor_stop(executor);
    assert_int_equal(atomic_load(&opened), atomic_load(&closed));
    assert_int_equal(atomic_load(&opened),
                     WAITING + 1);                 /* these handlers do not open it again */
    assert_int_equal(atomic_load(&ran_before), 1); /* what waited had changed nothing */
}

TEST(commands_of_a_container_run_side_by_side)
{
    enum { CALLS = 4 };
    struct tool_executor *executor = started(CALLS);
    struct turn turn;

    turn_open(&turn, CALLS);
    for (unsigned i = 0; i < CALLS; i++)
        submit(executor, &turn, i, &command, "a");
    assert_true(door_wait(&door.entered, containers.at_once, TAKER_PATIENCE));
    door_open();
    for (unsigned i = 0; i < CALLS; i++)
        turn_expect_end(&turn, ERR_OK);
    assert_int_equal(atomic_load(&most_inside), containers.at_once);
    turn_close(&turn);
    executor_stop(executor);
}

TEST(a_call_that_only_reads_has_changed_no_files)
{
    struct tool_executor *executor = started(2);
    struct turn turn;

    turn_open(&turn, 2);
    submit(executor, &turn, 0, &command, "a");
    submit(executor, &turn, 1, &reader, "a");
    assert_true(door_wait(&door.entered, 2, TAKER_PATIENCE));
    door_open();
    for (unsigned i = 0; i < 2; i++)
        turn_expect_end(&turn, ERR_OK);
    turn_close(&turn);
    executor_stop(executor);
    assert_int_equal(atomic_load(&closed), 2);
    assert_int_equal(atomic_load(&ran_before), 1);
}

TEST(a_call_without_a_container_runs_and_its_handler_learns_why)
{
    struct tool_executor *executor = started(1);
    struct turn turn;

    turn_open(&turn, 1);
    submit(executor, &turn, 0, &command, "");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    door_open();
    turn_expect_end(&turn, ERR_OK);
    turn_close(&turn);
    executor_stop(executor);
}

TEST(the_line_of_a_container_has_an_end)
{
    enum { CALLS = SEATS_LINE_LIMIT + 2 };
    struct tool_executor *executor = started(2);
    struct turn turn;

    turn_open(&turn, CALLS);
    for (unsigned i = 0; i < CALLS; i++)
        submit(executor, &turn, i, &python, "a");
    turn_expect_end(&turn, ERR_LIMIT);
    door_open();
    for (unsigned i = 0; i < CALLS - 1; i++)
        turn_expect_end(&turn, ERR_OK);
    turn_close(&turn);
    executor_stop(executor);
}

/* One worker is at the door. The other one has put down the second call when it runs the third. */
TEST(a_stop_ends_the_calls_that_wait_for_a_container)
{
    struct tool_executor *executor = started(2);
    struct turn turn;

    turn_open(&turn, 3);
    submit(executor, &turn, 0, &python, "a");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    submit(executor, &turn, 1, &python, "a");
    submit(executor, &turn, 2, &handler_listed, "a");
    turn_expect_result(&turn, "call");
    tool_executor_stop(executor, 0);
    turn_expect_end(&turn, ERR_CANCELLED);
    door_open();
    turn_expect_end(&turn, ERR_OK);
    turn_close(&turn);
    tool_executor_free(executor);
}

/* Three calls of one project are at the door as soon as they may be. One of another project does not wait for them. */
TEST(one_project_does_not_have_all_shared_workers)
{
    const struct tenant other = tenant_of_project("other");
    struct tool_executor *executor = tool_executor_new(2, 0);
    struct turn turn;
    struct tool_call_spec spec = {
        .handler = &handler_listed, .position = 3, .call_id = "call", .tenant = &other};

    door_reset();
    tool_executor_share(executor);
    assert_int_equal(tool_executor_start(executor, NULL), ERR_OK);
    turn_open(&turn, 4);
    spec.channel = turn.channel;
    for (unsigned i = 0; i < 3; i++)
        turn_submit(executor, &turn, i, &handler_deaf_for_ever, "run", "call");
    tool_executor_submit(executor, &spec);
    turn_expect_result(&turn, "call");
    tool_executor_stop(executor, 0);
    turn_expect_end(&turn, ERR_CANCELLED);
    turn_expect_end(&turn, ERR_CANCELLED);
    door_open();
    turn_expect_end(&turn, ERR_OK);
    turn_close(&turn);
    tool_executor_free(executor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_wait_for_their_container_hold_no_worker),
        cmocka_unit_test(commands_of_a_container_run_side_by_side),
        cmocka_unit_test(a_call_that_only_reads_has_changed_no_files),
        cmocka_unit_test(a_call_without_a_container_runs_and_its_handler_learns_why),
        cmocka_unit_test(the_line_of_a_container_has_an_end),
        cmocka_unit_test(a_stop_ends_the_calls_that_wait_for_a_container),
        cmocka_unit_test(one_project_does_not_have_all_shared_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
