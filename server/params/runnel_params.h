#ifndef RUNNEL_SERVER_PARAMS_RUNNEL_PARAMS_H
#define RUNNEL_SERVER_PARAMS_RUNNEL_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/run_settings.h"
#include "core/run/engine/engine.h"

/*
 * runnel_params.h -- the server's own extension of requests, the object `runnel`.
 *
 * Unknown keys in it are refused, whatever the setting unknown_parameters is. Its members loosen or tighten
 * security, and a typing error must not do so silently.
 *
 *   runnel.context              an object that handlers read as it is
 *   runnel.truncation.mode      "head_tail" or "head": the part of a long result that is shown
 *   runnel.truncation.limit     characters that are shown; default 8,000
 *   runnel.history              "native" or "compact": how the model sees tool calls of past turns
 *   runnel.message_cache.max_chars  characters of a past message that the model sees
 *   runnel.rounds.max           rounds of tool calls before the model must answer; default 10
 *   runnel.rounds.max_calls     tool calls that are executed; null for no limit
 *   runnel.tool_groups          which groups of tools are on (group_params.h)
 *   runnel.rules.language       "en" or "zh": the language of the server's texts for the model
 *   runnel.approval.channel     what happens to calls that need an approval. "suspend": they wait for the next
 *                               request. "hold": the response waits for the answers. "webhook": the same, and
 *                               the operator's webhook is notified. "deny": they are refused
 *   runnel.approval.hold_timeout_s    seconds that a response waits; default 300
 *   runnel.approval.remember_default  the scope of an answer that names none (core/run/approval/grant.h)
 *   runnel.skills               ids of skills that the model may read (skill_params.h)
 *   runnel.skill_permissions    which of them: the last entry that matches counts, and only tightens
 *   runnel.permissions          policies by tool, which only tighten: {"label/tool": {"execution": "ask-always"}}
 *   runnel.check_results        true: results are checked as policies say, which they are in any case
 *   runnel.variables_in         variables that the run has from its start (variable_params.h)
 *
 * Assistants and threads may have the object too, without context and variables. Its values are defaults for
 * their runs.
 *
 * Pure functions: any thread.
 */

/* Checks body["runnel"] of a run or a response. ERR_INVALID with the path of the member. */
enum err_code runnel_params_check(const json_t *body, struct err *err) MUST_CHECK;

/* Checks the object `runnel` of an assistant or a thread. `path` is "" or the path of the assistant or thread. */
enum err_code runnel_defaults_check(const json_t *object, const char *path,
                                    struct err *err) MUST_CHECK;

/* The object of an update, checked, in the store's form. Absent leaves *ret_text as it is: nothing changes.
 * Null gives "{}", which clears the object. The caller frees. */
enum err_code runnel_defaults_change(const json_t *object, char **ret_text,
                                     struct err *err) MUST_CHECK;

/* Checks that the project has the approval channel of the settings: "webhook" needs a configured webhook. */
enum err_code runnel_channel_check(const struct engine *engine, const struct tenant *tenant,
                                   const struct run_settings *settings,
                                   struct err *err) MUST_CHECK;

/* A copy of runnel.context; NULL if the request has none. New reference. */
json_t *runnel_context(const json_t *body);

/* The members that are settings of the run: all but context and variables. New reference, never NULL. */
json_t *runnel_settings(const json_t *body);

/* The settings of a wide level (an assistant) with those of a narrower one (a request) over them. Members
 * about security only tighten. A member that is null, at any depth, leaves the wide level's value. Either may
 * be NULL. New reference, never NULL. */
json_t *runnel_settings_merge(const json_t *wide, const json_t *narrow);

#endif
