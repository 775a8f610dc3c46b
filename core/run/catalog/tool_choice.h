#ifndef RUNNEL_CORE_RUN_CATALOG_TOOL_CHOICE_H
#define RUNNEL_CORE_RUN_CATALOG_TOOL_CHOICE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/run/catalog/tool_set.h"

/*
 * tool_choice.h -- which of its tools a model may or must call.
 *
 * A tool_choice is a word (none, auto, required), one tool ({"type":"function","name":"f"}, a
 * server's, or whatever goes by its type), or a list of those that are allowed. Both APIs write
 * them alike, but for the name of a function. NULL is auto.
 *
 * Must is for the model's server to enforce, may is for us: what was not offered is not called.
 */

/* Whether it can be met: "Tool choice 'f' not found in 'tools' parameter." */
enum err_code tool_choice_check(const struct tool_set *set, const json_t *choice,
                                struct err *err) MUST_CHECK;

/* Whether the model may call the tool: it is not deferred, and not left out by the choice. */
bool tool_choice_offers(const struct tool_set *set, const json_t *choice,
                        const struct tool_use *use);

/* What remains of a choice once the model has called something: which tools are allowed, and that
 * none is. Borrowed; NULL when nothing does. */
const json_t *tool_choice_standing(const json_t *choice);

/* tool_choice for the upstream; NULL means leave it out. New reference. */
json_t *tool_choice_upstream(const struct tool_set *set, const json_t *choice);

#endif
