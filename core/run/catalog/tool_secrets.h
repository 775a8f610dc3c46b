#ifndef RUNNEL_CORE_RUN_CATALOG_TOOL_SECRETS_H
#define RUNNEL_CORE_RUN_CATALOG_TOOL_SECRETS_H

#include <jansson.h>
#include <stdbool.h>

/*
 * tool_secrets.h -- the secrets of a request's tools: `authorization` and `headers` of mcp
 * entries. Only the MCP server of the entry may see them.
 *
 * Secrets stay in memory, for the residency of the run that came with them. Stored tools have a
 * mark instead. So a later residency, which does not have the secrets, can say why it cannot
 * reach the server.
 *
 * Pure functions: any thread.
 */

/* The secrets of all entries: [{"authorization", "headers"} or null, ...], in the order of
 * `tools`. A deep copy, new reference. NULL if no entry has secrets. */
json_t *tool_secrets_of(const json_t *tools);

/* The tools without their secrets, and with the mark in entries that had some. New
 * reference; entries are copied one level deep. */
json_t *tool_secrets_strip(const json_t *tools);

/* The mark: a key of stored entries. No client sees it. */
#define TOOL_SECRETS_MARK "had_secrets"
bool tool_had_secrets(const json_t *tool);

#endif
