#ifndef RUNNEL_SERVER_PARAMS_RUNNEL_PARAMS_H
#define RUNNEL_SERVER_PARAMS_RUNNEL_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/run_settings.h"
#include "core/run/engine/engine.h"

/*
 * runnel_params.h -- our own extension of requests, the object `runnel`.
 *
 * Its unknown keys are refused whatever unknown_parameters says: what it will hold weakens or
 * strengthens security, and a typing error must not do so silently.
 *
 *   runnel.context              an object that handlers get to see as it is
 *   runnel.truncation.mode      "head_tail" or "head": which part of a long result is shown
 *   runnel.truncation.limit     characters that are shown; 8,000
 *   runnel.history              "native" or "compact": tool calls of turns that are over
 *   runnel.rounds.max           rounds of tool calls before the model must answer; 10
 *   runnel.rounds.max_calls     tool calls that are executed; null for no limit
 *   runnel.tool_groups          which groups of tools are on (group_params.h)
 *   runnel.rules.language       "en" or "zh": of what is written for the model
 *   runnel.approval.channel     what becomes of calls that need an approval. "suspend": they wait for the next
 *                               request; "hold": the response waits for the answers; "webhook": so it does, and
 *                               the operator's webhook is told; "deny": they are refused
 *   runnel.approval.hold_timeout_s  how long it waits; 300
 *   runnel.skills               skills that the model may read, by id (skill_params.h)
 *   runnel.skill_permissions    which of them: a list of which the last that fits counts, and only tightens
 *   runnel.permissions          policies by tool, which only tighten: {"label/tool": {"execution": "ask-always"}}
 *   runnel.variables_in         variables that the run finds from the start (variable_params.h)
 *
 * Assistants and threads may have one, too, without a context or variables: what it says counts for their runs,
 * unless the run says something else.
 *
 * Pure functions.
 */

enum err_code runnel_params_check(const json_t *body, struct err *err) MUST_CHECK;
/* Of an assistant or a thread; `path` is "" or where that stands. */
enum err_code runnel_defaults_check(const json_t *object, const char *path,
                                    struct err *err) MUST_CHECK;

/* Of a change, as the store takes it: NULL (nothing to change) when absent, "{}" when null, which clears
 * it. The caller frees. */
enum err_code runnel_defaults_change(const json_t *object, char **ret_text,
                                     struct err *err) MUST_CHECK;

/* Whether the channel that the request names is there for the project. */
enum err_code runnel_channel_check(const struct engine *engine, const struct tenant *tenant,
                                   const struct run_settings *settings,
                                   struct err *err) MUST_CHECK;

/* runnel.context; NULL when there is none. New reference. */
json_t *runnel_context(const json_t *body);

/* What the run itself goes by, for its configuration: all but the context and variables. New reference. */
json_t *runnel_settings(const json_t *body);

/* Settings of a wide place with those of a narrow one put over them; either may be NULL. New
 * reference, never NULL. A member that is null, at any depth, leaves what the wide place says. */
json_t *runnel_settings_merge(const json_t *wide, const json_t *narrow);

#endif
