#ifndef RUNNEL_CORE_TOOL_OVERRIDE_H
#define RUNNEL_CORE_TOOL_OVERRIDE_H

#include <jansson.h>
#include <stdbool.h>

/*
 * override.h -- which groups of tools are on, and which of their tools:
 *
 *   {"<group>": {"enabled": true, "tools": {"<tool>": false}}}, or true or false for a group
 *
 * A project, a user, an assistant, a thread and a request may each have overrides. For each group and each
 * tool the most specific level that mentions it wins. Names that no longer exist have no effect.
 *
 * Pure functions: any thread. server/params/group_params.h has checked the form of all overrides. NULL is
 * a level without overrides.
 */

/* Both levels as one; the narrow one wins, member by member. New reference; NULL when both are NULL. */
json_t *overrides_merge(const json_t *wide, const json_t *narrow);

/* The override of a group, in either form, or NULL. Borrowed. */
const json_t *overrides_find(const json_t *overrides, const char *group);

/* Whether the group is explicitly turned on, or off. Both are false for a group that is not mentioned, and
 * for one whose override only names tools. */
bool overrides_enable(const json_t *overrides, const char *group);
bool overrides_disable(const json_t *overrides, const char *group);

/* Whether this one tool is turned off. Says nothing about its group. */
bool overrides_disable_tool(const json_t *overrides, const char *group, const char *tool);

#endif
