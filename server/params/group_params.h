#ifndef RUNNEL_SERVER_PARAMS_GROUP_PARAMS_H
#define RUNNEL_SERVER_PARAMS_GROUP_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * group_params.h -- `tool_groups`: which groups of tools are on, and which of their tools
 * (override.h).
 *
 *   {"basic": true, "web": {"enabled": true, "tools": {"BingSearch": false}}}
 *
 * A group or a tool that this server does not have is refused: a typing error must not look like a group
 * that was turned off.
 *
 * A pure function: any thread.
 */

/* Checks object["tool_groups"], if it is there. `object` is `runnel` or tool settings, `path` its path. */
enum err_code group_params_check(const json_t *object, const char *path,
                                 struct err *err) MUST_CHECK;

#endif
