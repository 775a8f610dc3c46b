/*
 * Prompt templates, and every version of them.
 *
 * A version never changes, so a request that names one gets the same text for ever. `prompts`
 * has a row for each template with the number of its newest version, and `prompt_versions` the
 * texts.
 *
 * Adding a version counts that number up and inserts the text under it, in one statement. The
 * UPDATE locks the template's row, so two that add at once get two numbers, without a gap. The
 * limit is part of its condition. When no row comes back, a second query says whether the
 * template is missing or full.
 *
 * Lists of versions have numbers as cursors, which PostgreSQL compares as numbers (bigint), and
 * not as the text that a cursor is.
 */

#include "core/store/tables/prompts.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"

#define PROMPT_COLUMNS "p.id, p.name, v.version, v.body, p.created_at, v.created_at"
#define PROMPT_TABLES                                        \
    " FROM prompts p JOIN prompt_versions v"                 \
    " ON v.project_id = p.project_id AND v.prompt_id = p.id" \
    " WHERE p.project_id = $1"

static enum err_code not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Prompt with id '%.64s' not found.", id);
}

static void prompt_read(const struct db_rows *rows, size_t row, struct prompt_row *ret_row)
{
    *ret_row = (struct prompt_row){
        .name = db_copy(rows, row, 1),
        .version = (int)db_int(rows, row, 2),
        .body = db_copy(rows, row, 3),
        .created_at = db_int(rows, row, 4),
        .version_created_at = db_int(rows, row, 5),
    };
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
}

void prompt_row_clear(struct prompt_row *row)
{
    free(row->name);
    free(row->body);
    *row = (struct prompt_row){0};
}

void prompt_rows_free(struct prompt_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        prompt_row_clear(&rows[i]);
    free(rows);
}

/* ---- One ---- */

/* One statement, so a template always has its first version. */
enum err_code store_prompt_create(struct store *store, const struct tenant *tenant,
                                  const struct prompt_row *row, struct err *err)
{
    static const struct db_statement insert = {
        "store_prompt_create",
        "WITH p AS (INSERT INTO prompts (project_id, id, name, version, created_at)"
        "  VALUES ($1, $2, $3, 1, $5) RETURNING project_id, id, created_at)"
        " INSERT INTO prompt_versions (project_id, prompt_id, version, body, created_at)"
        " SELECT p.project_id, p.id, 1, $4, p.created_at FROM p"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->name);
    db_arg_text(&args, row->body);
    db_arg_int(&args, row->created_at);
    return db_once(store, &insert, &args, NULL, err);
}

/* Reports which of the two is missing: the version, or the template. */
static enum err_code no_version(struct store *store, const struct tenant *tenant,
                                const char *id, int version, struct err *err)
{
    struct prompt_row newest;
    enum err_code rc;

    if (version == PROMPT_NEWEST)
        return not_found(id, err);
    rc = store_prompt_get(store, tenant, id, PROMPT_NEWEST, &newest, err);
    if (rc)
        return rc;
    prompt_row_clear(&newest);
    return err_set(err, ERR_NOT_FOUND, "Version '%d' of prompt with id '%.64s' not found.",
                   version, id);
}

enum err_code store_prompt_get(struct store *store, const struct tenant *tenant, const char *id,
                               int version, struct prompt_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_prompt_get",
        "SELECT " PROMPT_COLUMNS PROMPT_TABLES
        " AND p.id = $2 AND v.version = CASE $3::integer WHEN 0 THEN p.version ELSE $3 END"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, version);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return no_version(store, tenant, id, version, err);
    prompt_read(rows, 0, ret_row);
    return ERR_OK;
}

static enum err_code not_added(struct store *store, const struct tenant *tenant, const char *id,
                               struct err *err)
{
    struct prompt_row newest;
    enum err_code rc = store_prompt_get(store, tenant, id, PROMPT_NEWEST, &newest, err);

    if (rc)
        return rc;
    prompt_row_clear(&newest);
    return err_set(err, ERR_INVALID, "A prompt can have at most %d versions.",
                   PROMPT_VERSION_LIMIT);
}

enum err_code store_prompt_add(struct store *store, const struct tenant *tenant, const char *id,
                               const char *body, struct prompt_row *ret_row, struct err *err)
{
    static const struct db_statement insert = {
        "store_prompt_add",
        "WITH p AS (UPDATE prompts SET version = version + 1"
        "  WHERE project_id = $1 AND id = $2 AND version < $5"
        "  RETURNING project_id, id, name, version, created_at),"
        " v AS (INSERT INTO prompt_versions (project_id, prompt_id, version, body, created_at)"
        "  SELECT p.project_id, p.id, p.version, $3, $4 FROM p"
        "  RETURNING version, body, created_at)"
        " SELECT " PROMPT_COLUMNS " FROM p, v"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, body);
    db_arg_int(&args, clock_wall_us());
    db_arg_int(&args, PROMPT_VERSION_LIMIT);
    rc = db_once(store, &insert, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return not_added(store, tenant, id, err);
    prompt_read(rows, 0, ret_row);
    return ERR_OK;
}

/* Deletes the template first. A version that is added at the same time was added before, or
 * finds no template. */
enum err_code store_prompt_delete(struct store *store, const struct tenant *tenant,
                                  const char *id, struct err *err)
{
    static const struct db_statement delete = {
        "store_prompt_delete", "DELETE FROM prompts WHERE project_id = $1 AND id = $2"};
    static const struct db_statement delete_versions = {
        "store_prompt_delete_versions",
        "DELETE FROM prompt_versions WHERE project_id = $1 AND prompt_id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &delete, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_changed(rows))
        return not_found(id, err);
    rc = db_exec(db, &delete_versions, &args, NULL, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Lists ---- */

#define PROMPT_LIST(order)                                   \
    "SELECT " PROMPT_COLUMNS PROMPT_TABLES                   \
    " AND v.version = p.version AND p.id > coalesce($2, '')" \
    " AND p.id < coalesce($3, '~') ORDER BY p.id " order " LIMIT $4"

enum err_code store_prompt_list(struct store *store, const struct tenant *tenant,
                                const struct page *page, struct prompt_row **ret_rows,
                                size_t *ret_count, bool *ret_more, struct err *err)
{
    static const struct db_statement list[] = {
        {"store_prompt_list_desc", PROMPT_LIST("DESC")},
        {"store_prompt_list_asc", PROMPT_LIST("ASC")},
    };
    static const struct page_list cursor = {
        {"store_prompt_list_cursor",
         "SELECT 1 FROM prompts WHERE project_id = $1 AND $2::text = '' AND id = $3"},
        "pmpt_"};
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc = page_read(store, list, &cursor, tenant, NULL, page, &scan, &rows, err);

    if (!rc)
        page_unroll(&scan, rows, prompt_read, ret_rows, ret_count, ret_more);
    return rc;
}

#define PROMPT_VERSIONS(order)                               \
    "SELECT " PROMPT_COLUMNS PROMPT_TABLES                   \
    " AND p.id = $2 AND v.version > coalesce($3::bigint, 0)" \
    " AND v.version < coalesce($4::bigint, 2147483648) ORDER BY v.version " order " LIMIT $5"

enum err_code store_prompt_versions(struct store *store, const struct tenant *tenant,
                                    const char *id, const struct page *page,
                                    struct prompt_row **ret_rows, size_t *ret_count,
                                    bool *ret_more, struct err *err)
{
    static const struct db_statement list[] = {
        {"store_prompt_versions_desc", PROMPT_VERSIONS("DESC")},
        {"store_prompt_versions_asc", PROMPT_VERSIONS("ASC")},
    };
    static const struct page_list cursor = {
        {"store_prompt_versions_cursor", "SELECT 1 FROM prompt_versions WHERE project_id = $1"
                                         " AND prompt_id = $2 AND version::text = $3"},
        NULL};
    AUTO_DB_ROWS *rows = NULL;
    struct prompt_row newest;
    struct page_scan scan;
    enum err_code rc = store_prompt_get(store, tenant, id, PROMPT_NEWEST, &newest, err);

    if (rc)
        return rc;
    prompt_row_clear(&newest);
    rc = page_read(store, list, &cursor, tenant, id, page, &scan, &rows, err);
    if (!rc)
        page_unroll(&scan, rows, prompt_read, ret_rows, ret_count, ret_more);
    return rc;
}
