#ifndef RUNNEL_CORE_TOOL_OVERRIDE_H
#define RUNNEL_CORE_TOOL_OVERRIDE_H

#include <jansson.h>
#include <stdbool.h>

/*
 * override.h -- which groups of tools are on, and which of their tools, as somebody says it:
 *
 *   {"<group>": {"enabled": true, "tools": {"<tool>": false}}}, or true or false for a group
 *
 * A project, a user, an assistant, a thread and a request may each say something, and of each word the
 * nearest counts. A group or a tool that is not there any more is never asked for, and does no harm.
 *
 * Pure functions. They were checked where they came in; NULL says nothing.
 */

/* Those of a wide place with those of a narrow one over them, word by word. New reference; NULL when
 * both are. */
json_t *overrides_merge(const json_t *wide, const json_t *narrow);

/* What is said of a group; NULL for nothing. */
const json_t *overrides_find(const json_t *overrides, const char *group);

/* Whether they turn the group on, or off, in so many words. */
bool overrides_enable(const json_t *overrides, const char *group);
bool overrides_disable(const json_t *overrides, const char *group);

/* Whether they turn off the tool, by itself. */
bool overrides_disable_tool(const json_t *overrides, const char *group, const char *tool);

#endif
