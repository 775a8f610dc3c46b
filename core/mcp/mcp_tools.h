#ifndef RUNNEL_CORE_MCP_MCP_TOOLS_H
#define RUNNEL_CORE_MCP_MCP_TOOLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * mcp_tools.h -- reads the tools that a remote server lists, and makes them safe to show to a model.
 *
 * A stranger has written them: names must be valid, descriptions have a limited length and no hidden
 * characters, schemas have a limited size. A tool whose name is not valid is renamed. A tool that cannot be
 * used is left out; the others are kept.
 *
 * Pure functions: any thread.
 */

#define MCP_TOOL_LIMIT        ((size_t)256)   /* of one server */
#define MCP_PAGE_LIMIT        64              /* of one list */
#define MCP_NAME_LIMIT        ((size_t)128)   /* bytes */
#define MCP_DESCRIPTION_LIMIT ((size_t)4096)  /* bytes */
#define MCP_SCHEMA_LIMIT      ((size_t)65536) /* bytes of JSON */
#define MCP_SCHEMA_DEPTH      32              /* of JSON within JSON */
#define MCP_LIST_LIMIT        ((size_t)1 << 20) /* bytes of JSON, all tools of a server together */

/* Adds the tools of one page, the result of tools/list, to `tools`: {"name", "description",
 * "input_schema", "annotations"} each, as mcp_list_tools shows them. A renamed tool has the object
 * `runnel`, too. ERR_UPSTREAM when it is no such page, ERR_LIMIT when there are too many. */
enum err_code mcp_tools_add_page(json_t *tools, const json_t *page, struct err *err) MUST_CHECK;

/* How the server calls a tool that is listed under another name; NULL: as it is listed, also if the listed
 * name is not the one that is made from the other. Borrowed. */
const char *mcp_tool_original_name(const json_t *tool);

/* Whether the list has a tool of that name. */
bool mcp_tools_have(const json_t *tools, const char *name);

/* The same limits, for lists in a client's input. A name has 1 to MCP_NAME_LIMIT visible ASCII
 * characters, because it is shown to a person whole. */
bool mcp_name_is_fit(const char *name);
bool mcp_schema_is_fit(const json_t *schema);

/* A description without hidden characters, cut at the limit. The caller frees. */
char *mcp_clean_description(const char *text);

/* True when the server says so. Other tools are assumed to change something. */
bool mcp_tool_is_read_only(const json_t *tool);

/* The tools that `allowed` permits: `allowed_tools` of a request, a list of names or
 * {"tool_names", "read_only"}; NULL or null: all. A renamed tool has both names. New reference. */
json_t *mcp_tools_allowed(const json_t *tools, const json_t *allowed);

/* The name of a server's tool for the model: both names, in characters and a length that every upstream
 * accepts. The caller frees. */
#define MCP_FUNCTION_LIMIT ((size_t)64)
char *mcp_function_name(const char *label, const char *tool);

#endif
