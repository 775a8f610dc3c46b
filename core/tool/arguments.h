#ifndef RUNNEL_CORE_TOOL_ARGUMENTS_H
#define RUNNEL_CORE_TOOL_ARGUMENTS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/tool/schema.h"

/*
 * arguments.h -- what a model wrote as the arguments of a call, made fit for the tool.
 *
 * The text has to be a JSON object. `limit` and `begin` may stand in it for every tool: they say
 * how much of the result the model wants to read, and are taken out unless the tool itself
 * declares them. Then defaults come in, properties that the tool does not know go, and what is
 * left is checked against its schema.
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
