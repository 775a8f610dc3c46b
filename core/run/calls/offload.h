#ifndef RUNNEL_CORE_RUN_CALLS_OFFLOAD_H
#define RUNNEL_CORE_RUN_CALLS_OFFLOAD_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/run/turn/run.h"
#include "core/tool/executor.h"

/*
 * offload.h -- work of a run on tool workers, whose results come back to the run's loop.
 *
 * A loop never waits. Work that reads the store or takes time goes to tool workers, as one job
 * or several at once: references in arguments, plans of tools, grants, answers to approvals. A
 * job is a tool handler of the server's own. It reports with one stage
 * (tool_call_emit_stage()), and ends.
 *
 * A run has at most one offload at a time. All functions are called on the run's loop.
 */

/* The result of a job. Borrowed during the call. */
struct offload_result {
    const json_t *fields;    /* of the stage that the job emitted; NULL: it emitted none */
    const struct err *error; /* NULL: the job succeeded */
};

typedef void offload_take(struct run *run, unsigned job, const struct offload_result *result);

/* Begins an offload of `jobs` jobs, at least one. The caller must then call
 * run_offload_job() once for each of them, from 0, before it returns to the loop. `take` is
 * called for each job as it ends, in any order, and `done` after the last one. Inside `done`
 * the offload is gone, and a new one may begin. */
void run_offload(struct run *run, unsigned jobs, offload_take *take,
                 void (*done)(struct run *run));

/* Submits a job. `spec` names the handler and what it needs; channel, position, tenant, run
 * and thread are filled in here. The executor copies it. */
void run_offload_job(struct run *run, unsigned job, struct tool_call_spec spec);

/* Takes the results that have arrived. Called when a worker has woken the run. */
void run_collect_offload(struct run *run);

/* Cancels the offload, if there is one: neither `take` nor `done` is called any more, and
 * late results of workers are dropped. */
void run_stop_offload(struct run *run);

#endif
