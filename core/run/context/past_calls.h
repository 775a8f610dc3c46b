#ifndef RUNNEL_CORE_RUN_CONTEXT_PAST_CALLS_H
#define RUNNEL_CORE_RUN_CONTEXT_PAST_CALLS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/domain/item_type.h"

/*
 * past_calls.h -- items of calls and outputs, turned back into functions.
 *
 * For a model every tool is a function. For a client the calls became items of their own type: shell_call,
 * apply_patch_call, computer_call and so on. These functions turn an item back into a function's name and
 * arguments, and a client's output into content. Each tool's item knows how (core/tool/tool_item.h);
 * what all have in common is here.
 *
 * `type` and `body` are those of the item. Pure functions: any thread.
 */

/* True for every call, except one that a client sent and another server executed: its arguments are
 * unknown. */
bool past_is_call(enum item_type type, const json_t *body);

/* The name that the model called. The caller frees. */
char *past_call_name(enum item_type type, const json_t *body);
/* The arguments as the model wrote them: JSON, unless the model wrote none. The caller frees. */
char *past_call_arguments(enum item_type type, const json_t *body);

/* The output that a client sent, of an item of output: a string, or a list of content parts. `status` is
 * the item's. New reference; NULL when the item has none. */
json_t *past_output(enum item_type type, const char *status, const json_t *body);

/* The output within the item of a server-side call, as the model reads it; NULL for a client's call.
 * Borrowed. */
const char *past_own_output(enum item_type type, const json_t *body);

#endif
