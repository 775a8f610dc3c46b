#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_RUN_PARAMS_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_RUN_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * run_params.h -- the parameters that assistants and runs share, checked with the API's errors.
 *
 * tools (at most 128, of every type of both APIs: those that no part of this server executes yet
 * are kept; functions as {"type":"function","function":{...}}), tool_choice, response_format,
 * truncation_strategy, temperature, top_p, reasoning_effort, model, instructions,
 * additional_instructions, max_prompt_tokens, max_completion_tokens, parallel_tool_calls and
 * metadata. Only keys that are present are looked at; null is as good as absent.
 */

#define TOOL_LIMIT          ((size_t)128)
#define FUNCTION_NAME_LIMIT ((size_t)64)
#define MODEL_NAME_LIMIT    ((size_t)256)
#define INSTRUCTIONS_LIMIT  ((size_t)256000)
#define RUN_TOKENS_MIN      256

enum err_code run_params_check(const json_t *object, struct err *err) MUST_CHECK;

#endif
