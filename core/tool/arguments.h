#ifndef RUNNEL_CORE_TOOL_ARGUMENTS_H
#define RUNNEL_CORE_TOOL_ARGUMENTS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/tool/schema.h"

/*
 * arguments.h -- checks and completes the arguments that a model wrote for a call.
 *
 * The text must be a JSON object. Every tool accepts `limit` and `begin`, which say how much of the result
 * the model wants to read; they are removed unless the tool declares them itself. Then defaults are filled
 * in, unknown properties are removed, and the rest is checked against the tool's schema.
 *
 * Any thread.
 *
 * The model reads the text of an error and may correct the call, so the text names every issue with
 * its path.
 */

/* `parameters` is the tool's JSON Schema; NULL takes any object. The caller owns *ret_args.
 * `budget` limits schemas that others have written; NULL for those of handlers.
 * ERR_INVALID, with the text for the model. */
enum err_code tool_arguments_read(const char *tool, const json_t *parameters, const char *text,
                                  struct schema_budget *budget, json_t **ret_args,
                                  struct err *err) MUST_CHECK;

/* The same for an object that is already parsed and whose references are resolved. Changes `args`. */
enum err_code tool_arguments_complete(const char *tool, const json_t *parameters, json_t *args,
                                      struct schema_budget *budget, struct err *err) MUST_CHECK;

#endif
