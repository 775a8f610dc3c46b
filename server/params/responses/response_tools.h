#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_TOOLS_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_TOOLS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * response_tools.h -- the tools of a response, and the choice among them, as they are written.
 *
 * Whether anybody here can execute them is for core/run/catalog/tool_set.h to say.
 *
 * Pure functions: any thread.
 */

#define RESPONSE_TOOL_LIMIT ((size_t)128)

/* object[key]: absent, null or an array of tools. `path` is that of the object. */
enum err_code response_tools_check(const json_t *object, const char *path, const char *key,
                                   struct err *err) MUST_CHECK;

/* body.tool_choice: a word, or an object of one of many types. */
enum err_code response_tool_choice_check(const json_t *body, struct err *err) MUST_CHECK;

/* The tool as it is shown again: a function has all of its keys, `strict` is filled in. New
 * reference. */
json_t *response_tool_complete(json_t *tool);

#endif
