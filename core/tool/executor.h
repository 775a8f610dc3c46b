#ifndef RUNNEL_CORE_TOOL_EXECUTOR_H
#define RUNNEL_CORE_TOOL_EXECUTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/tool/channel.h"
#include "core/tool/tool.h"

/*
 * executor.h -- the threads that run tools, several calls of several runs at once.
 *
 * A fixed pool of workers takes calls from one queue, in the order they came, one run not
 * before another: the queue alternates between runs, so that a run with a hundred calls does
 * not hold up a run with one. A worker runs one call to its end and puts its END into the
 * call's channel. Channels never wait for workers' queues, so the pool cannot deadlock.
 *
 * A call's time starts when its handler does, not while it waits for a worker. The deadline is
 * checked by tool_call_cancelled(); when a handler ignores it, the executor's timekeeper puts
 * the END (ERR_TIMEOUT) in its place, and what the handler says later goes nowhere. A handler
 * that still does not return costs its worker EXECUTOR_GRACE_NS after its time, which is then
 * replaced, up to EXECUTOR_STRAY_LIMIT. A call whose channel was closed has had its time when
 * others wait for its worker.
 */

#define EXECUTOR_STRAY_LIMIT 64
#define EXECUTOR_GRACE_NS    NS_PER_SECOND

struct tool_executor;

/* `default_timeout_seconds` is for handlers that name none; 0 lets them take for ever. */
struct tool_executor *tool_executor_new(unsigned workers, double default_timeout_seconds);

enum err_code tool_executor_start(struct tool_executor *executor, struct err *err) MUST_CHECK;

/* Lets calls that run end (their channels are closed by their owners first), ends what waits
 * with ERR_CANCELLED, joins the workers. Workers stuck in a handler are left behind after
 * `patience_ns`. Calls submitted later end at once. */
void tool_executor_stop(struct tool_executor *executor, uint64_t patience_ns);

/* After tool_executor_stop(), or when it never started. What was left behind keeps the memory
 * until it returns. */
void tool_executor_free(struct tool_executor *executor);

/* Everything one call needs; strings and JSON are copied, so that none is two threads'. */
struct tool_call_spec {
    const struct tool_handler *handler;
    struct tool_channel *channel; /* held by the call until its end */
    unsigned position;            /* in the model's order, from 0 */
    const char *call_id;
    const struct tenant *tenant; /* copied, its user too; NULL: an empty one */
    const char *run;
    const char *thread;
    const json_t *args;    /* object */
    const json_t *config;  /* object */
    const json_t *files;   /* array of strings */
    const json_t *context; /* object; NULL: an empty one */
    const json_t *skills;  /* array: skill.h */
    struct variable_access
        variables; /* neither scope nor memory: none. Memory is held, the store outlives the executor */
    bool resolved; /* there were references in the arguments */
    bool planning; /* only plan(); what it asks for comes as a stage */
};

/* Any thread. Never blocks. */
void tool_executor_submit(struct tool_executor *executor, const struct tool_call_spec *spec);

#endif
