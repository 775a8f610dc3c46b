#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/unit/core/tool/executor_turn.h"

TEST(executor_ends_a_call_with_its_result)
{
    struct tool_executor *executor = executor_started(2, 0);
    struct turn turn;

    turn_open(&turn, 1);
    turn_submit(executor, &turn, 0, &handler_listed, "run_1", "call_1");
    turn_expect_result(&turn, "call_1");
    assert_true(tool_channel_finished(turn.channel));
    turn_close(&turn);
    executor_stop(executor);
}

TEST(executor_passes_the_whole_call_to_the_handler)
{
    struct tool_executor *executor = executor_started(1, 0);
    json_auto_t *args = json_build("{s:i}", "a", 1);
    json_auto_t *config = json_build("{s:s}", "type", "echo");
    json_auto_t *files = json_build("[s]", "file-1");
    json_auto_t *context = json_build("{s:s}", "trace", "t");
    const struct tenant tenant = {.project = "proj", .user = "user"};
    struct turn turn;

    turn_open(&turn, 2);
    tool_executor_submit(executor, &(struct tool_call_spec){.handler = &handler_echo,
                                                            .channel = turn.channel,
                                                            .call_id = "call",
                                                            .tenant = &tenant,
                                                            .run = "run",
                                                            .thread = "thread",
                                                            .args = args,
                                                            .config = config,
                                                            .files = files,
                                                            .context = context});
    turn_expect_result(&turn,
                       "call proj run thread user {\"a\":1} {\"type\":\"echo\"} [\"file-1\"] "
                       "{\"trace\":\"t\"}");
    turn_submit(executor, &turn, 1, &handler_echo, NULL, NULL);
    turn_expect_result(&turn, "     {} {} [] {}");
    turn_close(&turn);
    executor_stop(executor);
}

/* While its run continues and changes its own values. */
TEST(executor_calls_have_their_own_values)
{
    struct tool_executor *executor = executor_started(1, 0);
    json_auto_t *args = json_build("{s:i}", "a", 1);
    json_auto_t *context = json_build("{s:{s:s}}", "trace", "id", "t");
    struct turn turn;

    turn_open(&turn, 2);
    turn_submit(executor, &turn, 0, &handler_deaf_for_ever, NULL, NULL);
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    tool_executor_submit(executor, &(struct tool_call_spec){.handler = &handler_echo,
                                                            .channel = turn.channel,
                                                            .position = 1,
                                                            .args = args,
                                                            .context = context});
    json_object_clear(args);
    json_object_clear(json_object_get(context, "trace"));
    door_open();
    turn_expect_end(&turn, ERR_OK);
    turn_expect_result(&turn, "     {\"a\":1} {} [] {\"trace\":{\"id\":\"t\"}}");
    turn_close(&turn);
    executor_stop(executor);
}

static void expect_kind(struct turn *turn, enum tool_output_kind kind, const char *name,
                        const char *text)
{
    struct tool_output output;

    assert_true(taker_next(&turn->taker, turn->channel, &output));
    assert_int_equal(output.kind, kind);
    if (name)
        assert_string_equal(output.name, name);
    if (text) {
        assert_string_equal(output.text, text);
        assert_int_equal(output.length, strlen(text));
    }
    tool_output_clear(&output);
}

TEST(executor_delivers_what_a_handler_emits)
{
    struct tool_executor *executor = executor_started(1, 0);
    struct tool_output output;
    struct turn turn;

    turn_open(&turn, 2);
    /* The other call has the floor until this one has filled its room. */
    output = (struct tool_output){.kind = TOOL_OUTPUT_TEXT};
    assert_int_equal(tool_channel_put(turn.channel, 1, &output), ERR_OK);
    turn_submit(executor, &turn, 0, &handler_emitter, "run", "call");
    output = (struct tool_output){.kind = TOOL_OUTPUT_END};
    assert_int_equal(tool_channel_put(turn.channel, 1, &output), ERR_OK);
    expect_kind(&turn, TOOL_OUTPUT_TEXT, NULL, NULL);
    expect_kind(&turn, TOOL_OUTPUT_END, NULL, NULL);

    for (int i = 0; i < 4; i++) {
        assert_true(taker_next(&turn.taker, turn.channel, &output));
        switch (output.kind) {
        case TOOL_OUTPUT_STAGE:
            assert_string_equal(output.name, "searching");
            assert_int_equal(json_get_int(output.fields, "n", 0), 1);
            break;
        case TOOL_OUTPUT_DELTA:
            assert_string_equal(output.name, "code");
            assert_string_equal(output.text, "x\xEF\xBF\xBD");
            break;
        case TOOL_OUTPUT_METADATA:
            assert_string_equal(output.text, "title");
            assert_int_equal(json_get_int(output.fields, "done", 0), 3);
            break;
        case TOOL_OUTPUT_TEXT: assert_string_equal(output.text, "text"); break;
        case TOOL_OUTPUT_START:
        case TOOL_OUTPUT_END: fail(); break;
        }
        tool_output_clear(&output);
    }
    turn_expect_result(&turn, "result");
    turn_close(&turn);
    executor_stop(executor);
}

TEST(executor_alternates_between_runs)
{
    struct tool_executor *executor = executor_started(1, 0);
    struct turn turn;

    turn_open(&turn, 9);
    turn_submit(executor, &turn, 0, &handler_deaf_for_ever, "run_0", "first");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    turn_submit(executor, &turn, 1, &handler_listed, "run_a", "a1");
    turn_submit(executor, &turn, 2, &handler_listed, "run_a", "a2");
    turn_submit(executor, &turn, 3, &handler_listed, "run_a", "a3");
    turn_submit(executor, &turn, 4, &handler_listed, "run_a", "a4");
    turn_submit(executor, &turn, 5, &handler_listed, "run_b", "b1");
    turn_submit(executor, &turn, 6, &handler_listed, "run_c", "c1");
    turn_submit(executor, &turn, 7, &handler_listed, "run_c", "c2");
    turn_submit(executor, &turn, 8, &handler_listed, "run_b", "b2");
    door_open();
    for (int i = 0; i < 9; i++)
        turn_expect_end(&turn, ERR_OK);
    assert_string_equal(door.order, "a1 b1 c1 a2 b2 c2 a3 a4 ");
    turn_close(&turn);
    executor_stop(executor);
}

/* Peer fault A4: cancelling a run left its tools running. */
static void submit_for(struct tool_executor *executor, struct turn *turn, const char *project,
                       unsigned position, const char *call_id)
{
    struct tenant tenant = {.user = ""};

    (void)snprintf(tenant.project, sizeof(tenant.project), "%s", project);
    tool_executor_submit(executor, &(struct tool_call_spec){.handler = &handler_listed,
                                                            .channel = turn->channel,
                                                            .position = position,
                                                            .tenant = &tenant,
                                                            .run = call_id,
                                                            .call_id = call_id});
}

/* Forty calls of many runs wait for the only worker when another project's first call comes. */
TEST(executor_serves_another_project_after_one_call_of_a_flood)
{
    struct tool_executor *executor = executor_started(1, 0);
    struct turn turn;
    char id[8];

    turn_open(&turn, 43);
    turn_submit(executor, &turn, 0, &handler_deaf_for_ever, "run_0", "first");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    for (unsigned i = 1; i <= 40; i++) {
        (void)snprintf(id, sizeof(id), "a%u", i);
        submit_for(executor, &turn, "flood", i, id);
    }
    submit_for(executor, &turn, "other", 41, "b1");
    submit_for(executor, &turn, "other", 42, "b2");
    door_open();
    for (unsigned i = 0; i < 43; i++)
        turn_expect_end(&turn, ERR_OK);
    assert_memory_equal(door.order, "a1 b1 a2 b2 a3 ", 15);
    turn_close(&turn);
    executor_stop(executor);
}

TEST(executor_bella_A4_cancelling_reaches_the_handler)
{
    struct tool_executor *executor = executor_started(2, 0);
    struct turn cancelled, other;

    turn_open(&cancelled, 2);
    turn_open(&other, 2);
    turn_submit(executor, &cancelled, 0, &handler_patient_for_ever, "run_a", "a");
    turn_submit(executor, &cancelled, 1, &handler_patient_for_ever, "run_a", "a");
    assert_true(door_wait(&door.entered, 2, TAKER_PATIENCE));
    turn_submit(executor, &other, 0, &handler_listed, "run_b", "b");
    turn_submit(executor, &other, 1, &handler_listed, "run_b", "b");
    tool_channel_close(cancelled.channel);
    turn_expect_end(&other, ERR_OK);
    turn_expect_end(&other, ERR_OK);
    turn_close(&cancelled);
    turn_close(&other);
    executor_stop(executor);
}

TEST(executor_does_not_start_calls_of_a_closed_channel)
{
    struct tool_executor *executor = executor_started(1, 0);
    struct turn cancelled, other;

    turn_open(&cancelled, 1);
    turn_open(&other, 2);
    turn_submit(executor, &other, 0, &handler_deaf_for_ever, "run_a", "first");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    turn_submit(executor, &cancelled, 0, &handler_listed, "run_b", "never");
    turn_submit(executor, &other, 1, &handler_listed, "run_c", "last");
    turn_close(&cancelled);
    door_open();
    turn_expect_end(&other, ERR_OK);
    turn_expect_end(&other, ERR_OK);
    assert_string_equal(door.order, "last ");
    turn_close(&other);
    executor_stop(executor);
}

TEST(executor_fills_in_the_error_of_a_handler_without_one)
{
    struct tool_executor *executor = executor_started(1, 0);
    struct tool_output end;
    struct turn turn;

    turn_open(&turn, 1);
    turn_submit(executor, &turn, 0, &handler_mute_failure, "run", "call");
    end = turn_wait_for_end(&turn);
    assert_int_equal(end.rc, ERR_UPSTREAM);
    assert_string_equal(end.error.text, "mute failed and did not say why");
    assert_int_equal(end.result.count, 0);
    tool_output_clear(&end);
    turn_close(&turn);
    executor_stop(executor);
}

/* ---- many ---- */

enum { RUNS = 150, CALLS_OF_RUN = 4 };

/* Everything of `turns`, taken by one thread as a loop would. */
static void take_all(struct taker *taker, struct turn *turns, unsigned count,
                     unsigned *ret_words)
{
    unsigned finished = 0;

    while (finished < count) {
        struct tool_output output;
        bool any = false;

        finished = 0;
        for (unsigned i = 0; i < count; i++) {
            while (tool_channel_take(turns[i].channel, &output)) {
                *ret_words += output.kind == TOOL_OUTPUT_TEXT;
                any = true;
                tool_output_clear(&output);
            }
            finished += tool_channel_finished(turns[i].channel);
        }
        if (!any && finished < count)
            assert_true(taker_sleep(taker, TAKER_PATIENCE));
    }
}

/* Peer fault A9: tools and senders shared a pool, and 100 batches at once stood still for ever. */
TEST(executor_bella_A9_two_workers_finish_any_number_of_runs)
{
    struct tool_executor *executor = executor_started(2, 30);
    struct turn *turns = mem_new_array(struct turn, RUNS);
    struct taker taker;
    unsigned words = 0;

    taker_init(&taker);
    for (unsigned i = 0; i < RUNS; i++)
        turns[i].channel = tool_channel_new(CALLS_OF_RUN, NULL, 1, taker_wake, &taker);
    for (unsigned call = 0; call < CALLS_OF_RUN; call++)
        for (unsigned i = 0; i < RUNS; i++) {
            char run[16];

            (void)snprintf(run, sizeof(run), "run_%u", i);
            turn_submit(executor, &turns[i], call, &handler_talkative, run, "call");
        }
    take_all(&taker, turns, RUNS, &words);
    assert_int_equal(words, RUNS * CALLS_OF_RUN * 5);
    for (unsigned i = 0; i < RUNS; i++) {
        tool_channel_close(turns[i].channel);
        tool_channel_release(turns[i].channel);
    }
    free(turns);
    taker_clear(&taker);
    executor_stop(executor);
}

/* Peer fault A13: what the pool refused stayed queued for ever. */
TEST(executor_bella_A13_nothing_submitted_is_refused_or_forgotten)
{
    struct tool_executor *executor = tool_executor_new(1, 0);
    struct turn turn;

    door_reset();
    turn_open(&turn, 1000);
    for (unsigned i = 0; i < 1000; i++)
        turn_submit(executor, &turn, i, &handler_talkative, "run", "call");
    assert_int_equal(tool_executor_start(executor, NULL), ERR_OK);
    for (unsigned i = 0; i < 1000; i++)
        turn_expect_end(&turn, ERR_OK);
    turn_close(&turn);
    executor_stop(executor);
}

/* Peer fault B4: arguments that came in one piece reached the tool empty. */
TEST(executor_bella_B4_arguments_arrive_whole)
{
    struct tool_executor *executor = executor_started(1, 0);
    json_auto_t *args = NULL;
    struct turn turn;

    assert_int_equal(json_parse("{\"q\":{\"deep\":[1,2]}}", 20, &args, NULL), ERR_OK);
    turn_open(&turn, 1);
    tool_executor_submit(executor, &(struct tool_call_spec){.handler = &handler_echo,
                                                            .channel = turn.channel,
                                                            .args = args});
    turn_expect_result(&turn, "     {\"q\":{\"deep\":[1,2]}} {} [] {}");
    turn_close(&turn);
    executor_stop(executor);
}

TEST(executor_survives_cancelling_at_any_moment)
{
    struct tool_executor *executor = executor_started(3, 0);

    for (unsigned round = 0; round < 200; round++) {
        struct tool_output output;
        struct turn turn;

        turn_open(&turn, 4);
        for (unsigned i = 0; i < 4; i++)
            turn_submit(executor, &turn, i, &handler_talkative, "run", "call");
        for (unsigned i = 0; i < round % 16; i++)
            if (tool_channel_take(turn.channel, &output))
                tool_output_clear(&output);
        turn_close(&turn);
    }
    executor_stop(executor);
}

/* ---- stopping ---- */

TEST(executor_stop_ends_waiting_calls)
{
    struct tool_executor *executor = executor_started(1, 0);
    struct turn running, waiting;

    turn_open(&running, 1);
    turn_open(&waiting, 2);
    turn_submit(executor, &running, 0, &handler_patient_for_ever, "run_a", "a");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    turn_submit(executor, &waiting, 0, &handler_listed, "run_b", "b");
    tool_channel_close(running.channel);
    turn_submit(executor, &waiting, 1, &handler_deaf_for_ever, "run_b", "b");
    door_open();
    tool_executor_stop(executor, TAKER_PATIENCE);
    for (int i = 0; i < 2; i++) {
        struct tool_output end = turn_wait_for_end(&waiting);

        assert_true(end.rc == ERR_OK || end.rc == ERR_CANCELLED);
        tool_output_clear(&end);
    }
    turn_close(&running);
    turn_close(&waiting);
    tool_executor_free(executor);
}

TEST(executor_ends_calls_submitted_after_the_stop)
{
    struct tool_executor *executor = executor_started(1, 0);
    struct turn turn;

    turn_open(&turn, 1);
    tool_executor_stop(executor, TAKER_PATIENCE);
    turn_submit(executor, &turn, 0, &handler_listed, "run", "call");
    turn_expect_end(&turn, ERR_CANCELLED);
    turn_close(&turn);
    tool_executor_free(executor);
}

/* ---- faults ---- */

#ifdef RUNNEL_FAULTS
TEST(executor_ends_a_call_in_which_a_fault_happened)
{
    const char *const points[] = {"tool.before_run", "tool.run", "tool.after_run"};
    struct tool_executor *executor = executor_started(1, 0);

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        struct turn turn;

        door_reset();
        fault_arm(points[i], 2);
        turn_open(&turn, 3);
        turn_submit(executor, &turn, 0, &handler_listed, "run", "a");
        turn_submit(executor, &turn, 1, &handler_listed, "run", "b");
        turn_submit(executor, &turn, 2, &handler_listed, "run", "c");
        turn_expect_end(&turn, ERR_OK);
        turn_expect_end(&turn, ERR_INTERNAL);
        turn_expect_end(&turn, ERR_OK);
        assert_true(fault_fired());
        assert_string_equal(door.order,
                            strcmp(points[i], "tool.after_run") == 0 ? "a b c " : "a c ");
        turn_close(&turn);
    }
    fault_disarm();
    executor_stop(executor);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executor_ends_a_call_with_its_result),
        cmocka_unit_test(executor_passes_the_whole_call_to_the_handler),
        cmocka_unit_test(executor_calls_have_their_own_values),
        cmocka_unit_test(executor_delivers_what_a_handler_emits),
        cmocka_unit_test(executor_alternates_between_runs),
        cmocka_unit_test(executor_serves_another_project_after_one_call_of_a_flood),
        cmocka_unit_test(executor_bella_A4_cancelling_reaches_the_handler),
        cmocka_unit_test(executor_does_not_start_calls_of_a_closed_channel),
        cmocka_unit_test(executor_fills_in_the_error_of_a_handler_without_one),
        cmocka_unit_test(executor_bella_A9_two_workers_finish_any_number_of_runs),
        cmocka_unit_test(executor_bella_A13_nothing_submitted_is_refused_or_forgotten),
        cmocka_unit_test(executor_bella_B4_arguments_arrive_whole),
        cmocka_unit_test(executor_survives_cancelling_at_any_moment),
        cmocka_unit_test(executor_stop_ends_waiting_calls),
        cmocka_unit_test(executor_ends_calls_submitted_after_the_stop),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(executor_ends_a_call_in_which_a_fault_happened),
#endif
    };

    log_set_level(LOG_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
