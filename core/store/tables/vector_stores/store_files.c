/*
 * Files in vector stores.
 *
 * A file is attached by naming a document: the file, read and cut by a recipe. Documents are shared, so the same
 * file in five stores is read once. If the document is there already the file is completed at once, else it waits, and
 * the statement that makes the document ready completes all that wait for it (documents.c).
 *
 * Both sides must not miss each other. Attaching locks the document, or makes it, before it looks at the document's
 * state; making it ready locks the document before it looks who waits. So one of them comes second, and sees the other.
 *
 * A file may be deleted while it is being attached. Attaching holds a share of the file's row until its COMMIT, and the
 * deletion looks for the stores of the file only after it has deleted that row.
 */

#include "core/store/tables/vector_stores/store_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"
#include "core/store/pg/state.h"
#include "core/store/tables/files/file_sql.h"
#include "core/store/tables/files/storage_sql.h"
#include "core/store/tables/vector_stores/documents.h"
#include "core/store/tables/vector_stores/embedding_models.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"
#include "core/store/tables/vector_stores/vector_stores.h"

#define STORE_FILE_COLUMNS                                                                    \
    "f.file_id, f.vector_store_id, f.document_id, f.status, f.attributes, f.chunk_tokens,"    \
    " f.overlap_tokens, f.error_code, f.error_message, f.usage_bytes, f.created_at,"          \
    " d.page_count, d.chunk_count, x.filename, x.bytes FROM vector_store_files f"             \
    " LEFT JOIN documents d ON d.project_id = f.project_id AND d.id = f.document_id"          \
    " LEFT JOIN files x ON x.project_id = f.project_id AND x.id = f.file_id AND " FILE_ALIVE( \
        "x")

static enum err_code file_unknown(const char *id, struct err *err)
{
    return err_refuse(err, ERR_NOT_FOUND, REASON_UNSET, "id", "No such File object: %.64s", id);
}

static void store_file_read(const struct db_rows *rows, size_t row,
                            struct store_file_row *ret_row)
{
    *ret_row = (struct store_file_row){
        .status = store_file_status_parse(db_text(rows, row, 3)),
        .attributes = db_copy(rows, row, 4),
        .chunk_tokens = (int)db_int(rows, row, 5),
        .overlap_tokens = (int)db_int(rows, row, 6),
        .error_code = db_copy(rows, row, 7),
        .error_message = db_copy(rows, row, 8),
        .usage_bytes = (uint64_t)db_int(rows, row, 9),
        .created_at = db_int(rows, row, 10),
        .pages = (size_t)db_int(rows, row, 11),
        .chunks = (size_t)db_int(rows, row, 12),
        .filename = db_copy(rows, row, 13),
        .file_bytes = (uint64_t)db_int(rows, row, 14),
    };
    db_id(rows, row, 0, ret_row->file_id, sizeof(ret_row->file_id));
    db_id(rows, row, 1, ret_row->store_id, sizeof(ret_row->store_id));
    db_id(rows, row, 2, ret_row->document_id, sizeof(ret_row->document_id));
}

void store_file_row_clear(struct store_file_row *row)
{
    free(row->attributes);
    free(row->error_code);
    free(row->error_message);
    free(row->filename);
    *row = (struct store_file_row){0};
}

void store_file_rows_free(struct store_file_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store_file_row_clear(&rows[i]);
    free(rows);
}

/* ---- Attaching ---- */

/* What is attached, as columns: the arrays are parameters. */
struct columns {
    size_t count;
    int model_id; /* whose vectors their documents are to have */
    const char **files;
    const char **attributes;
    const char **recipes; /* points into recipe_texts */
    char (*recipe_texts)[DOCUMENT_RECIPE_SIZE];
    int64_t *chunk_tokens, *overlap_tokens;
    /* Of their documents: */
    const char **documents;
    char (*document_ids)[ID_SIZE];
    const char **states;
    int64_t *bytes;
};

static void columns_clear(struct columns *columns)
{
    free(columns->files);
    free(columns->attributes);
    free(columns->recipes);
    free(columns->recipe_texts);
    free(columns->chunk_tokens);
    free(columns->overlap_tokens);
    free(columns->documents);
    free(columns->document_ids);
    free(columns->states);
    free(columns->bytes);
}

static void columns_init(struct columns *columns, const struct store *store,
                         const struct store_file_new *files, size_t count, int model_id)
{
    *columns = (struct columns){
        .count = count,
        .model_id = model_id,
        .files = mem_new_array(const char *, count + 1),
        .attributes = mem_new_array(const char *, count + 1),
        .recipes = mem_new_array(const char *, count + 1),
        .recipe_texts = mem_zeroed(count + 1, DOCUMENT_RECIPE_SIZE),
        .chunk_tokens = mem_new_array(int64_t, count + 1),
        .overlap_tokens = mem_new_array(int64_t, count + 1),
        .documents = mem_new_array(const char *, count + 1),
        .document_ids = mem_zeroed(count + 1, ID_SIZE),
        .states = mem_new_array(const char *, count + 1),
        .bytes = mem_new_array(int64_t, count + 1),
    };
    for (size_t i = 0; i < count; i++) {
        document_recipe(store, files[i].chunk_tokens, files[i].overlap_tokens, model_id,
                        columns->recipe_texts[i]);
        id_make(columns->document_ids[i], "doc_");
        columns->files[i] = files[i].file_id;
        columns->attributes[i] = files[i].attributes;
        columns->recipes[i] = columns->recipe_texts[i];
        columns->chunk_tokens[i] = files[i].chunk_tokens;
        columns->overlap_tokens[i] = files[i].overlap_tokens;
        columns->documents[i] = columns->document_ids[i];
    }
}

static enum err_code first_missing(struct db *db, const struct tenant *tenant,
                                   const struct columns *columns, struct err *err)
{
    static const struct db_statement find = {
        "store_files_missing",
        "SELECT u.id FROM unnest($2::text[]) WITH ORDINALITY u (id, n) WHERE NOT EXISTS"
        " (SELECT FROM files f WHERE f.project_id = $1 AND f.id = u.id AND " FILE_ALIVE(
            "f") ")"
                 " ORDER BY u.n LIMIT 1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, columns->files, columns->count);
    rc = db_exec(db, &find, &args, &rows, err);
    if (rc)
        return rc;
    return file_unknown(db_count(rows) ? db_text(rows, 0, 0) : columns->files[0], err);
}

static enum err_code lock_files(struct db *db, const struct tenant *tenant,
                                const struct columns *columns, struct err *err)
{
    static const struct db_statement lock = {
        "store_files_lock",
        "SELECT f.id FROM files f WHERE f.project_id = $1"
        " AND f.id = ANY ($2::text[]) AND " FILE_ALIVE("f") " ORDER BY f.id FOR SHARE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, columns->files, columns->count);
    rc = db_exec(db, &lock, &args, &rows, err);
    if (rc || db_count(rows) == columns->count)
        return rc;
    return first_missing(db, tenant, columns, err);
}

/* Finds or makes the documents, and locks them. One that failed is tried anew. */
static enum err_code take_documents(struct db *db, const struct tenant *tenant,
                                    struct columns *columns, struct err *err)
{
    static const struct db_statement upsert = {
        "store_files_documents",
        "WITH taken AS (INSERT INTO documents AS d (project_id, id, file_id, recipe, state,"
        "   next_try_at, queued_at, model_id, offered_model)"
        "  SELECT $1, u.id, u.file_id, u.recipe, 'queued', " VECTOR_STORES_NOW
        ", " VECTOR_STORES_NOW
        ", $5::integer, $5::integer FROM unnest($2::text[], $3::text[], $4::text[])"
        "   u (id, file_id, recipe) ORDER BY u.file_id, u.recipe"
        "  ON CONFLICT (project_id, file_id, recipe) DO UPDATE SET"
        "   attempts = CASE d.state WHEN 'failed' THEN 0 ELSE d.attempts END,"
        "   tries = CASE d.state WHEN 'failed' THEN 0 ELSE d.tries END,"
        "   faults = CASE d.state WHEN 'failed' THEN 0 ELSE d.faults END,"
        "   next_try_at = CASE d.state WHEN 'failed' THEN excluded.next_try_at"
        "    ELSE d.next_try_at END,"
        "   queued_at = CASE d.state WHEN 'failed' THEN excluded.queued_at"
        "    ELSE d.queued_at END,"
        "   state = CASE d.state WHEN 'failed' THEN 'queued' ELSE d.state END"
        "  RETURNING d.id, d.file_id, d.state, d.usage_bytes)"
        " SELECT u.n, t.id, t.state = 'ready', t.usage_bytes"
        " FROM unnest($3::text[]) WITH ORDINALITY u (file_id, n)"
        " JOIN taken t ON t.file_id = u.file_id"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, columns->documents, columns->count);
    db_arg_texts(&args, columns->files, columns->count);
    db_arg_texts(&args, columns->recipes, columns->count);
    db_arg_int(&args, columns->model_id);
    rc = db_exec(db, &upsert, &args, &rows, err);
    for (size_t i = 0; !rc && i < db_count(rows); i++) {
        size_t n = (size_t)db_int(rows, i, 0) - 1;
        bool ready = db_bool(rows, i, 2);

        db_id(rows, i, 1, columns->document_ids[n], ID_SIZE);
        columns->states[n] =
            store_file_status_name(ready ? STORE_FILE_COMPLETED : STORE_FILE_IN_PROGRESS);
        columns->bytes[n] = ready ? db_int(rows, i, 3) : 0;
    }
    return rc;
}

static enum err_code why_not_used(struct db *db, const struct tenant *tenant, const char *id,
                                  struct err *err)
{
    enum err_code rc = vector_store_lock(db, tenant, id, err);

    return rc ? rc : vector_store_expired(id, err);
}

/* Locks the store, and notes that it is used. */
static enum err_code use_store(struct db *db, const struct tenant *tenant, const char *id,
                               struct err *err)
{
    static const struct db_statement use = {
        "store_files_use",
        "UPDATE vector_stores v SET last_active_at = " VECTOR_STORES_NOW
        ", expires_at = " VECTOR_STORES_NOW " + v.expires_days * 86400000000"
        " WHERE v.project_id = $1 AND v.id = $2 AND NOT " VECTOR_STORE_EXPIRED};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &use, &args, &rows, err);
    if (rc || db_changed(rows))
        return rc;
    return why_not_used(db, tenant, id, err);
}

/* The store is locked, so nothing else changes its rows meanwhile, and `before` is what the upsert finds. */
static enum err_code put_rows(struct db *db, const struct tenant *tenant, const char *store_id,
                              const char *batch_id, const struct columns *columns,
                              struct err *err)
{
    static const struct db_statement put = {
        "store_files_put",
        "WITH input AS MATERIALIZED (SELECT * FROM unnest($3::text[], $4::text[], "
        "$5::text[],"
        "   $6::text[], $7::bigint[], $8::bigint[], $9::bigint[]) WITH ORDINALITY"
        "   u (file_id, document_id, status, attributes, bytes, chunk, overlap, n)),"
        " before AS MATERIALIZED (SELECT f.file_id, f.document_id, f.searched_id, "
        "f.status,"
        "   f.attributes, f.usage_bytes FROM vector_store_files f"
        "  WHERE f.project_id = $1 AND f.vector_store_id = $2"
        "   AND f.file_id = ANY ($3::text[])),"
        " put AS (INSERT INTO vector_store_files AS f (project_id, vector_store_id, "
        "file_id,"
        "   document_id, searched_id, status, attributes, chunk_tokens, overlap_tokens,"
        "   usage_bytes, batch_id, created_at)"
        "  SELECT $1, $2, i.file_id, i.document_id, CASE i.status WHEN 'completed'"
        "    THEN i.document_id ELSE b.searched_id END, i.status,"
        "   coalesce(i.attributes::jsonb, b.attributes, '{}'), i.chunk, i.overlap, "
        "i.bytes,"
        "   $10, " VECTOR_STORES_NOW " + i.n"
        "  FROM input i LEFT JOIN before b ON b.file_id = i.file_id"
        "  ON CONFLICT (project_id, vector_store_id, file_id) DO UPDATE SET"
        "   document_id = excluded.document_id, searched_id = excluded.searched_id,"
        "   status = excluded.status, attributes = excluded.attributes,"
        "   chunk_tokens = excluded.chunk_tokens, overlap_tokens = "
        "excluded.overlap_tokens,"
        "   usage_bytes = excluded.usage_bytes, error_code = NULL, error_message = "
        "NULL,"
        "   batch_id = coalesce(excluded.batch_id, f.batch_id)"
        "  RETURNING f.file_id, f.document_id, f.searched_id, f.status, f.usage_bytes),"
        " diff AS (SELECT $2 AS store_id, b.status AS was, p.status AS becomes,"
        "   coalesce(b.usage_bytes, 0) AS was_bytes, p.usage_bytes AS becomes_bytes"
        "  FROM put p LEFT JOIN before b ON b.file_id = p.file_id), " STORE_COUNTERS
        ", " STORE_LEAVES("SELECT b.document_id FROM before b JOIN put p ON p.file_id ="
                          "  b.file_id WHERE p.document_id <> b.document_id"
                          " UNION ALL SELECT b.searched_id FROM before b JOIN put p ON"
                          "  p.file_id = b.file_id WHERE p.searched_id <> "
                          "b.searched_id") " SELECT v.in_progress + v.completed + "
                                           "v.failed + v.cancelled"
                                           "  + (SELECT count(*) FROM put p) - (SELECT "
                                           "count(*) FROM before b)"
                                           " FROM vector_stores v WHERE v.project_id = "
                                           "$1 AND v.id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, store_id);
    db_arg_texts(&args, columns->files, columns->count);
    db_arg_texts(&args, columns->documents, columns->count);
    db_arg_texts(&args, columns->states, columns->count);
    db_arg_texts(&args, columns->attributes, columns->count);
    db_arg_ints(&args, columns->bytes, columns->count);
    db_arg_ints(&args, columns->chunk_tokens, columns->count);
    db_arg_ints(&args, columns->overlap_tokens, columns->count);
    db_arg_text(&args, batch_id);
    rc = db_exec(db, &put, &args, &rows, err);
    if (rc || db_int(rows, 0, 0) <= VECTOR_STORE_FILES_LIMIT)
        return rc;
    return err_refuse(err, ERR_INVALID, REASON_TOO_MANY_FILES, NULL,
                      "The vector store %.64s would have more than %d files.", store_id,
                      VECTOR_STORE_FILES_LIMIT);
}

enum err_code store_files_attach_in(struct db *db, const struct tenant *tenant,
                                    const char *store_id, const char *batch_id,
                                    const struct store_file_new *files, size_t count,
                                    struct err *err)
{
    CLEANUP(columns_clear) struct columns columns;
    enum err_code rc;

    columns_init(&columns, db->store, files, count, store_embedding_model_id(db->store));
    rc = storage_check(db, tenant, err);
    if (!rc)
        rc = lock_files(db, tenant, &columns, err);
    if (!rc)
        rc = take_documents(db, tenant, &columns, err);
    if (!rc)
        rc = use_store(db, tenant, store_id, err);
    if (!rc)
        rc = put_rows(db, tenant, store_id, batch_id, &columns, err);
    if (!rc)
        db_wake(db, WAKEUP_INGEST, NULL);
    return rc;
}

/* A store that is missing matters more than a file that is. */
static enum err_code look_first(struct store *store, const struct tenant *tenant,
                                const char *store_id, struct err *err)
{
    return store_vector_stores_check(store, tenant, &store_id, 1, NULL, err);
}

enum err_code store_files_attach(struct store *store, const struct tenant *tenant,
                                 const char *store_id, const struct store_file_new *files,
                                 size_t count, struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = look_first(store, tenant, store_id, err);

    if (!rc)
        rc = db_begin(store, &db, err);
    if (!rc)
        rc = store_files_attach_in(db, tenant, store_id, NULL, files, count, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Batches ---- */

static enum err_code batch_unknown(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "No file batch found with id '%.64s'.", id);
}

static enum err_code insert_batch(struct db *db, const struct tenant *tenant,
                                  const struct file_batch_row *row, struct err *err)
{
    static const struct db_statement insert = {
        "store_file_batch_create",
        "INSERT INTO file_batches (project_id, id, vector_store_id, created_at)"
        " VALUES ($1, $2, $3, " VECTOR_STORES_NOW ")"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->store_id);
    return db_exec(db, &insert, &args, NULL, err);
}

enum err_code store_file_batch_create(struct store *store, const struct tenant *tenant,
                                      const struct idempotency *idempotency,
                                      const struct store_file_new *files, size_t count,
                                      struct file_batch_row *row, struct err *err)
{
    char first[ID_LIMIT + 1];
    AUTO_DB *db = NULL;
    enum err_code rc = look_first(store, tenant, row->store_id, err);

    if (!rc)
        rc = idempotency_begin(store, tenant, idempotency, row->id, &db, first, err);
    if (rc)
        return rc;
    if (!db)
        return store_file_batch_get(store, tenant, row->store_id, first, row, err);
    rc = store_files_attach_in(db, tenant, row->store_id, row->id, files, count, err);
    if (!rc)
        rc = insert_batch(db, tenant, row, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc)
        return rc;
    db_end(TAKE(db));
    return store_file_batch_get(store, tenant, row->store_id, row->id, row, err);
}

static void add_owner(struct db_args *args, const struct tenant *tenant, const char *store_id,
                      const char *id)
{
    db_arg_tenant(args, tenant);
    db_arg_text(args, store_id);
    db_arg_text(args, id);
}

enum err_code store_file_batch_get(struct store *store, const struct tenant *tenant,
                                   const char *store_id, const char *id,
                                   struct file_batch_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_file_batch_get",
        "SELECT b.id, b.vector_store_id, b.cancelled, b.created_at,"
        " count(*) FILTER (WHERE f.status = 'in_progress'),"
        " count(*) FILTER (WHERE f.status = 'completed'),"
        " count(*) FILTER (WHERE f.status = 'failed'),"
        " count(*) FILTER (WHERE f.status = 'cancelled')"
        " FROM file_batches b LEFT JOIN vector_store_files f"
        "  ON f.project_id = b.project_id AND f.batch_id = b.id"
        " WHERE b.project_id = $1 AND b.vector_store_id = $2 AND b.id = $3"
        " GROUP BY b.id, b.vector_store_id, b.cancelled, b.created_at"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    add_owner(&args, tenant, store_id, id);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return batch_unknown(id, err);
    ret_row->cancelled = db_bool(rows, 0, 2);
    ret_row->created_at = db_int(rows, 0, 3);
    for (int i = 0; i < STORE_FILE_STATUS_COUNT; i++)
        ret_row->counts[i] = (uint64_t)db_int(rows, 0, 4 + i);
    db_id(rows, 0, 0, ret_row->id, sizeof(ret_row->id));
    db_id(rows, 0, 1, ret_row->store_id, sizeof(ret_row->store_id));
    return ERR_OK;
}

static enum err_code cancel_files(struct db *db, const struct tenant *tenant, const char *id,
                                  size_t *ret_count, struct err *err)
{
    static const struct db_statement end = {"store_file_batch_end",
                                            STORE_FILES_END("f.batch_id = $2")};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, store_file_status_name(STORE_FILE_CANCELLED));
    db_arg_text(&args, NULL);
    db_arg_text(&args, NULL);
    db_arg_int(&args, 0);
    rc = db_exec(db, &end, &args, &rows, err);
    if (!rc)
        *ret_count = (size_t)db_int(rows, 0, 0);
    db_wake(db, WAKEUP_FILES, NULL);
    return rc;
}

static enum err_code mark_cancelled(struct db *db, const struct tenant *tenant, const char *id,
                                    struct err *err)
{
    static const struct db_statement mark = {
        "store_file_batch_cancel",
        "UPDATE file_batches SET cancelled = true WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    return db_exec(db, &mark, &args, NULL, err);
}

enum err_code store_file_batch_cancel(struct store *store, const struct tenant *tenant,
                                      const char *store_id, const char *id,
                                      struct file_batch_row *ret_row, struct err *err)
{
    AUTO_DB *db = NULL;
    size_t count = 0;
    enum err_code rc = store_file_batch_get(store, tenant, store_id, id, ret_row, err);

    if (!rc)
        rc = db_begin(store, &db, err);
    if (!rc)
        rc = vector_store_lock(db, tenant, store_id, err);
    if (!rc)
        rc = cancel_files(db, tenant, id, &count, err);
    if (!rc && count)
        rc = mark_cancelled(db, tenant, id, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc)
        return rc;
    db_end(TAKE(db));
    return store_file_batch_get(store, tenant, store_id, id, ret_row, err);
}

/* ---- Looking ---- */

static enum err_code store_file_unknown(const char *store_id, const char *file_id,
                                        struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "No file found with id '%.64s' in vector store '%.64s'.",
                   file_id, store_id);
}

/* Names the one of the two that is missing. */
static enum err_code not_in_store(struct store *store, const struct tenant *tenant,
                                  const char *store_id, const char *file_id, struct err *err)
{
    struct vector_store_row row;
    enum err_code rc = store_vector_store_get(store, tenant, store_id, &row, err);

    if (rc)
        return rc;
    vector_store_row_clear(&row);
    return store_file_unknown(store_id, file_id, err);
}

enum err_code store_store_file_get(struct store *store, const struct tenant *tenant,
                                   const char *store_id, const char *file_id,
                                   struct store_file_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_store_file_get",
        "SELECT " STORE_FILE_COLUMNS
        " WHERE f.project_id = $1 AND f.vector_store_id = $2 AND f.file_id = $3"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    add_owner(&args, tenant, store_id, file_id);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return not_in_store(store, tenant, store_id, file_id, err);
    store_file_read(rows, 0, ret_row);
    return ERR_OK;
}

/* Where a cursor stands, also if its file is gone. */
static enum err_code find_place(struct store *store, const struct tenant *tenant,
                                const char *store_id, const char *param, const char *id,
                                int64_t *ret_place, struct err *err)
{
    static const struct db_statement find = {"store_store_file_place",
                                             "SELECT created_at FROM vector_store_files"
                                             " WHERE project_id = $1 AND vector_store_id = $2"
                                             " AND file_id = $3"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    bool found = false;
    enum err_code rc;

    if (!*id)
        return ERR_OK;
    add_owner(&args, tenant, store_id, id);
    rc = db_once(store, &find, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows)) {
        *ret_place = db_int(rows, 0, 0);
        return ERR_OK;
    }
    rc = deletion_mark_find(store, tenant, store_id, id, &found, ret_place, err);
    return rc || found ? rc : page_cursor_unknown(param, id, err);
}

#define STORE_FILE_LIST(order)                                                           \
    "SELECT " STORE_FILE_COLUMNS " WHERE f.project_id = $1 AND f.vector_store_id = $2"   \
    " AND ($3::text IS NULL OR f.batch_id = $3) AND ($4::text IS NULL OR f.status = $4)" \
    " AND (f.created_at, f.file_id) > ($5::bigint, coalesce($6, ''))"                    \
    " AND (f.created_at, f.file_id) < ($7::bigint, coalesce($8, '~'))"                   \
    " ORDER BY f.created_at " order ", f.file_id " order " LIMIT $9"

enum err_code store_store_file_list(struct store *store, const struct tenant *tenant,
                                    const struct store_file_filter *filter,
                                    const struct page *page, struct store_file_row **ret_rows,
                                    size_t *ret_count, bool *ret_more, struct err *err)
{
    static const struct db_statement lists[] = {
        {"store_store_file_list_desc", STORE_FILE_LIST("DESC")},
        {"store_store_file_list_asc", STORE_FILE_LIST("ASC")},
    };
    const struct page_scan scan = page_scan(page);
    int64_t after = page->ascending ? -1 : INT64_MAX;
    int64_t before = page->ascending ? INT64_MAX : -1;
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc =
        find_place(store, tenant, filter->store_id, "after", page->after, &after, err);

    if (!rc)
        rc = find_place(store, tenant, filter->store_id, "before", page->before, &before, err);
    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, filter->store_id);
    db_arg_text(&args, filter->batch_id);
    db_arg_text(&args, filter->status);
    db_arg_int(&args, page->ascending ? after : before);
    db_arg_id(&args, scan.low);
    db_arg_int(&args, page->ascending ? before : after);
    db_arg_id(&args, scan.high);
    db_arg_int(&args, scan.limit);
    rc = db_once(store, &lists[scan.ascending], &args, &rows, err);
    if (!rc)
        page_unroll(&scan, rows, store_file_read, ret_rows, ret_count, ret_more);
    return rc;
}

/* ---- Changing ---- */

enum err_code store_store_file_modify(struct store *store, const struct tenant *tenant,
                                      const char *store_id, const char *file_id,
                                      const char *attributes, struct store_file_row *ret_row,
                                      struct err *err)
{
    static const struct db_statement update = {
        "store_store_file_modify",
        "UPDATE vector_store_files SET attributes = $4::jsonb"
        " WHERE project_id = $1 AND vector_store_id = $2 AND file_id = $3"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    add_owner(&args, tenant, store_id, file_id);
    db_arg_text(&args, attributes);
    rc = db_once(store, &update, &args, &rows, err);
    return rc ? rc : store_store_file_get(store, tenant, store_id, file_id, ret_row, err);
}

static enum err_code remove_file(struct db *db, const struct tenant *tenant,
                                 const char *store_id, const char *file_id, struct err *err)
{
    static const struct db_statement remove = {
        "store_store_file_delete",
        STORE_FILES_REMOVE("f.vector_store_id = $2 AND f.file_id = $3")};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    add_owner(&args, tenant, store_id, file_id);
    db_wake(db, WAKEUP_FILES, NULL);
    rc = db_exec(db, &remove, &args, &rows, err);
    if (rc || db_int(rows, 0, 0))
        return rc;
    return store_file_unknown(store_id, file_id, err);
}

enum err_code store_store_file_delete(struct store *store, const struct tenant *tenant,
                                      const char *store_id, const char *file_id,
                                      struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = vector_store_lock(db, tenant, store_id, err);
    if (!rc)
        rc = remove_file(db, tenant, store_id, file_id, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Files that are deleted ---- */

static enum err_code lock_stores_of(struct db *db, const struct tenant *tenant,
                                    const char *file_id, size_t *ret_count, struct err *err)
{
    static const struct db_statement lock = {
        "store_files_stores",
        "SELECT v.id FROM vector_stores v WHERE v.project_id = $1 AND v.id IN"
        " (SELECT f.vector_store_id FROM vector_store_files f WHERE f.project_id = $1"
        "  AND f.file_id = $2) ORDER BY v.id FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, file_id);
    rc = db_exec(db, &lock, &args, &rows, err);
    if (!rc)
        *ret_count = db_count(rows);
    return rc;
}

enum err_code store_files_forget_in(struct db *db, const struct tenant *tenant,
                                    const char *file_id, struct err *err)
{
    static const struct db_statement remove = {"store_files_forget",
                                               STORE_FILES_REMOVE("f.file_id = $2")};
    AUTO_DB_ARGS args = {0};
    size_t count = 0;
    enum err_code rc = lock_stores_of(db, tenant, file_id, &count, err);

    if (rc || !count)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, file_id);
    db_wake(db, WAKEUP_FILES, NULL);
    return db_exec(db, &remove, &args, NULL, err);
}
