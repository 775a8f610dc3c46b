#ifndef RUNNEL_CORE_MCP_MCP_RESULT_H
#define RUNNEL_CORE_MCP_MCP_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/tool/tool.h"

/*
 * mcp_result.h -- what tools/call gave, as the parts of a tool's result.
 *
 * Text stays text, pictures are images, embedded resources are text or files, links are URLs.
 * Structured content is the text where there is none beside it.
 *
 * A pure function: any thread.
 */

#define MCP_CONTENT_LIMIT ((size_t)256) /* parts of one result */

/* ERR_UPSTREAM when it is no result of a tool. *ret_failed: the tool says that it went wrong. */
enum err_code mcp_result_read(const json_t *given, struct tool_result *ret_result,
                              bool *ret_failed, struct err *err) MUST_CHECK;

#endif
