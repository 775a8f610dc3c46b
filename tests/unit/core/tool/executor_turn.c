#include "tests/unit/core/tool/executor_turn.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

struct door door = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void door_reset(void)
{
    pthread_mutex_lock(&door.mutex);
    lock_cond_init(&door.changed);
    door.open = false;
    door.entered = door.left = door.calls_run = 0;
    door.order[0] = '\0';
    pthread_mutex_unlock(&door.mutex);
}

void door_open(void)
{
    pthread_mutex_lock(&door.mutex);
    door.open = true;
    pthread_cond_broadcast(&door.changed);
    pthread_mutex_unlock(&door.mutex);
}

bool door_wait(const unsigned *counter, unsigned count, uint64_t patience_ns)
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

/* Ignores cancelling: waits at the door, and reports afterwards that it was there. */
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

/* Adds its call id to the list. */
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

/* Waits until it is cancelled. */
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
        mem_printf("%s %s %s %s %s %s %s %s %s", tool_call_id(call),
                   tool_call_tenant(call)->project, tool_call_run(call), tool_call_thread(call),
                   tool_call_tenant(call)->user, args, config, files, context);

    (void)err;
    tool_result_add_text(ret_result, all);
    return ERR_OK;
}

const struct tool_handler handler_deaf = {
    .name = "deaf", .run = run_deaf, .timeout_seconds = 0.02};
const struct tool_handler handler_deaf_for_ever = {.name = "deaf_for_ever", .run = run_deaf};
const struct tool_handler handler_listed = {.name = "listed", .run = run_listed};
const struct tool_handler handler_patient = {
    .name = "patient", .run = run_patient, .timeout_seconds = 0.02};
const struct tool_handler handler_patient_for_ever = {.name = "patient_for_ever",
                                                      .run = run_patient};
const struct tool_handler handler_talkative = {.name = "talkative", .run = run_talkative};
const struct tool_handler handler_mute_failure = {.name = "mute", .run = run_mute_failure};
const struct tool_handler handler_emitter = {.name = "emitter", .run = run_emitter};
const struct tool_handler handler_echo = {.name = "echo", .run = run_echo};

/* ---- a turn: a channel and its taker ---- */

void turn_open(struct turn *turn, unsigned calls)
{
    taker_init(&turn->taker);
    turn->channel = tool_channel_new(calls, NULL, 2, taker_wake, &turn->taker);
}

void turn_close(struct turn *turn)
{
    tool_channel_close(turn->channel);
    tool_channel_release(turn->channel);
    taker_clear(&turn->taker);
}

void turn_submit(struct tool_executor *executor, struct turn *turn, unsigned position,
                 const struct tool_handler *handler, const char *run, const char *call_id)
{
    struct tool_call_spec spec = {.handler = handler,
                                  .channel = turn->channel,
                                  .position = position,
                                  .call_id = call_id,
                                  .run = run};

    tool_executor_submit(executor, &spec);
}

struct tool_output turn_wait_for_end(struct turn *turn)
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

void turn_expect_end(struct turn *turn, enum err_code rc)
{
    struct tool_output end = turn_wait_for_end(turn);

    assert_int_equal(end.rc, rc);
    assert_int_equal(end.error.text[0] != '\0', rc != ERR_OK);
    assert_int_equal(end.error.code, rc);
    tool_output_clear(&end);
}

void turn_expect_result(struct turn *turn, const char *words)
{
    struct tool_output end = turn_wait_for_end(turn);
    AUTO_FREE char *text = tool_result_text(&end.result);

    assert_int_equal(end.rc, ERR_OK);
    assert_string_equal(text, words);
    tool_output_clear(&end);
}

struct tool_executor *executor_started(unsigned workers, double timeout)
{
    struct tool_executor *executor = tool_executor_new(workers, timeout);

    door_reset();
    assert_int_equal(tool_executor_start(executor, NULL), ERR_OK);
    return executor;
}

void executor_stop(struct tool_executor *executor)
{
    door_open();
    tool_executor_stop(executor, TAKER_PATIENCE);
    tool_executor_free(executor);
}
