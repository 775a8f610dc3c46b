#ifndef RUNNEL_CORE_RUN_CALLS_ANSWERED_CALL_H
#define RUNNEL_CORE_RUN_CALLS_ANSWERED_CALL_H

#include <jansson.h>

#include "core/run/turn/run.h"
#include "core/tool/tool_item.h"

/*
 * answered_call.h -- server-side calls that are two items in a response: the call, and its output.
 *
 * OpenAI shows the hosted shell so. To a client that keeps its history itself both are as if it had executed the call
 * (struct item_answer in core/tool/tool_item.h). A run of a thread has one item for such a call, as for any other.
 *
 * On the run's loop.
 */

/* How this run shows the output of the call as an item of its own; NULL: it does not. */
const struct item_answer *run_answer_of(const struct run *run, const struct call *call);
/* The same by the item that the call has now; NULL: it is no such output. */
const struct item_answer *item_answer_of(const struct item *item);

/* The call may speak: its item opens and closes, then the output's opens and is call->item. `fields` are those of the
 * call's item that the tool has brought; borrowed, or NULL. After a crash only the output is opened again. */
void run_show_answered(struct run *run, struct call *call, const json_t *fields);

/* Completes the output's fields. `why` is as in struct item_answer. */
void run_fill_answer(struct call *call, const struct tool_result *result, const char *why);

#endif
