#ifndef RUNNEL_CORE_RUN_CALLS_RUN_PLAN_H
#define RUNNEL_CORE_RUN_CALLS_RUN_PLAN_H

#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_plan.h -- tools that say what they are about to do before they do it.
 *
 * A tool with a plan() (tool.h) may find in its arguments something that needs a permission: a
 * path outside its directory, a command that changes something. The plan is made on a tool
 * worker, after references are resolved and before any question is asked, and has no effects.
 * If it needs a permission that no grant allows, the question about the call has the kind
 * "permission": one answer allows both the call and the permission.
 *
 * All functions are called on the run's loop.
 */

/* Owned by its call. */
struct call_plan {
    json_t *permission; /* {"type", "patterns", "title", "metadata"}; NULL: none is needed */
    json_t *preview;    /* for the person who is asked; NULL: nothing */
    struct err *error;  /* why the call is not executed, for the model; or NULL */
    json_t *args;       /* checked; until the worker has them */
    bool waiting;       /* for its worker */
    unsigned job;       /* of the offload, while it waits */
};
void call_plan_free(struct call_plan *plan);

/* The stage that plans the calls that are due and whose tool has a plan(). */
enum stage_step run_plan_calls(struct run *run);

/* The permission that the call still needs: borrowed. NULL if its plan needs none, or if
 * grants allow it (run_grants.h). */
const json_t *call_permission(const struct call *call);

/* What its plan shows to the person who is asked: borrowed, or NULL. */
const json_t *call_preview(const struct call *call);

#endif
