#ifndef RUNNEL_SERVER_PARAMS_MCP_TOOL_H
#define RUNNEL_SERVER_PARAMS_MCP_TOOL_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * mcp_tool.h -- checks the form of a tool of type "mcp", in both APIs and in the configuration file.
 *
 * Such an entry names a remote server, or a group of this server's tools. Whether the group exists, and which
 * approvals are possible, is decided later, by core/run/catalog/tool_set.h.
 *
 * A pure function: any thread.
 */

/* The longest server_label. It consists of letters, digits, "_" and "-": it begins the names that the model
 * is sent, and policies write it before a slash. */
#define MCP_LABEL_LIMIT ((size_t)64)

/* `path` is the path of the entry. ERR_INVALID with OpenAI's complaints; unknown members are always
 * refused. */
enum err_code mcp_tool_check(const json_t *tool, const char *path, struct err *err) MUST_CHECK;

#endif
