#ifndef RUNNEL_CORE_RUN_CALLS_OFFLOAD_H
#define RUNNEL_CORE_RUN_CALLS_OFFLOAD_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/run/turn/run.h"
#include "core/tool/executor.h"

/*
 * offload.h -- work that a run has done elsewhere, and whose results come back to its loop.
 *
 * A loop never waits. What reads the store, or takes its time, goes to tool workers as one job or
 * several at once: references in arguments, plans of tools, grants, answers to approvals. A job is
 * an internal handler. It reports by one stage, and ends. The tool executor gives every run its
 * share of the workers, ends jobs that take too long, and survives a handler that never returns.
 *
 * A run has one offload at a time. run_stop_offload() cancels it: no function of it is called any
 * more, and the workers' results go nowhere. On the run's loop.
 */

/* What a job came to. Borrowed for the call. */
struct offload_result {
    const json_t *fields;    /* of its last stage; NULL: it has reported nothing */
    const struct err *error; /* NULL: it has succeeded */
};

typedef void offload_take(struct run *run, unsigned job, const struct offload_result *result);

/* Begins with `jobs` jobs, at least one, which run_offload_job() has to name at once. `take` is
 * called once for each as it ends, then `done`. */
void run_offload(struct run *run, unsigned jobs, offload_take *take,
                 void (*done)(struct run *run));

/* `spec` names the handler and what it needs; the channel, the position and the run are filled in
 * here. */
void run_offload_job(struct run *run, unsigned job, struct tool_call_spec spec);

/* The workers' wake-up: takes what has come. */
void run_collect_offload(struct run *run);

/* Nothing is under way afterwards. */
void run_stop_offload(struct run *run);

#endif
