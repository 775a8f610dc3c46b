#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_ANSWER_PARAMS_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_ANSWER_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * answer_params.h -- what a request, or an item of its input, may say about the shape of the answer.
 *
 * Pure functions: any thread. ERR_INVALID with OpenAI's complaints.
 */

/* What `reasoning.effort` may be. Ends with NULL. */
extern const char *const answer_efforts[];

/* `text.format`, which is at `path`: {"type": "text"}, json_object or json_schema. */
enum err_code answer_format_check(const json_t *format, const char *path,
                                  struct err *err) MUST_CHECK;

#endif
