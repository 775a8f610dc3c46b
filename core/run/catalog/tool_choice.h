#ifndef RUNNEL_CORE_RUN_CATALOG_TOOL_CHOICE_H
#define RUNNEL_CORE_RUN_CATALOG_TOOL_CHOICE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/run/catalog/tool_set.h"

/*
 * tool_choice.h -- `tool_choice` of a request: which of its tools a model may or must call.
 *
 * A choice is a keyword (none, auto, required), one tool ({"type":"function","name":"f"}, all
 * tools of a server, or a type), or a list of allowed tools. Both APIs have the same forms, but
 * for the name of a function. NULL means auto. What a model must call is enforced by the
 * upstream. What it may call is enforced here: a call of a tool that was not offered ends with
 * "not found".
 *
 * Pure functions: any thread.
 */

/* Checks that the tools of the choice exist. ERR_INVALID, param tool_choice: "Tool choice
 * 'f' not found in 'tools' parameter."; or, if the choice cannot be met without a tool that was left
 * out, the refusal of that (unavailable.h). */
enum err_code tool_choice_check(const struct tool_set *set, const json_t *choice,
                                struct err *err) MUST_CHECK;

/* True if the model may call the tool: it is not deferred, and the choice allows it. */
bool tool_choice_offers(const struct tool_set *set, const json_t *choice,
                        const struct tool_use *use);

/* True if the model is shown the tool. That is also true of a tool that it may not call, if only
 * "none" or allowed_tools forbid it: the list must stay the same for the upstream's cache. */
bool tool_choice_lists(const struct tool_set *set, const json_t *choice,
                       const struct tool_use *use);

/* What of a choice still counts after the first turn with calls: "none" and allowed tools.
 * Borrowed; NULL if nothing does. A choice that forces a call would otherwise force one in
 * every turn, for ever. */
const json_t *tool_choice_standing(const json_t *choice);

/* The choice as the upstream gets it, in the form of the Chat API. New reference; NULL: leave
 * it out. */
json_t *tool_choice_upstream(const struct tool_set *set, const json_t *choice);

#endif
