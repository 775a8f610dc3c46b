/*
 * Scripts: modules whose functions are tools.
 *
 * A run takes a copy of what it uses when it is accepted. So a script that is replaced or deleted changes nothing for
 * runs that go on, and what a person has approved is what is executed.
 */

#include "core/store/tables/scripts.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"

#define SCRIPT_COLUMNS "id, name, hash, definition, created_at, updated_at"

static enum err_code not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Script with id '%.64s' not found.", id);
}

static void script_read(const struct db_rows *rows, size_t row, struct script_row *ret_row)
{
    *ret_row = (struct script_row){
        .name = db_copy(rows, row, 1),
        .hash = db_copy(rows, row, 2),
        .definition = db_copy(rows, row, 3),
        .created_at = db_int(rows, row, 4),
        .updated_at = db_int(rows, row, 5),
    };
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
}

void script_row_clear(struct script_row *row)
{
    free(row->name);
    free(row->source);
    free(row->hash);
    free(row->definition);
    *row = (struct script_row){0};
}

void script_rows_free(struct script_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        script_row_clear(&rows[i]);
    free(rows);
}

/* One that exists may be replaced at the limit, too. Two that make new ones at once may pass it by one. */
enum err_code store_script_put(struct store *store, const struct tenant *tenant,
                               struct script_row *row, struct err *err)
{
    static const struct db_statement put = {
        "store_script_put",
        "INSERT INTO scripts (project_id, id, name, source, hash, definition, created_at,"
        "  updated_at) SELECT $1, $2, $3, $4, $5, $6, $7, $7"
        " WHERE EXISTS (SELECT FROM scripts WHERE project_id = $1 AND name = $3)"
        "  OR (SELECT count(*) FROM scripts WHERE project_id = $1) < $8"
        " ON CONFLICT (project_id, name) DO UPDATE SET source = excluded.source,"
        "  hash = excluded.hash, definition = excluded.definition,"
        "  updated_at = excluded.updated_at"
        " RETURNING id, created_at"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->name);
    db_arg_text(&args, row->source);
    db_arg_text(&args, row->hash);
    db_arg_text(&args, row->definition);
    db_arg_int(&args, row->created_at);
    db_arg_int(&args, SCRIPTS_LIMIT);
    rc = db_once(store, &put, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return err_refuse(err, ERR_INVALID, REASON_LIST_TOO_LONG, NULL,
                          "The project has %d scripts, and may have no more. Delete one.",
                          SCRIPTS_LIMIT);
    row->updated_at = row->created_at;
    db_id(rows, 0, 0, row->id, sizeof(row->id));
    row->created_at = db_int(rows, 0, 1);
    return ERR_OK;
}

enum err_code store_script_get(struct store *store, const struct tenant *tenant, const char *id,
                               struct script_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_script_get",
        "SELECT " SCRIPT_COLUMNS ", source FROM scripts WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &select, tenant, id, not_found, &rows, err);

    if (rc)
        return rc;
    script_read(rows, 0, ret_row);
    ret_row->source = db_copy(rows, 0, 6);
    return ERR_OK;
}

/* As the list of skills: the parameters are those of page_read(). */
#define SCRIPT_LIST(order)                                         \
    "SELECT " SCRIPT_COLUMNS " FROM scripts WHERE project_id = $1" \
    " AND id > coalesce($2, '') AND id < coalesce($3, '~') ORDER BY id " order " LIMIT $4"

enum err_code store_script_list(struct store *store, const struct tenant *tenant,
                                const struct page *page, struct script_row **ret_rows,
                                size_t *ret_count, bool *ret_more, struct err *err)
{
    static const struct db_statement list[] = {
        {"store_script_list_desc", SCRIPT_LIST("DESC")},
        {"store_script_list_asc", SCRIPT_LIST("ASC")},
    };
    static const struct page_list cursor = {
        {"store_script_list_cursor",
         "SELECT 1 FROM scripts WHERE project_id = $1 AND $2::text = '' AND id = $3"},
        "script_"};
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc = page_read(store, list, &cursor, tenant, NULL, page, &scan, &rows, err);

    if (!rc)
        page_unroll(&scan, rows, script_read, ret_rows, ret_count, ret_more);
    return rc;
}

enum err_code store_script_delete(struct store *store, const struct tenant *tenant,
                                  const char *id, struct err *err)
{
    static const struct db_statement delete = {
        "store_script_delete", "DELETE FROM scripts WHERE project_id = $1 AND id = $2"};

    return db_find_by_id(store, &delete, tenant, id, not_found, NULL, err);
}
