/*
 * Assistants as rows: an id, an age, and a body of JSON.
 *
 * The body is text that SQL never looks into: the API's object without what the row has, checked
 * before it came here. So a new field of an assistant is no change of this file. A run does not
 * read its assistant later on; what it needs of it is in the snapshot of its request.
 *
 * Lists go by age and not by id, unlike all others. Ids made here begin with their time, but
 * imported assistants keep ids from elsewhere. So a cursor, which is an id, is looked up for its
 * time first (or, if it was deleted, for its mark), and a page lies between two pairs (created_at, id). The id breaks
 * ties of equal times. Without a cursor the bounds are those of the type: one statement then serves every
 * page, and the index assistants_age finds the deepest as fast as the first.
 *
 * Modifying reads the body under a lock, changes members of it, and writes it back: two clients
 * that change different fields at once do not undo each other's.
 */

#include "core/store/tables/assistants.h"

#include <stdio.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"
#include "core/store/tables/deletion_marks.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"

static enum err_code not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "No assistant found with id '%s'.", id);
}

/* A row of id, body, created_at. */
static void assistant_read(const struct db_rows *rows, size_t row,
                           struct assistant_row *ret_row)
{
    *ret_row = (struct assistant_row){.body = db_copy(rows, row, 1),
                                      .created_at = db_int(rows, row, 2)};
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
}

enum err_code store_assistant_create(struct store *store, const struct tenant *tenant,
                                     const struct assistant_row *row,
                                     const struct store_filling *filling, struct err *err)
{
    static const struct db_statement insert = {
        "store_assistant_create",
        "INSERT INTO assistants (project_id, id, body, created_at) VALUES ($1, $2, $3, $4)"};
    AUTO_DB_ARGS args = {0};
    AUTO_DB *db = NULL;
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->body);
    db_arg_int(&args, row->created_at);
    if (!filling)
        return db_once(store, &insert, &args, NULL, err);
    rc = db_begin(store, &db, err);
    if (!rc)
        rc = store_filling_make(db, tenant, filling, NULL, err);
    if (!rc)
        rc = db_exec(db, &insert, &args, NULL, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_assistant_get(struct store *store, const struct tenant *tenant,
                                  const char *id, struct assistant_row *ret_row,
                                  struct err *err)
{
    static const struct db_statement select = {
        "store_assistant_get",
        "SELECT id, body, created_at FROM assistants WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &select, tenant, id, not_found, &rows, err);

    if (!rc)
        assistant_read(rows, 0, ret_row);
    return rc;
}

enum err_code store_assistant_for_run(struct store *store, const struct tenant *tenant,
                                      const char *id, const char *thread_id,
                                      struct assistant_row *ret_row, char **ret_settings,
                                      char **ret_resources, struct err *err)
{
    static const struct db_statement select = {
        "store_assistant_for_run",
        "SELECT a.id, a.body, a.created_at, t.settings, t.tool_resources FROM assistants a"
        " LEFT JOIN threads t ON t.project_id = $1 AND t.id = $3"
        " WHERE a.project_id = $1 AND a.id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, thread_id);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return not_found(id, err);

    assistant_read(rows, 0, ret_row);
    *ret_settings = db_copy(rows, 0, 3);
    *ret_resources = db_copy(rows, 0, 4);
    return ERR_OK;
}

/* ---- Lists ---- */

/* A place in the list. Without a cursor it is behind all rows, or in front of them: with a
 * bound in every case, the index finds deep pages. */
struct place {
    int64_t created_at;
    const char *id;
};

#define LIST "assistants"

/* An assistant that was deleted: by its mark, or by the time in its id. */
static enum err_code find_gone(struct store *store, const struct tenant *tenant, const char *id,
                               const char *param, struct place *ret_place, struct err *err)
{
    int64_t created_at = 0;
    bool found;
    enum err_code rc = deletion_mark_find(store, tenant, LIST, id, &found, &created_at, err);

    if (rc)
        return rc;
    if (!found && !id_time(id, "asst_", &created_at))
        return page_cursor_unknown(param, id, err);
    *ret_place = (struct place){created_at, id};
    return ERR_OK;
}

/* Without a cursor *ret_place stays untouched. */
static enum err_code find_cursor(struct store *store, const struct tenant *tenant,
                                 const char *id, const char *param, struct place *ret_place,
                                 struct err *err)
{
    static const struct db_statement select = {
        "store_assistant_list_cursor",
        "SELECT created_at FROM assistants WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc;

    if (!*id)
        return ERR_OK;
    rc = db_once_by_id(store, &select, tenant, id, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return find_gone(store, tenant, id, param, ret_place, err);
    *ret_place = (struct place){db_int(rows, 0, 0), id};
    return ERR_OK;
}

static enum err_code find_bounds(struct store *store, const struct tenant *tenant,
                                 const struct page *page, struct place ret_bounds[2],
                                 struct err *err)
{
    int lower = page->ascending ? 0 : 1;
    enum err_code rc;

    ret_bounds[0] = (struct place){-1, ""};
    ret_bounds[1] = (struct place){INT64_MAX, ""};
    rc = find_cursor(store, tenant, page->after, "after", &ret_bounds[lower], err);
    if (!rc)
        rc = find_cursor(store, tenant, page->before, "before", &ret_bounds[1 - lower], err);
    return rc;
}

static enum err_code select_page(struct store *store, const struct tenant *tenant,
                                 const struct page *page, struct db_rows **ret_rows,
                                 struct err *err)
{
#define SELECT_PAGE                                                     \
    "SELECT id, body, created_at FROM assistants WHERE project_id = $1" \
    " AND (created_at, id) > ($2, $3) AND (created_at, id) < ($4, $5)"
    static const struct db_statement up = {"store_assistant_list_up",
                                           SELECT_PAGE " ORDER BY created_at, id LIMIT $6"};
    static const struct db_statement down = {"store_assistant_list_down", SELECT_PAGE
                                             " ORDER BY created_at DESC, id DESC LIMIT $6"};
#undef SELECT_PAGE
    struct page_scan scan = page_scan(page);
    struct place bounds[2];
    AUTO_DB_ARGS args = {0};
    enum err_code rc = find_bounds(store, tenant, page, bounds, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        db_arg_int(&args, bounds[i].created_at);
        db_arg_text(&args, bounds[i].id);
    }
    db_arg_int(&args, scan.limit);
    return db_once(store, scan.ascending ? &up : &down, &args, ret_rows, err);
}

/* Reads only, so the two statements need no common transaction. */
enum err_code store_assistant_list(struct store *store, const struct tenant *tenant,
                                   const struct page *page, struct assistant_row **ret_rows,
                                   size_t *ret_count, bool *ret_more, struct err *err)
{
    struct page_scan scan = page_scan(page);
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc;

    rc = select_page(store, tenant, page, &rows, err);
    if (rc)
        return rc;

    page_unroll(&scan, rows, assistant_read, ret_rows, ret_count, ret_more);
    return ERR_OK;
}

void assistant_rows_free(struct assistant_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assistant_row_clear(&rows[i]);
    free(rows);
}

/* ---- Changes ---- */

static enum err_code lock_body(struct db *db, const struct tenant *tenant, const char *id,
                               struct assistant_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_assistant_modify_lock",
        "SELECT id, body, created_at FROM assistants WHERE project_id = $1 AND id = $2"
        " FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &select, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return not_found(id, err);

    assistant_read(rows, 0, ret_row);
    return ERR_OK;
}

static enum err_code write_body(struct db *db, const struct tenant *tenant,
                                const struct assistant_row *row, struct err *err)
{
    static const struct db_statement update = {
        "store_assistant_modify",
        "UPDATE assistants SET body = $3 WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->body);
    return db_exec(db, &update, &args, NULL, err);
}

/* The body after `changes` replaced members of it; the caller frees. */
static char *changed_body(const char *body, const char *changes)
{
    json_auto_t *object = json_parse_own(body);
    json_auto_t *members = json_parse_own(changes);

    json_object_update(object, members);
    return json_text(object);
}

enum err_code store_assistant_modify(struct store *store, const struct tenant *tenant,
                                     const char *id, const char *changes,
                                     struct assistant_row *ret_row, struct err *err)
{
    struct assistant_row row = {0};
    AUTO_DB *db = NULL;
    char *body;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_body(db, tenant, id, &row, err);
    if (rc)
        return rc;

    body = changed_body(row.body, changes);
    free(row.body);
    row.body = body;
    rc = write_body(db, tenant, &row, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc) {
        assistant_row_clear(&row);
        return rc;
    }
    *ret_row = row;
    return ERR_OK;
}

enum err_code store_assistant_delete(struct store *store, const struct tenant *tenant,
                                     const char *id, struct err *err)
{
    static const struct db_statement delete = {
        "store_assistant_delete",
        "WITH gone AS (DELETE FROM assistants WHERE project_id = $1 AND id = $2"
        " RETURNING id, created_at AS place) " DELETION_MARKS_INSERT("'" LIST "'", "gone")};

    return db_find_by_id(store, &delete, tenant, id, not_found, NULL, err);
}
