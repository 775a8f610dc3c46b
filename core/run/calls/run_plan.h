#ifndef RUNNEL_CORE_RUN_CALLS_RUN_PLAN_H
#define RUNNEL_CORE_RUN_CALLS_RUN_PLAN_H

#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_plan.h -- tools that say what they are about to do before they do it; on the run's loop.
 *
 * A tool with a plan() may find in its arguments what somebody has to allow: a place outside of what it
 * may touch, a command that changes something. It plans on a tool worker, after references were resolved
 * and before anybody is asked anything, and without any effect. What it asks for then becomes the
 * question about its call, of kind "permission": one answer allows the call and what it asks for.
 */

struct call_plan {
    json_t
        *permission; /* {"type", "patterns", "title", "metadata"}; NULL: nothing is asked for */
    struct err *error; /* why the call is not made: told to the model; or NULL */
    json_t *args;      /* as they were checked; until the worker has them */
    bool waiting;      /* for its worker */
    unsigned job;      /* of the offload, meanwhile */
};
void call_plan_free(struct call_plan *plan);

/* The stage that has calls planned which are due and can be. */
enum stage_step run_plan_calls(struct run *run);

/* What a call asks for that nobody has allowed; NULL for nothing. */
const json_t *call_permission(const struct call *call);

#endif
