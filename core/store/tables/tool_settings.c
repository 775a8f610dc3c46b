/*
 * What a project has set for its tools, and what it has set for one of its users.
 *
 * The project's own row is that of the user ''. So both are one table with one key, and a
 * request reads its two rows with one statement. The store does not interpret them; what they
 * come to together is decided where a run is made.
 *
 * A change names the group or the permissions, or both; what it leaves out stays. Making and
 * changing are one statement (INSERT ... ON CONFLICT), so two first changes at once do not fail.
 */

#include "core/store/tables/tool_settings.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"

#define SETTINGS_COLUMNS "id, user_id, tool_groups, permissions, created_at, updated_at"

void tool_settings_row_clear(struct tool_settings_row *row)
{
    free(row->user);
    free(row->tool_groups);
    free(row->permissions);
    *row = (struct tool_settings_row){0};
}

void tool_settings_rows_free(struct tool_settings_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tool_settings_row_clear(&rows[i]);
    free(rows);
}

static void settings_read(const struct db_rows *rows, size_t row,
                          struct tool_settings_row *ret_row)
{
    *ret_row = (struct tool_settings_row){
        .user = db_copy(rows, row, 1),
        .tool_groups = db_copy(rows, row, 2),
        .permissions = db_copy(rows, row, 3),
        .created_at = db_int(rows, row, 4),
        .updated_at = db_int(rows, row, 5),
    };
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
}

static enum err_code not_found(const char *user, struct err *err)
{
    if (!*user)
        return err_set(err, ERR_NOT_FOUND, "No tool settings found for this project.");
    return err_set(err, ERR_NOT_FOUND, "No tool settings found for user '%.64s'.", user);
}

enum err_code store_tool_settings_get(struct store *store, const struct tenant *tenant,
                                      const char *user, struct tool_settings_row *ret_row,
                                      struct err *err)
{
    static const struct db_statement select = {"store_tool_settings_get",
                                               "SELECT " SETTINGS_COLUMNS " FROM tool_settings"
                                               " WHERE project_id = $1 AND user_id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &select, tenant, user, not_found, &rows, err);

    if (!rc)
        settings_read(rows, 0, ret_row);
    return rc;
}

enum err_code store_tool_settings_put(struct store *store, const struct tenant *tenant,
                                      const struct tool_settings_change *change,
                                      struct tool_settings_row *ret_row, struct err *err)
{
    static const struct db_statement put = {
        "store_tool_settings_put",
        "INSERT INTO tool_settings AS t"
        " (project_id, user_id, id, tool_groups, permissions, created_at, updated_at)"
        " VALUES ($1, $2, $3, coalesce($4, '{}'), coalesce($5, '{}'), $6, $6)"
        " ON CONFLICT (project_id, user_id) DO UPDATE SET"
        "  tool_groups = coalesce($4, t.tool_groups),"
        "  permissions = coalesce($5, t.permissions), updated_at = excluded.updated_at"
        " RETURNING " SETTINGS_COLUMNS};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    char id[ID_SIZE];
    enum err_code rc;

    id_make(id, "toolset_");
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, change->user);
    db_arg_text(&args, id);
    db_arg_text(&args, change->tool_groups);
    db_arg_text(&args, change->permissions);
    db_arg_int(&args, clock_wall_us());
    rc = db_once(store, &put, &args, &rows, err);
    if (!rc)
        settings_read(rows, 0, ret_row);
    return rc;
}

enum err_code store_tool_settings_delete(struct store *store, const struct tenant *tenant,
                                         const char *user, char ret_id[ID_SIZE],
                                         struct err *err)
{
    static const struct db_statement delete = {
        "store_tool_settings_delete",
        "DELETE FROM tool_settings WHERE project_id = $1 AND user_id = $2 RETURNING id"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &delete, tenant, user, not_found, &rows, err);

    if (!rc)
        db_id(rows, 0, 0, ret_id, ID_SIZE);
    return rc;
}

#define SETTINGS_LIST(order)                                                  \
    "SELECT " SETTINGS_COLUMNS " FROM tool_settings WHERE project_id = $1"    \
    " AND user_id <> '' AND id > coalesce($2, '') AND id < coalesce($3, '~')" \
    " ORDER BY id " order " LIMIT $4"

enum err_code store_tool_settings_list(struct store *store, const struct tenant *tenant,
                                       const struct page *page,
                                       struct tool_settings_row **ret_rows, size_t *ret_count,
                                       bool *ret_more, struct err *err)
{
    static const struct db_statement list[] = {
        {"store_tool_settings_list_desc", SETTINGS_LIST("DESC")},
        {"store_tool_settings_list_asc", SETTINGS_LIST("ASC")},
    };
    /* The owner that page_read() passes is '', so this leaves the project's own row out, like
     * the list. */
    static const struct page_list cursor = {{"store_tool_settings_list_cursor",
                                             "SELECT 1 FROM tool_settings WHERE project_id = "
                                             "$1 AND user_id <> $2::text AND id = $3"},
                                            "toolset_"};
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc = page_read(store, list, &cursor, tenant, NULL, page, &scan, &rows, err);

    if (!rc)
        page_unroll(&scan, rows, settings_read, ret_rows, ret_count, ret_more);
    return rc;
}

enum err_code store_tool_settings_for(struct store *store, const struct tenant *tenant,
                                      struct tool_settings_row *ret_project,
                                      struct tool_settings_row *ret_user, struct err *err)
{
    static const struct db_statement select = {
        "store_tool_settings_for", "SELECT " SETTINGS_COLUMNS " FROM tool_settings"
                                   " WHERE project_id = $1 AND user_id IN ('', $2)"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_once_by_id(store, &select, tenant, tenant->user, &rows, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < db_count(rows); i++)
        settings_read(rows, i, *db_text(rows, i, 1) ? ret_user : ret_project);
    return ERR_OK;
}
