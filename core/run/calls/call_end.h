#ifndef RUNNEL_CORE_RUN_CALLS_CALL_END_H
#define RUNNEL_CORE_RUN_CALLS_CALL_END_H

#include <jansson.h>

#include "core/run/turn/call.h"

/*
 * call_end.h -- how a call ended, as its row keeps it until its item is shown.
 *
 * The end of a call is stored when its tool has ended, because its effect has happened. Its item may come
 * later: behind the call that has the floor, or, of a final call, behind the message of the turn. Until
 * then the row has what the item needs. After a crash the next owner shows the item from there, and
 * executes nothing again.
 *
 * Outputs that wait for the floor are in the row, too, in their order: stages, pieces of fields, live
 * metadata. The text of the result is the row's own output and is not repeated.
 *
 * On the run's loop.
 */

/* The end of a call whose item is not shown yet. New reference. */
json_t *call_end_json(const struct call *call);

/* Sets what `end` has. The outputs that waited are call->waiting again. */
void call_end_restore(struct call *call, const json_t *end);

/* Frees call->waiting. */
void call_end_clear(struct call *call);

#endif
