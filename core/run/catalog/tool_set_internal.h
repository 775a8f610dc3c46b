#ifndef RUNNEL_CORE_RUN_CATALOG_TOOL_SET_INTERNAL_H
#define RUNNEL_CORE_RUN_CATALOG_TOOL_SET_INTERNAL_H

#include "core/run/catalog/tool_set.h"

/*
 * tool_set_internal.h -- between the set (tool_set.c), which says what is offered, and the entries of a
 * request (tool_entries.c), which fill it.
 */

/* A tool of a remote server: its handler says what it is, and is never run. */
struct remote_tool {
    struct tool_handler handler;
    char *name; /* the server's */
    char *description;
    char *parameters;
};

void tool_use_clear(struct tool_use *use);

/* Takes the use, for the entry of that index, or, past the last, for a group that is named. One that is
 * refused stays the caller's. */
enum err_code tool_set_add(struct tool_set *set, struct tool_use *use, size_t index,
                           struct err *err) MUST_CHECK;

/* Responses has the function's fields in the entry itself, Assistants one level down. */
const json_t *tool_entry_function(const json_t *entry);

/* All that `tools` brings (an array, or NULL). */
enum err_code tool_entries_add(struct tool_set *set, json_t *tools, struct err *err) MUST_CHECK;

/* Behind it the groups that are on without an entry. */
enum err_code tool_entries_add_groups(struct tool_set *set, const json_t *tools,
                                      struct err *err) MUST_CHECK;

/* What comes along with the server's tools. */
void tool_entries_add_implied(struct tool_set *set);

#endif
