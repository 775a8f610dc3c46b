#ifndef RUNNEL_TESTS_UNIT_HANDLERS_TOOL_RUN_H
#define RUNNEL_TESTS_UNIT_HANDLERS_TOOL_RUN_H

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/executor.h"
#include "handlers/handlers.h"
#include "tests/support/test.h"
#include "tests/unit/core/tool/taker.h"

/*
 * tool_run.h -- runs a handler as the server does: on a worker, through a channel.
 */

#define SAID_MAX 32

struct outcome {
    struct tool_output said[SAID_MAX]; /* without the END */
    size_t count;
    struct tool_output end;
    char *text; /* of the result */
};

static inline void outcome_clear(struct outcome *outcome)
{
    for (size_t i = 0; i < outcome->count; i++)
        tool_output_clear(&outcome->said[i]);
    tool_output_clear(&outcome->end);
    free(outcome->text);
}

#define AUTO_OUTCOME CLEANUP(outcome_clear) struct outcome

/* Runs one call to its end. `spec` has everything but the channel; NULL for a call without context. */
static inline struct outcome tool_run_spec(const struct tool_handler *handler, const char *args,
                                           const struct tool_call_spec *more)
{
    struct tool_executor *executor = tool_executor_new(1, 60);
    struct tool_call_spec spec = more ? *more : (struct tool_call_spec){.call_id = "call_1"};
    json_auto_t *object = json_parse_own(args);
    struct outcome outcome = {.count = 0};
    struct tool_output output;
    struct taker taker;

    taker_init(&taker);
    assert_int_equal(tool_executor_start(executor, NULL), ERR_OK);
    spec.handler = handler;
    spec.args = object;
    spec.channel = tool_channel_new(1, NULL, 4, taker_wake, &taker);
    tool_executor_submit(executor, &spec);
    while (taker_next(&taker, spec.channel, &output)) {
        if (output.kind == TOOL_OUTPUT_END)
            outcome.end = output;
        else if (outcome.count < SAID_MAX)
            outcome.said[outcome.count++] = output;
        else
            tool_output_clear(&output);
    }
    outcome.text = tool_result_text(&outcome.end.result);
    tool_channel_close(spec.channel);
    tool_executor_stop(executor, TAKER_PATIENCE);
    tool_executor_free(executor);
    tool_channel_release(spec.channel);
    taker_clear(&taker);
    return outcome;
}

static inline struct outcome tool_run(const struct tool_handler *handler, const char *args)
{
    return tool_run_spec(handler, args, NULL);
}

static inline void expect_tool_result(const struct tool_handler *handler, const char *args,
                                      const char *text)
{
    AUTO_OUTCOME outcome = tool_run(handler, args);

    if (outcome.end.rc)
        fail_msg("%s with %s: %s", handler->name, args, outcome.end.error.text);
    assert_string_equal(outcome.text, text);
}

/* The call must fail, with `words` in the error. */
static inline void expect_tool_error(const struct tool_handler *handler, const char *args,
                                     enum err_code rc, const char *words)
{
    AUTO_OUTCOME outcome = tool_run(handler, args);

    assert_int_equal(outcome.end.rc, rc);
    if (!strstr(outcome.end.error.text, words))
        fail_msg("'%s' does not say '%s'", outcome.end.error.text, words);
}

#endif
