#ifndef RUNNEL_SERVER_RUNNEL_PARAMS_H
#define RUNNEL_SERVER_RUNNEL_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * runnel_params.h -- our own extension of requests, the object `runnel`.
 *
 * Its unknown keys are refused whatever unknown_parameters says: what it will hold weakens or
 * strengthens security, and a typing error must not do so silently.
 *
 *   runnel.context              an object that handlers get to see as it is
 *   runnel.truncation.mode      "head_tail" or "head": which part of a long result is shown
 *   runnel.truncation.limit     characters that are shown; 8,000
 *   runnel.rounds.max           rounds of tool calls before the model must answer; 10
 *   runnel.rounds.max_calls     tool calls that are executed; null for no limit
 *   runnel.rules.language       "en" or "zh": of what is written for the model
 *
 * Pure functions.
 */

enum err_code runnel_params_check(const json_t *body, struct err *err) MUST_CHECK;

/* runnel.context; NULL when there is none. New reference. */
json_t *runnel_context(const json_t *body);

/* What the run itself goes by, for its configuration: all but the context. New reference. */
json_t *runnel_settings(const json_t *body);

#endif
