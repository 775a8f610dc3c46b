#ifndef RUNNEL_CORE_RUN_CALLS_STAGES_H
#define RUNNEL_CORE_RUN_CALLS_STAGES_H

#include "core/run/turn/run.h"

/*
 * stages.h -- the stages that the calls of a turn pass, from the model's answer to its next
 * turn.
 *
 * There is one list of stages (stages.c). It is walked when the model has made the calls, when
 * a client has answered approvals, and when this node has recovered the run of another owner.
 * Each stage looks at each call and skips those that it has nothing to do for. So no stage is
 * applied to a call twice, whatever walk it is.
 *
 * All functions are called on the run's loop.
 */

enum stage_step {
    STAGE_PASSED, /* the next stage begins at once */
    STAGE_WAITS,  /* for the store, a worker or a person, and then calls run_pass_stage() */
};

/* Walks the list from the first stage, until a stage waits. */
void run_walk_stages(struct run *run);

/* Ends the current stage, and walks on with the next one. */
void run_pass_stage(struct run *run);

#endif
