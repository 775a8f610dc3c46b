#ifndef RUNNEL_SERVER_GROUP_PARAMS_H
#define RUNNEL_SERVER_GROUP_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * group_params.h -- `runnel.tool_groups`: which groups of tools are on, and which of their tools.
 *
 *   {"basic": true, "web": {"enabled": true, "tools": {"BingSearch": false}}}
 *
 * A group or a tool that this server does not have is refused: a typing error must not pass for
 * having turned something off.
 *
 * Pure functions.
 */

/* `runnel` is the object that may have tool_groups, `path` where it stands. */
enum err_code group_params_check(const json_t *runnel, const char *path,
                                 struct err *err) MUST_CHECK;

/* Wishes of a wide place (an assistant) with those of a narrow one (a run) put over them: the
 * narrower word on each group, and on each tool, counts. Either may be NULL; NULL when both are.
 * New reference. */
json_t *group_params_merge(const json_t *wide, const json_t *narrow);

#endif
