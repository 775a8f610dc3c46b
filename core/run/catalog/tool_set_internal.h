#ifndef RUNNEL_CORE_RUN_CATALOG_TOOL_SET_INTERNAL_H
#define RUNNEL_CORE_RUN_CATALOG_TOOL_SET_INTERNAL_H

#include "core/run/catalog/tool_set.h"

/*
 * tool_set_internal.h -- shared by the set (tool_set.c), which answers what is offered, and the
 * entries of a request (tool_entries.c), which fill it. For these two files only.
 */

/* A tool of a remote server. Its handler only describes it: run() is NULL, and run_servers.c
 * executes it. */
struct remote_tool {
    struct tool_handler handler;
    char *name;     /* in the server's list */
    char *original; /* the server's own, if it was renamed there; or NULL */
    char *title;    /* for people; or NULL */
    char *description;
    char *parameters;
};

void tool_use_clear(struct tool_use *use);

/* Adds the use and takes what it owns. `index` is its entry in `tools`, for errors; the
 * number of entries stands for a group that was named without one. On an error the caller
 * still owns the use. */
enum err_code tool_set_add(struct tool_set *set, struct tool_use *use, size_t index,
                           struct err *err) MUST_CHECK;

/* The object with name, description and parameters of a function. Responses has them in the
 * entry itself, Assistants one level down. */
const json_t *tool_entry_function(const json_t *entry);

/* Adds the tools of all entries (an array, or NULL). */
enum err_code tool_entries_add(struct tool_set *set, json_t *tools, struct err *err) MUST_CHECK;

/* Then the groups that are on and have no entry. */
enum err_code tool_entries_add_groups(struct tool_set *set, const json_t *tools,
                                      struct err *err) MUST_CHECK;

/* Then the implied tools, if the set has a server-side tool. */
void tool_entries_add_implied(struct tool_set *set);

#endif
