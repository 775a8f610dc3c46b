#ifndef RUNNEL_CORE_RUN_CONTEXT_PAST_CALLS_H
#define RUNNEL_CORE_RUN_CONTEXT_PAST_CALLS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/item_type.h"

/*
 * past_calls.h -- calls and their outputs, as items, back into the words of functions.
 *
 * To a model every tool is a function. What its calls became for the client (shell_call,
 * apply_patch_call, computer_call ...) becomes a function's name and arguments again, and what the
 * client answered becomes content. Each tool's item knows the way there and the way
 * back (core/tool/tool_item.h); this is what all have in common.
 *
 * `type` and `body` are those of the item. Pure functions: any thread.
 */

/* Calls of every kind, but those that were sent to us and were executed somewhere else: nothing is
 * known of their arguments. */
bool past_is_call(enum item_type type, const json_t *body);

/* What the model called. The caller frees. */
char *past_call_name(enum item_type type, const json_t *body);
/* What it wrote; JSON but for what was no JSON. The caller frees. */
char *past_call_arguments(enum item_type type, const json_t *body);

/* What the client answered: a string, or a list of content parts. `status` is the item's. New
 * reference; NULL when the item says nothing. */
json_t *past_output(enum item_type type, const char *status, const json_t *body);

/* What the item of a call of ours says itself; NULL for a client's call. Borrowed. */
const char *past_own_output(enum item_type type, const json_t *body);

#endif
