#ifndef RUNNEL_CORE_RUN_CATALOG_TOOL_SECRETS_H
#define RUNNEL_CORE_RUN_CATALOG_TOOL_SECRETS_H

#include <jansson.h>
#include <stdbool.h>

/*
 * tool_secrets.h -- what only the servers of a request's tools may see: `authorization` and
 * `headers` of mcp entries.
 *
 * They are for the stay of the run that they came with, in memory. What is stored has a mark in
 * their place, so that whoever goes on without them can say why.
 *
 * Pure functions: any thread.
 */

/* The entries' secrets, [{"authorization", "headers"} or null, ...], by their places in `tools`, as
 * a tree of its own. New reference; NULL when there are none. */
json_t *tool_secrets_of(const json_t *tools);

/* The tools without them, entries that had some marked. New reference. */
json_t *tool_secrets_strip(const json_t *tools);

/* The mark, which is shown to nobody. */
#define TOOL_SECRETS_MARK "had_secrets"
bool tool_had_secrets(const json_t *tool);

#endif
