#ifndef RUNNEL_CORE_RUN_APPROVAL_RUN_HOLD_H
#define RUNNEL_CORE_RUN_APPROVAL_RUN_HOLD_H

#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_hold.h -- a response that waits for answers with its request open: the channels "hold" and
 * "webhook".
 *
 * Its questions are stored as they are for any response, and are the run's own from the start
 * (store/approval_holds.h). It then does nothing until somebody has answered through
 * /v1/runnel/approvals: whoever stored an answer tells the loop, and a tool worker reads what was said,
 * because a loop does not wait for the store. When all questions are answered the calls go on, in the same
 * response. When its time is over, or the server is ending, what is open is left to the next request: then
 * it ends as a response that suspends. Those who stream it hear now and then that it waits.
 *
 * Only what lives no longer than its request is held: a response in the background and a run of a thread
 * suspend, and their answers start them again. So does one that comes when as many of its project are held
 * as may (slots.h): its questions wait for the next request.
 *
 * On the run's loop.
 */

/* `runnel.approval.hold_timeout_s`, at most. */
#define RUN_HOLD_SECONDS_LIMIT 3600

/* The stage in which a response waits for its answers. Those who have them walk the stages again; without
 * them, when the time is over, the questions are shown. */
enum stage_step run_hold_calls(struct run *run);

/* An answer was stored, perhaps. */
void run_hold_check(struct run *run);
/* It should not wait any longer. */
void run_hold_leave(struct run *run);
void run_stop_hold(struct run *run);

#endif
