/*
 * reindex.c -- the documents of a step are found by an index of all projects, and each is then handled by its project.
 *
 * The recipe of the successor may be taken: the file was attached anew somewhere since. Then that document takes
 * over: at once if it is ready, else when it is. One that is to replace another document already is left alone: a
 * later pass finds it ready.
 */

#include "core/store/tables/vector_stores/reindex.h"

#include <string.h>

#include "core/store/pg/db.h"
#include "core/store/pg/state.h"
#include "core/store/tables/vector_stores/document_sql.h"
#include "core/store/tables/vector_stores/documents.h"
#include "core/store/tables/vector_stores/embedding_models.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"
#include "core/store/tables/vector_stores/vector_stores.h"

#define FIRST " " /* stands before every project */

/* ---- The documents of a step ---- */

static enum err_code find_page(struct store *store, int model_id, size_t limit,
                               const struct reindex_pass *pass, struct db_rows **ret_rows,
                               struct err *err)
{
    static const struct db_statement find = {
        "store_reindex_page",
        "SELECT d.offered_model, d.project_id, d.id FROM documents d WHERE d.state = 'ready'"
        " AND d.offered_model < $1::integer"
        " AND (d.offered_model, d.project_id, d.id) > ($2::integer, $3, $4)"
        " ORDER BY d.offered_model, d.project_id, d.id LIMIT $5"};
    const struct tenant tenant = tenant_of_project(*pass->project ? pass->project : FIRST);
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, model_id);
    db_arg_int(&args, pass->offered_model);
    db_arg_tenant(&args, &tenant);
    db_arg_text(&args, pass->document);
    db_arg_int(&args, (int64_t)limit);
    return db_once(store, &find, &args, ret_rows, err);
}

/* How it was cut, and of which file, whose row is locked before documents are; no row: no store in use has it. */
static enum err_code find_use(struct db *db, const struct tenant *tenant, const char *id,
                              struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement find = {
        "store_reindex_use",
        "SELECT f.file_id, f.chunk_tokens, f.overlap_tokens FROM vector_store_files f"
        " JOIN vector_stores v ON v.project_id = $1 AND v.id = f.vector_store_id"
        " JOIN files x ON x.project_id = $1 AND x.id = f.file_id"
        " WHERE f.project_id = $1 AND f.document_id = $2 AND f.status = 'completed'"
        " AND NOT " VECTOR_STORE_EXPIRED " AND v.last_active_at > " VECTOR_STORES_NOW
        " - $3::bigint LIMIT 1 FOR SHARE OF x"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, (int64_t)REINDEX_DAYS * 86400 * 1000000);
    return db_exec(db, &find, &args, ret_rows, err);
}

/* ---- Its successor ---- */

struct successor {
    struct document_work work;
    bool ready;
    bool taken; /* it is to replace another document */
};

/* Finds or makes the successor, and locks it. */
static enum err_code take_successor(struct db *db, const struct tenant *tenant, const char *id,
                                    const struct db_rows *use, int model_id,
                                    struct successor *ret_successor, struct err *err)
{
    static const struct db_statement upsert = {
        "store_reindex_successor",
        "INSERT INTO documents AS d (project_id, id, file_id, recipe, state, next_try_at,"
        "  queued_at, model_id, offered_model, replaces)"
        " VALUES ($1, $2, $3, $4, 'queued', " VECTOR_STORES_NOW ", " VECTOR_STORES_NOW
        ", $5, $5, $6)"
        " ON CONFLICT (project_id, file_id, recipe) DO UPDATE SET"
        "  replaces = CASE WHEN d.state IN ('queued', 'parsing')"
        "   THEN coalesce(d.replaces, excluded.replaces) ELSE d.replaces END"
        " RETURNING d.id, d.state = 'ready', d.usage_bytes,"
        "  d.state IN ('queued', 'parsing') AND d.replaces <> $6"};
    char recipe[DOCUMENT_RECIPE_SIZE], fresh[ID_SIZE];
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    id_make(fresh, "doc_");
    document_recipe(db->store, (int)db_int(use, 0, 1), (int)db_int(use, 0, 2), model_id,
                    recipe);
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, fresh);
    db_arg_text(&args, db_text(use, 0, 0));
    db_arg_text(&args, recipe);
    db_arg_int(&args, model_id);
    db_arg_text(&args, id);
    rc = db_exec(db, &upsert, &args, &rows, err);
    if (rc)
        return rc;
    *ret_successor = (struct successor){.work.usage_bytes = (uint64_t)db_int(rows, 0, 2),
                                        .ready = db_bool(rows, 0, 1),
                                        .taken = db_bool(rows, 0, 3)};
    db_id(rows, 0, 0, ret_successor->work.id, ID_SIZE);
    (void)memcpy(ret_successor->work.replaces, id, strlen(id) + 1);
    return ERR_OK;
}

static enum err_code note_offered(struct db *db, const struct tenant *tenant, const char *id,
                                  int model_id, struct err *err)
{
    static const struct db_statement note = {
        "store_reindex_offered",
        "UPDATE documents SET offered_model = $3 WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, model_id);
    return db_exec(db, &note, &args, NULL, err);
}

static enum err_code offer(struct store *store, const struct tenant *tenant, const char *id,
                           int model_id, size_t *queued, struct err *err)
{
    struct successor successor;
    AUTO_DB_ROWS *use = NULL;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = find_use(db, tenant, id, &use, err);
    if (rc || !db_count(use))
        return rc;
    rc = take_successor(db, tenant, id, use, model_id, &successor, err);
    if (rc || successor.taken)
        return rc;
    if (successor.ready)
        rc = document_take_over(db, tenant, &successor.work, err);
    if (!rc)
        rc = note_offered(db, tenant, id, model_id, err);
    if (!rc && !successor.ready)
        db_wake(db, WAKEUP_INGEST, NULL);
    if (!rc)
        rc = db_commit(db, err);
    *queued += !rc && !successor.ready;
    return rc;
}

enum err_code store_reindex_step(struct store *store, int model_id, size_t limit,
                                 struct reindex_pass *pass, size_t *ret_queued, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    struct reindex_pass next = *pass;
    size_t queued = 0;
    enum err_code rc = find_page(store, model_id, limit, pass, &rows, err);

    for (size_t i = 0; !rc && i < db_count(rows); i++) {
        const struct tenant tenant = tenant_of_project(db_text(rows, i, 1));

        rc = offer(store, &tenant, db_text(rows, i, 2), model_id, &queued, err);
        next.offered_model = (int)db_int(rows, i, 0);
        db_id(rows, i, 1, next.project, sizeof(next.project));
        db_id(rows, i, 2, next.document, sizeof(next.document));
    }
    if (rc)
        return rc;
    next.ended = db_count(rows) < limit;
    *pass = next;
    *ret_queued = queued;
    return ERR_OK;
}

/* ---- One store ---- */

/* Without a model vectors that are there stay. */
static enum err_code find_others(struct store *store, const struct tenant *tenant,
                                 const char *store_id, int model_id, struct db_rows **ret_rows,
                                 struct err *err)
{
    static const struct db_statement find = {
        "store_reindex_store",
        "SELECT DISTINCT d.id FROM vector_store_files f"
        " JOIN documents d ON d.project_id = $1 AND d.id = f.document_id AND d.state = 'ready'"
        " WHERE f.project_id = $1 AND f.vector_store_id = $2 AND f.status = 'completed'"
        " AND CASE WHEN $3::integer = 0"
        "  THEN split_part(d.recipe, '/', 1) <> $4::integer::text"
        "  ELSE d.recipe <> concat_ws('/', $4::integer, f.chunk_tokens, f.overlap_tokens,"
        "   $3::integer) END"
        " AND NOT EXISTS (SELECT FROM documents s WHERE s.project_id = $1"
        "  AND s.file_id = d.file_id AND s.replaces = d.id)"
        " ORDER BY d.id LIMIT $5"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, store_id);
    db_arg_int(&args, model_id);
    db_arg_int(&args, DOCUMENT_RECIPE_VERSION);
    db_arg_int(&args, (int64_t)REINDEX_AT_ONCE + 1);
    return db_once(store, &find, &args, ret_rows, err);
}

enum err_code store_vector_store_reindex(struct store *store, const struct tenant *tenant,
                                         const char *store_id, size_t *ret_queued,
                                         bool *ret_more, struct err *err)
{
    int model_id = store_embedding_model_id(store);
    AUTO_DB_ROWS *rows = NULL;
    size_t queued = 0, count = 0;
    enum err_code rc = store_vector_stores_check(store, tenant, &store_id, 1, NULL, err);

    if (!rc)
        rc = store_vector_stores_touch(store, tenant, &store_id, 1, err);
    if (!rc)
        rc = find_others(store, tenant, store_id, model_id, &rows, err);
    if (!rc)
        count = db_count(rows) < REINDEX_AT_ONCE ? db_count(rows) : REINDEX_AT_ONCE;
    for (size_t i = 0; !rc && i < count; i++)
        rc = offer(store, tenant, db_text(rows, i, 0), model_id, &queued, err);
    if (rc)
        return rc;
    *ret_queued = queued;
    *ret_more = db_count(rows) > count;
    return ERR_OK;
}
