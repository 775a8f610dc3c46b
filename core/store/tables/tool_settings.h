#ifndef RUNNEL_CORE_STORE_TABLES_TOOL_SETTINGS_H
#define RUNNEL_CORE_STORE_TABLES_TOOL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * tool_settings.h -- what a project has set for tools, and what it has set for one of its
 * users. One row each; the project's own row is that of the user "". The store does not
 * interpret the settings.
 */

struct tool_settings_row {
    char id[ID_SIZE];
    char *user; /* "" for the project itself */
    char *tool_groups;
    char *permissions;
    int64_t created_at;
    int64_t updated_at;
};
void tool_settings_row_clear(struct tool_settings_row *row);
void tool_settings_rows_free(struct tool_settings_row *rows, size_t count);

/* ERR_NOT_FOUND: "No tool settings found for user 'X'.", or "... for this project." */
enum err_code store_tool_settings_get(struct store *store, const struct tenant *tenant,
                                      const char *user, struct tool_settings_row *ret_row,
                                      struct err *err) MUST_CHECK;

/* Makes the row, or changes what is given: `tool_groups` or `permissions` may be NULL. */
struct tool_settings_change {
    const char *user;
    const char *tool_groups;
    const char *permissions;
};
enum err_code store_tool_settings_put(struct store *store, const struct tenant *tenant,
                                      const struct tool_settings_change *change,
                                      struct tool_settings_row *ret_row,
                                      struct err *err) MUST_CHECK;

/* Deletes the row; `ret_id` is its id. ERR_NOT_FOUND as above. */
enum err_code store_tool_settings_delete(struct store *store, const struct tenant *tenant,
                                         const char *user, char ret_id[ID_SIZE],
                                         struct err *err) MUST_CHECK;

/* The rows of users, in the order in which they were made. */
enum err_code store_tool_settings_list(struct store *store, const struct tenant *tenant,
                                       const struct page *page,
                                       struct tool_settings_row **ret_rows, size_t *ret_count,
                                       bool *ret_more, struct err *err) MUST_CHECK;

/* The settings that apply to a request of this tenant: the project's own, and those of its
 * user. Zeroed if both are missing. */
enum err_code store_tool_settings_for(struct store *store, const struct tenant *tenant,
                                      struct tool_settings_row *ret_project,
                                      struct tool_settings_row *ret_user,
                                      struct err *err) MUST_CHECK;

#endif
