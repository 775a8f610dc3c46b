#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_RUN_PARAMS_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_RUN_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * run_params.h -- the parameters that assistants and runs share, checked with OpenAI's complaints.
 *
 * These are tools, tool_choice, response_format, truncation_strategy, temperature, top_p, reasoning_effort,
 * model, instructions, additional_instructions, max_prompt_tokens, max_completion_tokens,
 * parallel_tool_calls and metadata. Every key is optional, and null means the same as absent.
 *
 * Tools may be of every type of both APIs. A type that this server does not execute is accepted and stored.
 *
 * A pure function: any thread.
 */

#define TOOL_LIMIT          ((size_t)128) /* tools of an assistant or a run */
#define FUNCTION_NAME_LIMIT ((size_t)64)  /* characters, as are the next two */
#define MODEL_NAME_LIMIT    ((size_t)256)
#define INSTRUCTIONS_LIMIT  ((size_t)256000)
#define RUN_TOKENS_MIN      256 /* the least value of max_prompt_tokens, max_completion_tokens */

enum err_code run_params_check(const json_t *object, struct err *err) MUST_CHECK;

#endif
