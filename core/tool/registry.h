#ifndef RUNNEL_CORE_TOOL_REGISTRY_H
#define RUNNEL_CORE_TOOL_REGISTRY_H

#include <jansson.h>
#include <stddef.h>

#include "core/tool/group.h"
#include "core/tool/tool.h"
#include "core/tool/tool_item.h"

/*
 * registry.h -- finds a handler by the name that a request or a model uses.
 *
 * Threads: the functions that change the registry are called at start (handlers/handlers.c, then the
 * configuration), before other threads exist. All others may be called on any thread. Everything that is
 * returned is a constant and lives as long as the process.
 *
 * A group has tools that the server executes. A request offers them with an entry
 * {"type":"mcp","server_label":...,"server_url":"builtin:<group>"}. Definition-only tools are found by
 * the `type` of their entry: "function", "custom", "local_shell".
 */

/* Replaces all handlers; the list ends with NULL, and NULL is an empty list. When two tools of one group
 * have one name, the later one replaces the earlier one, and the log warns. */
void tool_registry_set(const struct tool_handler *const *handlers);

/* Removes a tool; all tools of the group when `name` is NULL. */
void tool_registry_remove(const char *group, const char *name);

/* The descriptors of groups; ends with NULL. A group needs none. Not copied. */
void tool_registry_set_groups(const struct tool_group *const *groups);

/* A tool of a group, or NULL. */
const struct tool_handler *tool_registry_find(const char *group, const char *name);

/* True if any handler belongs to the group. */
bool tool_registry_has_group(const char *group);

/* Whether there is a tool "group/tool", or a group "group". */
bool tool_registry_names(const char *key);

/* The operator turns the group on for all requests that do not mention it. At start. */
void tool_registry_turn_on(const char *group);
bool tool_registry_is_on(const char *group);

/* The group's handlers in list order: the n-th, or NULL past the end. */
const struct tool_handler *tool_registry_member(const char *group, size_t n);

/* The n-th group that has tools, in the order of their first handlers; NULL past the end. */
const char *tool_registry_group_name(size_t n);

/* Why no tool with the flag `need` (TOOL_NEEDS_...) can be executed here: the end of a sentence, not copied. NULL: they
 * can. At start. Until then they cannot. */
void tool_registry_lack(enum tool_flags need, const char *why);

/* Why this server cannot execute the tool: the first that was set above; or NULL. */
const char *tool_registry_lacks(const struct tool_handler *handler);

/* The policy of the handler itself, and by default that of its group. A handler that is not registered in
 * a group (definition-only, remote) keeps its own policy. */
struct permission tool_registry_permission(const struct tool_handler *handler);

/* The descriptor of a group, or NULL; and the n-th descriptor, NULL past the end. */
const struct tool_group *tool_registry_group(const char *name);
const struct tool_group *tool_registry_described(size_t n);

/* The item of this type, or NULL when no handler has one. Also finds the items of removed tools, because
 * stored runs may have them. */
const struct tool_item *tool_registry_item(const char *type);

/* Removes from the JSON of an item what its tool does not show to a client with these includes (tool_item.h). */
void tool_registry_show(json_t *object, unsigned include);

/* Whether entries of this type are the handler's. */
bool tool_registry_has_type(const struct tool_handler *handler, const char *type);

/* The definition-only or hosted handler for a tool entry's `type`, or NULL. */
const struct tool_handler *tool_registry_definition(const char *type);
/* The one of them that serves this entry, or NULL. */
const struct tool_handler *tool_registry_serving(const json_t *entry);
/* The n-th hosted handler that is offered along with `handler` for this entry (TOOL_ALONG), or NULL. */
const struct tool_handler *tool_registry_along(const struct tool_handler *handler,
                                               const json_t *entry, size_t n);
/* The handler whose tools an entry of any type stands for (`members`), or NULL. */
const struct tool_handler *tool_registry_offering(const json_t *entry);

#endif
