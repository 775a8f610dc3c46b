#ifndef RUNNEL_CORE_TOOL_REGISTRY_H
#define RUNNEL_CORE_TOOL_REGISTRY_H

#include <jansson.h>
#include <stddef.h>

#include "core/tool/group.h"
#include "core/tool/tool.h"
#include "core/tool/tool_item.h"

/*
 * registry.h -- finding a handler by what a request or a model calls it.
 *
 * The lists are handed in at start (handlers/handlers.c), before there are other threads, and never
 * change afterwards, so any thread may look. Of two tools with one name in one group the later counts,
 * in the place of the earlier, and the log says so. Groups are the tools that the server executes, offered on the wire as
 * {"type":"mcp","server_label":...,"server_url":"builtin:<group>"}. Definition-only types are
 * found by the `type` of a tool entry: "function", "custom", "local_shell".
 */

/* These instead of whatever was there; ends with NULL, NULL for none. */
void tool_registry_set(const struct tool_handler *const *handlers);

/* A tool is there no more; without a name, all of its group. */
void tool_registry_remove(const char *group, const char *name);

/* What groups have to say; ends with NULL. A group may do without. */
void tool_registry_set_groups(const struct tool_group *const *groups);

/* A tool of a group, or NULL. */
const struct tool_handler *tool_registry_find(const char *group, const char *name);

/* True if any handler belongs to the group. */
bool tool_registry_has_group(const char *group);

/* Whether there is a tool "group/tool", or a group "group". */
bool tool_registry_names(const char *key);

/* The operator's word: it is on for requests that say nothing about it. At start. */
void tool_registry_turn_on(const char *group);
bool tool_registry_is_on(const char *group);

/* The group's handlers in list order: the n-th, or NULL past the end. */
const struct tool_handler *tool_registry_member(const char *group, size_t n);

/* The n-th group that has tools, in the order of their first handlers; NULL past the end. */
const char *tool_registry_group_name(size_t n);

/* What the tool itself says about being asked about, and where it says nothing its group. Definition-only
 * tools and those of other servers are nobody's here: they are as they say. */
struct permission tool_registry_permission(const struct tool_handler *handler);

/* What a group has to say, or NULL; and the n-th of those that do. */
const struct tool_group *tool_registry_group(const char *name);
const struct tool_group *tool_registry_described(size_t n);

/* How calls look whose item is of that type; NULL: nothing depends on the type. Also of tools that were
 * removed: there may be items of them. */
const struct tool_item *tool_registry_item(const char *type);

/* The definition-only handler for a tool entry's `type`, or NULL. */
const struct tool_handler *tool_registry_definition(const char *type);

#endif
