#ifndef RUNNEL_CORE_RUN_CALLS_STAGES_H
#define RUNNEL_CORE_RUN_CALLS_STAGES_H

#include "core/run/turn/run.h"

/*
 * stages.h -- what the calls of a turn pass through, from the model's request to its next turn.
 *
 * There is one list of stages (stages.c), and three ways to begin it: the model has just asked for
 * the calls, a client has answered approvals, or another owner has died. A stage looks at each call
 * and leaves alone what it has nothing to do with, so a call that has come further is not done
 * twice. On the run's loop.
 */

enum stage_step {
    STAGE_PASSED, /* the next stage begins */
    STAGE_WAITS,  /* for the store, a worker or a person: then run_pass_stage() */
};

/* Walks the list from its beginning. */
void run_walk_stages(struct run *run);

/* What the current stage waited for has happened. */
void run_pass_stage(struct run *run);

#endif
