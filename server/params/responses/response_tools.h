#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_TOOLS_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_TOOLS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * response_tools.h -- checks the form of `tools` and `tool_choice` of a response.
 *
 * Whether this server can execute a tool is decided later, by core/run/catalog/tool_set.h.
 *
 * Pure functions: any thread.
 */

#define RESPONSE_TOOL_LIMIT ((size_t)128) /* entries of a list of tools */

/* object[key]: absent, null or an array of tools. `path` is the path of the object. */
enum err_code response_tools_check(const json_t *object, const char *path, const char *key,
                                   struct err *err) MUST_CHECK;

/* body["tool_choice"]: absent, null, a keyword, or an object. */
enum err_code response_tool_choice_check(const json_t *body, struct err *err) MUST_CHECK;

/* A checked tool as the response shows it: a function has all of its keys, with `strict` filled in. Shares
 * values with `tool`. New reference. */
json_t *response_tool_complete(json_t *tool);

#endif
