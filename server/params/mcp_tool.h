#ifndef RUNNEL_SERVER_PARAMS_MCP_TOOL_H
#define RUNNEL_SERVER_PARAMS_MCP_TOOL_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * mcp_tool.h -- a tool of type "mcp" as it is written, on both faces: a group of this server or a
 * remote server. Whether there is such a group, and what is available of approvals, is for
 * core/run/catalog/tool_set.h to say.
 *
 * A pure function: any thread.
 */

enum err_code mcp_tool_check(const json_t *tool, const char *path, size_t label_limit,
                             struct err *err) MUST_CHECK;

#endif
