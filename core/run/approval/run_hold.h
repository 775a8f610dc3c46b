#ifndef RUNNEL_CORE_RUN_APPROVAL_RUN_HOLD_H
#define RUNNEL_CORE_RUN_APPROVAL_RUN_HOLD_H

#include "core/run/calls/stages.h"
#include "core/run/turn/run.h"

/*
 * run_hold.h -- a response that waits for approvals with its request open: the approval
 * channels "hold" and "webhook".
 *
 * The response stores its questions and waits for answers through /v1/runnel/approvals. Its
 * client stays connected, and a stream gets a notice from time to time. When all questions are
 * answered, the calls continue in the same response. When `hold_timeout_s` is over, or the
 * server drains, the response ends with its questions open, like a response that suspends. The
 * next request can then answer them.
 *
 * Only a stored foreground response holds. A background response and a thread's run suspend
 * instead: they keep nothing in memory while they wait. A response suspends, too, when too many
 * of its project hold already (slots.h).
 *
 * All functions are called on the run's loop.
 */

/* Seconds: the largest `runnel.approval.hold_timeout_s`. */
#define RUN_HOLD_SECONDS_LIMIT 3600

/* The stage in which a response waits for answers. With all answers, the calls walk the stages
 * from the beginning. Without them, the stage passes, and the next one shows the questions. */
enum stage_step run_hold_calls(struct run *run);

/* An answer may have been stored. Does nothing if the run does not hold. */
void run_hold_check(struct run *run);

/* Ends the waiting: timeout or drain. Answers that are stored by then still count. */
void run_hold_leave(struct run *run);

/* The run ends or is abandoned: stops waiting, and leaves the questions as they are in the
 * store. */
void run_stop_hold(struct run *run);

#endif
