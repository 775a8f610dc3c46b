#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/tool/executor.h"
#include "tests/unit/core/tool/taker.h"

/* ---- a door that handlers stand at, and a list of who came by ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
    unsigned entered, left, calls_run;
    char order[256];
} door = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void door_reset(void)
{
    pthread_mutex_lock(&door.mutex);
    lock_cond_init(&door.changed);
    door.open = false;
    door.entered = door.left = door.calls_run = 0;
    door.order[0] = '\0';
    pthread_mutex_unlock(&door.mutex);
}

static void door_open(void)
{
    pthread_mutex_lock(&door.mutex);
    door.open = true;
    pthread_cond_broadcast(&door.changed);
    pthread_mutex_unlock(&door.mutex);
}

/* Waits until `count` are or were inside; false when they did not come in time. */
static bool door_wait(const unsigned *counter, unsigned count, uint64_t patience_ns)
{
    uint64_t until = clock_mono_ns() + patience_ns;
    struct timespec deadline = {.tv_sec = (time_t)(until / NS_PER_SECOND),
                                .tv_nsec = (long)(until % NS_PER_SECOND)};
    bool reached;
    int rc = 0;

    pthread_mutex_lock(&door.mutex);
    while (*counter < count && !rc)
        rc = pthread_cond_timedwait(&door.changed, &door.mutex, &deadline);
    reached = *counter >= count;
    pthread_mutex_unlock(&door.mutex);
    return reached;
}

/* ---- handlers ---- */

/* Deaf: waits at the door, whatever happens. Says afterwards that it was there. */
static enum err_code run_deaf(struct tool_call *call, struct tool_result *ret_result,
                              struct err *err)
{
    enum err_code rc;

    (void)err;
    pthread_mutex_lock(&door.mutex);
    door.entered++;
    pthread_cond_broadcast(&door.changed);
    while (!door.open)
        pthread_cond_wait(&door.changed, &door.mutex);
    pthread_mutex_unlock(&door.mutex);

    rc = tool_call_emit_text(call, "late", 4);
    tool_call_metadata(call, "late", NULL);
    tool_result_add_text(ret_result, "late");

    pthread_mutex_lock(&door.mutex);
    door.left++;
    pthread_cond_broadcast(&door.changed);
    pthread_mutex_unlock(&door.mutex);
    return rc;
}

/* Leaves its call id in the list. */
static enum err_code run_listed(struct tool_call *call, struct tool_result *ret_result,
                                struct err *err)
{
    (void)err;
    pthread_mutex_lock(&door.mutex);
    (void)snprintf(door.order + strlen(door.order), sizeof(door.order) - strlen(door.order),
                   "%s ", tool_call_id(call));
    door.calls_run++;
    pthread_cond_broadcast(&door.changed);
    pthread_mutex_unlock(&door.mutex);
    tool_result_add_text(ret_result, tool_call_id(call));
    return ERR_OK;
}

/* Waits for ever, but listens. */
static enum err_code run_patient(struct tool_call *call, struct tool_result *ret_result,
                                 struct err *err)
{
    (void)ret_result;
    (void)err;
    pthread_mutex_lock(&door.mutex);
    door.entered++;
    pthread_cond_broadcast(&door.changed);
    pthread_mutex_unlock(&door.mutex);
    while (!tool_call_wait(call, 3600 * NS_PER_SECOND))
        ;
    return ERR_CANCELLED;
}

static enum err_code run_talkative(struct tool_call *call, struct tool_result *ret_result,
                                   struct err *err)
{
    (void)err;
    for (int i = 0; i < 5; i++) {
        enum err_code rc = tool_call_emit_text(call, "word ", 5);

        if (rc)
            return rc;
    }
    tool_result_add_text(ret_result, "done");
    return ERR_OK;
}

static enum err_code run_mute_failure(struct tool_call *call, struct tool_result *ret_result,
                                      struct err *err)
{
    (void)call;
    (void)err;
    tool_result_add_text(ret_result, "not to be seen");
    return ERR_UPSTREAM;
}

static enum err_code run_emitter(struct tool_call *call, struct tool_result *ret_result,
                                 struct err *err)
{
    enum err_code rc = tool_call_emit_stage(call, "searching", json_build("{s:i}", "n", 1));

    (void)err;
    if (!rc)
        rc = tool_call_emit_delta(call, "code", "x\xff", 2);
    tool_call_metadata(call, "title", json_build("{s:i}", "done", 3));
    if (!rc)
        rc = tool_call_emit_text(call, "text", 4);
    tool_result_add_text(ret_result, "result");
    return rc;
}

static enum err_code run_echo(struct tool_call *call, struct tool_result *ret_result,
                              struct err *err)
{
    AUTO_FREE char *args = json_text(tool_call_args(call));
    AUTO_FREE char *config = json_text(tool_call_config(call));
    AUTO_FREE char *files = json_text(tool_call_files(call));
    AUTO_FREE char *context = json_text(tool_call_context(call));
    AUTO_FREE char *all =
        mem_printf("%s %s %s %s %s %s %s %s %s", tool_call_id(call), tool_call_project(call),
                   tool_call_run(call), tool_call_thread(call), tool_call_user(call), args,
                   config, files, context);

    (void)err;
    tool_result_add_text(ret_result, all);
    return ERR_OK;
}

static const struct tool_handler deaf = {
    .name = "deaf", .run = run_deaf, .timeout_seconds = 0.02};
static const struct tool_handler deaf_for_ever = {.name = "deaf_for_ever", .run = run_deaf};
static const struct tool_handler listed = {.name = "listed", .run = run_listed};
static const struct tool_handler patient = {
    .name = "patient", .run = run_patient, .timeout_seconds = 0.02};
static const struct tool_handler patient_for_ever = {.name = "patient_for_ever",
                                                     .run = run_patient};
static const struct tool_handler talkative = {.name = "talkative", .run = run_talkative};
static const struct tool_handler mute_failure = {.name = "mute", .run = run_mute_failure};
static const struct tool_handler emitter = {.name = "emitter", .run = run_emitter};
static const struct tool_handler echo = {.name = "echo", .run = run_echo};

/* ---- a turn: a channel and its taker ---- */

struct turn {
    struct taker taker;
    struct tool_channel *channel;
};

static void turn_open(struct turn *turn, unsigned calls)
{
    taker_init(&turn->taker);
    turn->channel = tool_channel_new(calls, NULL, 2, taker_wake, &turn->taker);
}

static void turn_close(struct turn *turn)
{
    tool_channel_close(turn->channel);
    tool_channel_release(turn->channel);
    taker_clear(&turn->taker);
}

static void submit(struct tool_executor *executor, struct turn *turn, unsigned position,
                   const struct tool_handler *handler, const char *run, const char *call_id)
{
    struct tool_call_spec spec = {.handler = handler,
                                  .channel = turn->channel,
                                  .position = position,
                                  .call_id = call_id,
                                  .run = run};

    tool_executor_submit(executor, &spec);
}

/* Takes everything; the END that comes is the caller's to clear. */
static struct tool_output wait_for_end(struct turn *turn)
{
    struct tool_output output;

    while (taker_next(&turn->taker, turn->channel, &output)) {
        if (output.kind == TOOL_OUTPUT_END)
            return output;
        tool_output_clear(&output);
    }
    fail_msg("all calls have ended");
    return output;
}

static void expect_end(struct turn *turn, enum err_code rc)
{
    struct tool_output end = wait_for_end(turn);

    assert_int_equal(end.rc, rc);
    assert_int_equal(end.error.text[0] != '\0', rc != ERR_OK);
    assert_int_equal(end.error.code, rc);
    tool_output_clear(&end);
}

static void expect_result(struct turn *turn, const char *words)
{
    struct tool_output end = wait_for_end(turn);
    AUTO_FREE char *text = tool_result_text(&end.result);

    assert_int_equal(end.rc, ERR_OK);
    assert_string_equal(text, words);
    tool_output_clear(&end);
}

static struct tool_executor *started(unsigned workers, double timeout)
{
    struct tool_executor *executor = tool_executor_new(workers, timeout);

    door_reset();
    assert_int_equal(tool_executor_start(executor, NULL), ERR_OK);
    return executor;
}

static void stop(struct tool_executor *executor)
{
    door_open();
    tool_executor_stop(executor, TAKER_PATIENCE);
    tool_executor_free(executor);
}

/* ---- the tests ---- */

static void executor_ends_a_call_with_its_result(void **state)
{
    struct tool_executor *executor = started(2, 0);
    struct turn turn;

    (void)state;
    turn_open(&turn, 1);
    submit(executor, &turn, 0, &listed, "run_1", "call_1");
    expect_result(&turn, "call_1");
    assert_true(tool_channel_finished(turn.channel));
    turn_close(&turn);
    stop(executor);
}

static void executor_passes_on_who_asked_and_for_what(void **state)
{
    struct tool_executor *executor = started(1, 0);
    json_auto_t *args = json_build("{s:i}", "a", 1);
    json_auto_t *config = json_build("{s:s}", "type", "echo");
    json_auto_t *files = json_build("[s]", "file-1");
    json_auto_t *context = json_build("{s:s}", "trace", "t");
    struct turn turn;

    (void)state;
    turn_open(&turn, 2);
    tool_executor_submit(executor, &(struct tool_call_spec){.handler = &echo,
                                                            .channel = turn.channel,
                                                            .call_id = "call",
                                                            .project = "proj",
                                                            .run = "run",
                                                            .thread = "thread",
                                                            .user = "user",
                                                            .args = args,
                                                            .config = config,
                                                            .files = files,
                                                            .context = context});
    expect_result(&turn, "call proj run thread user {\"a\":1} {\"type\":\"echo\"} [\"file-1\"] "
                         "{\"trace\":\"t\"}");
    submit(executor, &turn, 1, &echo, NULL, NULL);
    expect_result(&turn, "     {} {} [] {}");
    turn_close(&turn);
    stop(executor);
}

/* While its run goes on and changes what is its own. */
static void executor_calls_have_their_own_values(void **state)
{
    struct tool_executor *executor = started(1, 0);
    json_auto_t *args = json_build("{s:i}", "a", 1);
    json_auto_t *context = json_build("{s:{s:s}}", "trace", "id", "t");
    struct turn turn;

    (void)state;
    turn_open(&turn, 2);
    submit(executor, &turn, 0, &deaf_for_ever, NULL, NULL);
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    tool_executor_submit(executor, &(struct tool_call_spec){.handler = &echo,
                                                            .channel = turn.channel,
                                                            .position = 1,
                                                            .args = args,
                                                            .context = context});
    json_object_clear(args);
    json_object_clear(json_object_get(context, "trace"));
    door_open();
    expect_end(&turn, ERR_OK);
    expect_result(&turn, "     {\"a\":1} {} [] {\"trace\":{\"id\":\"t\"}}");
    turn_close(&turn);
    stop(executor);
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

static void executor_delivers_what_a_handler_emits(void **state)
{
    struct tool_executor *executor = started(1, 0);
    struct tool_output output;
    struct turn turn;

    (void)state;
    turn_open(&turn, 2);
    /* The other call has the floor until this one has said everything it has room for. */
    output = (struct tool_output){.kind = TOOL_OUTPUT_TEXT};
    assert_int_equal(tool_channel_put(turn.channel, 1, &output), ERR_OK);
    submit(executor, &turn, 0, &emitter, "run", "call");
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
        case TOOL_OUTPUT_END: fail(); break;
        }
        tool_output_clear(&output);
    }
    expect_result(&turn, "result");
    turn_close(&turn);
    stop(executor);
}

static void executor_alternates_between_runs(void **state)
{
    struct tool_executor *executor = started(1, 0);
    struct turn turn;

    (void)state;
    turn_open(&turn, 9);
    submit(executor, &turn, 0, &deaf_for_ever, "run_0", "first");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    submit(executor, &turn, 1, &listed, "run_a", "a1");
    submit(executor, &turn, 2, &listed, "run_a", "a2");
    submit(executor, &turn, 3, &listed, "run_a", "a3");
    submit(executor, &turn, 4, &listed, "run_a", "a4");
    submit(executor, &turn, 5, &listed, "run_b", "b1");
    submit(executor, &turn, 6, &listed, "run_c", "c1");
    submit(executor, &turn, 7, &listed, "run_c", "c2");
    submit(executor, &turn, 8, &listed, "run_b", "b2");
    door_open();
    for (int i = 0; i < 9; i++)
        expect_end(&turn, ERR_OK);
    assert_string_equal(door.order, "a1 b1 c1 a2 b2 c2 a3 a4 ");
    turn_close(&turn);
    stop(executor);
}

static void executor_ends_a_call_that_listens_at_its_deadline(void **state)
{
    struct tool_executor *executor = started(1, 0);
    struct turn turn;

    (void)state;
    turn_open(&turn, 2);
    submit(executor, &turn, 0, &patient, "run", "call");
    expect_end(&turn, ERR_TIMEOUT);
    submit(executor, &turn, 1, &listed, "run", "next");
    expect_result(&turn, "next");
    turn_close(&turn);
    stop(executor);
}

static void executor_has_a_deadline_for_handlers_that_name_none(void **state)
{
    struct tool_executor *executor = started(1, 0.02);
    struct turn turn;

    (void)state;
    turn_open(&turn, 1);
    submit(executor, &turn, 0, &patient_for_ever, "run", "call");
    expect_end(&turn, ERR_TIMEOUT);
    turn_close(&turn);
    stop(executor);
}

/* Peer fault A15: tools had no timeout, and one that hung held its run for ever. */
static void executor_bella_A15_a_stubborn_handler_is_ended_for(void **state)
{
    struct tool_executor *executor = started(1, 0);
    struct tool_output output;
    struct turn turn;

    (void)state;
    turn_open(&turn, 1);
    submit(executor, &turn, 0, &deaf, "run", "call");
    expect_end(&turn, ERR_TIMEOUT);
    assert_true(tool_channel_finished(turn.channel));
    door_open();
    assert_true(door_wait(&door.left, 1, TAKER_PATIENCE));
    assert_false(tool_channel_take(turn.channel, &output));
    turn_close(&turn);
    stop(executor);
}

static void executor_replaces_workers_that_do_not_return(void **state)
{
    struct tool_executor *executor = started(2, 0);
    struct turn turn;

    (void)state;
    turn_open(&turn, 3);
    submit(executor, &turn, 0, &deaf, "run_a", "a");
    submit(executor, &turn, 1, &deaf, "run_b", "b");
    submit(executor, &turn, 2, &listed, "run_c", "c");
    expect_end(&turn, ERR_TIMEOUT);
    expect_end(&turn, ERR_TIMEOUT);
    expect_result(&turn, "c");
    turn_close(&turn);
    stop(executor);
}

static void executor_replaces_no_more_than_the_limit(void **state)
{
    enum { POOL = 70, CALLS = 3 * POOL };
    struct tool_executor *executor = started(POOL, 0);
    struct turn turn;

    (void)state;
    turn_open(&turn, CALLS);
    for (unsigned i = 0; i < CALLS; i++)
        submit(executor, &turn, i, &deaf, "run", "call");
    for (unsigned i = 0; i < POOL + EXECUTOR_STRAY_LIMIT; i++)
        expect_end(&turn, ERR_TIMEOUT);
    /* One more would have entered one grace later. */
    assert_false(door_wait(&door.entered, POOL + EXECUTOR_STRAY_LIMIT + 1,
                           EXECUTOR_GRACE_NS + EXECUTOR_GRACE_NS / 4));
    door_open();
    for (unsigned i = POOL + EXECUTOR_STRAY_LIMIT; i < CALLS; i++) {
        struct tool_output end = wait_for_end(&turn);

        tool_output_clear(&end);
    }
    turn_close(&turn);
    stop(executor);
}

static void executor_takes_the_worker_of_a_closed_call_when_others_wait(void **state)
{
    struct tool_executor *executor = started(1, 0);
    struct turn cancelled, other;

    (void)state;
    turn_open(&cancelled, 1);
    turn_open(&other, 1);
    submit(executor, &cancelled, 0, &deaf_for_ever, "run_a", "a");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    submit(executor, &other, 0, &listed, "run_b", "b");
    /* Nobody else comes in; meanwhile the timekeeper has looked and found nothing to do. */
    assert_false(door_wait(&door.entered, 2, 50 * NS_PER_MS));
    tool_channel_close(cancelled.channel);
    expect_result(&other, "b");
    turn_close(&cancelled);
    turn_close(&other);
    stop(executor);
}

/* Peer fault A4: cancelling a run left its tools running. */
static void executor_bella_A4_cancelling_reaches_the_handler(void **state)
{
    struct tool_executor *executor = started(2, 0);
    struct turn cancelled, other;

    (void)state;
    turn_open(&cancelled, 2);
    turn_open(&other, 2);
    submit(executor, &cancelled, 0, &patient_for_ever, "run_a", "a");
    submit(executor, &cancelled, 1, &patient_for_ever, "run_a", "a");
    assert_true(door_wait(&door.entered, 2, TAKER_PATIENCE));
    submit(executor, &other, 0, &listed, "run_b", "b");
    submit(executor, &other, 1, &listed, "run_b", "b");
    tool_channel_close(cancelled.channel);
    expect_end(&other, ERR_OK);
    expect_end(&other, ERR_OK);
    turn_close(&cancelled);
    turn_close(&other);
    stop(executor);
}

static void executor_does_not_start_calls_of_a_closed_channel(void **state)
{
    struct tool_executor *executor = started(1, 0);
    struct turn cancelled, other;

    (void)state;
    turn_open(&cancelled, 1);
    turn_open(&other, 2);
    submit(executor, &other, 0, &deaf_for_ever, "run_a", "first");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    submit(executor, &cancelled, 0, &listed, "run_b", "never");
    submit(executor, &other, 1, &listed, "run_c", "last");
    turn_close(&cancelled);
    door_open();
    expect_end(&other, ERR_OK);
    expect_end(&other, ERR_OK);
    assert_string_equal(door.order, "last ");
    turn_close(&other);
    stop(executor);
}

static void executor_says_something_for_a_handler_that_fails_without_a_word(void **state)
{
    struct tool_executor *executor = started(1, 0);
    struct tool_output end;
    struct turn turn;

    (void)state;
    turn_open(&turn, 1);
    submit(executor, &turn, 0, &mute_failure, "run", "call");
    end = wait_for_end(&turn);
    assert_int_equal(end.rc, ERR_UPSTREAM);
    assert_string_equal(end.error.text, "mute failed and did not say why");
    assert_int_equal(end.result.count, 0);
    tool_output_clear(&end);
    turn_close(&turn);
    stop(executor);
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
static void executor_bella_A9_any_number_of_runs_gets_done_by_two_workers(void **state)
{
    struct tool_executor *executor = started(2, 30);
    struct turn *turns = mem_new_array(struct turn, RUNS);
    struct taker taker;
    unsigned words = 0;

    (void)state;
    taker_init(&taker);
    for (unsigned i = 0; i < RUNS; i++)
        turns[i].channel = tool_channel_new(CALLS_OF_RUN, NULL, 1, taker_wake, &taker);
    for (unsigned call = 0; call < CALLS_OF_RUN; call++)
        for (unsigned i = 0; i < RUNS; i++) {
            char run[16];

            (void)snprintf(run, sizeof(run), "run_%u", i);
            submit(executor, &turns[i], call, &talkative, run, "call");
        }
    take_all(&taker, turns, RUNS, &words);
    assert_int_equal(words, RUNS * CALLS_OF_RUN * 5);
    for (unsigned i = 0; i < RUNS; i++) {
        tool_channel_close(turns[i].channel);
        tool_channel_release(turns[i].channel);
    }
    free(turns);
    taker_clear(&taker);
    stop(executor);
}

/* Peer fault A13: what the pool refused stayed queued for ever. */
static void executor_bella_A13_nothing_submitted_is_refused_or_forgotten(void **state)
{
    struct tool_executor *executor = tool_executor_new(1, 0);
    struct turn turn;

    (void)state;
    door_reset();
    turn_open(&turn, 1000);
    for (unsigned i = 0; i < 1000; i++)
        submit(executor, &turn, i, &talkative, "run", "call");
    assert_int_equal(tool_executor_start(executor, NULL), ERR_OK);
    for (unsigned i = 0; i < 1000; i++)
        expect_end(&turn, ERR_OK);
    turn_close(&turn);
    stop(executor);
}

/* Peer fault B4: arguments that came in one piece reached the tool empty. */
static void executor_bella_B4_arguments_arrive_whole(void **state)
{
    struct tool_executor *executor = started(1, 0);
    json_auto_t *args = NULL;
    struct turn turn;

    (void)state;
    assert_int_equal(json_parse("{\"q\":{\"deep\":[1,2]}}", 20, &args, NULL), ERR_OK);
    turn_open(&turn, 1);
    tool_executor_submit(
        executor,
        &(struct tool_call_spec){.handler = &echo, .channel = turn.channel, .args = args});
    expect_result(&turn, "     {\"q\":{\"deep\":[1,2]}} {} [] {}");
    turn_close(&turn);
    stop(executor);
}

static void executor_survives_cancelling_at_any_moment(void **state)
{
    struct tool_executor *executor = started(3, 0);

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct tool_output output;
        struct turn turn;

        turn_open(&turn, 4);
        for (unsigned i = 0; i < 4; i++)
            submit(executor, &turn, i, &talkative, "run", "call");
        for (unsigned i = 0; i < round % 16; i++)
            if (tool_channel_take(turn.channel, &output))
                tool_output_clear(&output);
        turn_close(&turn);
    }
    stop(executor);
}

/* ---- stopping ---- */

static void executor_stop_ends_what_waits(void **state)
{
    struct tool_executor *executor = started(1, 0);
    struct turn running, waiting;

    (void)state;
    turn_open(&running, 1);
    turn_open(&waiting, 2);
    submit(executor, &running, 0, &patient_for_ever, "run_a", "a");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    submit(executor, &waiting, 0, &listed, "run_b", "b");
    tool_channel_close(running.channel);
    submit(executor, &waiting, 1, &deaf_for_ever, "run_b", "b");
    door_open();
    tool_executor_stop(executor, TAKER_PATIENCE);
    for (int i = 0; i < 2; i++) {
        struct tool_output end = wait_for_end(&waiting);

        assert_true(end.rc == ERR_OK || end.rc == ERR_CANCELLED);
        tool_output_clear(&end);
    }
    turn_close(&running);
    turn_close(&waiting);
    tool_executor_free(executor);
}

static void executor_ends_at_once_what_comes_after_the_stop(void **state)
{
    struct tool_executor *executor = started(1, 0);
    struct turn turn;

    (void)state;
    turn_open(&turn, 1);
    tool_executor_stop(executor, TAKER_PATIENCE);
    submit(executor, &turn, 0, &listed, "run", "call");
    expect_end(&turn, ERR_CANCELLED);
    turn_close(&turn);
    tool_executor_free(executor);
}

static void executor_that_never_started_ends_its_calls(void **state)
{
    struct tool_executor *executor = tool_executor_new(1, 0);
    struct turn turn;

    (void)state;
    turn_open(&turn, 1);
    submit(executor, &turn, 0, &listed, "run", "call");
    tool_executor_free(executor);
    expect_end(&turn, ERR_CANCELLED);
    turn_close(&turn);
}

static void executor_leaves_a_stuck_handler_behind(void **state)
{
    struct tool_executor *executor = started(2, 0);
    struct turn turn;

    (void)state;
    turn_open(&turn, 1);
    submit(executor, &turn, 0, &deaf_for_ever, "run", "call");
    assert_true(door_wait(&door.entered, 1, TAKER_PATIENCE));
    tool_channel_close(turn.channel);
    tool_executor_stop(executor, NS_PER_MS);
    tool_executor_free(executor);
    turn_close(&turn);
    door_open();
    assert_true(door_wait(&door.left, 1, TAKER_PATIENCE));
}

/* ---- faults ---- */

#ifdef RUNNEL_FAULTS
static void executor_ends_a_call_in_which_a_fault_happened(void **state)
{
    const char *const points[] = {"tool.before_run", "tool.run", "tool.after_run"};
    struct tool_executor *executor = started(1, 0);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        struct turn turn;

        door_reset();
        fault_arm(points[i], 2);
        turn_open(&turn, 3);
        submit(executor, &turn, 0, &listed, "run", "a");
        submit(executor, &turn, 1, &listed, "run", "b");
        submit(executor, &turn, 2, &listed, "run", "c");
        expect_end(&turn, ERR_OK);
        expect_end(&turn, ERR_INTERNAL);
        expect_end(&turn, ERR_OK);
        assert_true(fault_fired());
        assert_string_equal(door.order,
                            strcmp(points[i], "tool.after_run") == 0 ? "a b c " : "a c ");
        turn_close(&turn);
    }
    fault_disarm();
    stop(executor);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executor_ends_a_call_with_its_result),
        cmocka_unit_test(executor_passes_on_who_asked_and_for_what),
        cmocka_unit_test(executor_calls_have_their_own_values),
        cmocka_unit_test(executor_delivers_what_a_handler_emits),
        cmocka_unit_test(executor_alternates_between_runs),
        cmocka_unit_test(executor_ends_a_call_that_listens_at_its_deadline),
        cmocka_unit_test(executor_has_a_deadline_for_handlers_that_name_none),
        cmocka_unit_test(executor_bella_A15_a_stubborn_handler_is_ended_for),
        cmocka_unit_test(executor_replaces_workers_that_do_not_return),
        cmocka_unit_test(executor_replaces_no_more_than_the_limit),
        cmocka_unit_test(executor_takes_the_worker_of_a_closed_call_when_others_wait),
        cmocka_unit_test(executor_bella_A4_cancelling_reaches_the_handler),
        cmocka_unit_test(executor_does_not_start_calls_of_a_closed_channel),
        cmocka_unit_test(executor_says_something_for_a_handler_that_fails_without_a_word),
        cmocka_unit_test(executor_bella_A9_any_number_of_runs_gets_done_by_two_workers),
        cmocka_unit_test(executor_bella_A13_nothing_submitted_is_refused_or_forgotten),
        cmocka_unit_test(executor_bella_B4_arguments_arrive_whole),
        cmocka_unit_test(executor_survives_cancelling_at_any_moment),
        cmocka_unit_test(executor_stop_ends_what_waits),
        cmocka_unit_test(executor_ends_at_once_what_comes_after_the_stop),
        cmocka_unit_test(executor_that_never_started_ends_its_calls),
        cmocka_unit_test(executor_leaves_a_stuck_handler_behind),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(executor_ends_a_call_in_which_a_fault_happened),
#endif
    };

    log_set_level(LOG_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
