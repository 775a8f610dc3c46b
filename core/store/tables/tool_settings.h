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
 * tool_settings.h -- what a project says of tools, and what it says for one of its users. One row each;
 * the project's own is that of the user "". What the words mean is none of the store's business.
 */

struct tool_settings_row {
    char id[ID_SIZE];
    char *user; /* "" for the project's own */
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

/* Makes them, or changes what is given: either of `tool_groups` and `permissions` may be NULL. */
struct tool_settings_change {
    const char *user;
    const char *tool_groups;
    const char *permissions;
};
enum err_code store_tool_settings_put(struct store *store, const struct tenant *tenant,
                                      const struct tool_settings_change *change,
                                      struct tool_settings_row *ret_row,
                                      struct err *err) MUST_CHECK;

/* `ret_id` is what it was. ERR_NOT_FOUND as above. */
enum err_code store_tool_settings_delete(struct store *store, const struct tenant *tenant,
                                         const char *user, char ret_id[ID_SIZE],
                                         struct err *err) MUST_CHECK;

/* Those of users, in the order in which they were made. */
enum err_code store_tool_settings_list(struct store *store, const struct tenant *tenant,
                                       const struct page *page,
                                       struct tool_settings_row **ret_rows, size_t *ret_count,
                                       bool *ret_more, struct err *err) MUST_CHECK;

/* What counts for a request of this tenant: the project's own, and those of its user. Zeroed, where
 * there are none. */
enum err_code store_tool_settings_for(struct store *store, const struct tenant *tenant,
                                      struct tool_settings_row *ret_project,
                                      struct tool_settings_row *ret_user,
                                      struct err *err) MUST_CHECK;

#endif
