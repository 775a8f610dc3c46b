#ifndef RUNNEL_CORE_MCP_MCP_RESULT_H
#define RUNNEL_CORE_MCP_MCP_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/tool/tool.h"

/*
 * mcp_result.h -- converts a result of tools/call to the parts of a tool's result.
 *
 * Text stays text, pictures become images, embedded resources text or files, links URLs. Structured
 * content becomes text if the result has no other content.
 *
 * A pure function: any thread.
 */

#define MCP_CONTENT_LIMIT ((size_t)256) /* parts of one result */

/* ERR_UPSTREAM when the message is no result of a tool. *ret_failed: the tool reports a failure (isError). The
 * caller clears *ret_result. */
enum err_code mcp_result_read(const json_t *given, struct tool_result *ret_result,
                              bool *ret_failed, struct err *err) MUST_CHECK;

#endif
