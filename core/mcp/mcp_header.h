#ifndef RUNNEL_CORE_MCP_MCP_HEADER_H
#define RUNNEL_CORE_MCP_MCP_HEADER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * mcp_header.h -- the headers that repeat parts of a message (2026-07-28, "Request Metadata"): gateways
 * route by them, and a server refuses a request whose headers do not say what its body says.
 *
 * Mcp-Method and Mcp-Name come from the request. A tool's schema may mark arguments with "x-mcp-header":
 * "Region", and then a call has their values as Mcp-Param-Region.
 *
 * Pure functions: any thread.
 */

#define MCP_PARAM_LIMIT      ((size_t)64)  /* marked arguments of one tool */
#define MCP_PARAM_NAME_LIMIT ((size_t)128) /* bytes of what a mark says */
#define MCP_PARAM_VALUE_LIMIT \
    ((size_t)8192) /* bytes of a header's value; a longer one is left out */

/* True for 1 or more characters that HTTP allows in a header's name. */
bool mcp_is_token(const char *text);

/* A text as a header's value: as it is, or as "=?base64?...?=" when it has other characters than visible
 * ASCII and blanks inside, or looks like such a value itself. The caller frees. */
char *mcp_header_value(const char *text);

/* False when a mark breaks a rule of the specification; such a tool must not be offered. True without
 * marks. */
bool mcp_marks_are_fit(const json_t *schema);

/* The lines "Mcp-Param-<name>: <value>" of a call, an array of strings. Arguments that are missing, null or
 * not of a type that the specification allows have none, and so have marks that break a rule: a client may
 * have brought the schema. New reference. */
json_t *mcp_param_lines(const json_t *schema, const json_t *arguments);

#endif
