/*
 * Documents: work in the database.
 *
 * Claiming is fair by project: the one with the fewest documents at work comes first, then the one whose last claim is
 * the longest ago. So a single worker goes round the projects, too. The projects that have queued documents are found
 * by jumping along an index, one step a project, so a project with a hundred thousand waiting files costs the others
 * nothing. Nodes that claim at once skip each other's rows.
 *
 * The owner does its work without a transaction, and comes back with all of it. Without vectors that is one
 * transaction: a crash before its COMMIT leaves nothing. With vectors each step is kept: document_vectors.h.
 *
 * No file waits for the document any more when its stores, its batch or the file itself went meanwhile. Then
 * it is dropped: by the next claim, or by its owner when it comes back.
 */

#include "core/store/tables/vector_stores/documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/state.h"
#include "core/store/tables/files/storage_sql.h"
#include "core/store/tables/vector_stores/document_sql.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"

void store_documents_counted_by(struct store *store, uint32_t tokenizer)
{
    atomic_store(&store->tokenizer, tokenizer);
}

/* Six digits of the tokenizer's number: with all numbers at their longest the text still fits. */
void document_recipe(const struct store *store, int chunk_tokens, int overlap_tokens,
                     int model_id, char ret_recipe[DOCUMENT_RECIPE_SIZE])
{
    uint32_t tokenizer = atomic_load(&store->tokenizer);
    int length = snprintf(ret_recipe, DOCUMENT_RECIPE_SIZE, "%d/%d/%d", DOCUMENT_RECIPE_VERSION,
                          chunk_tokens, overlap_tokens);

    if (model_id)
        length += snprintf(ret_recipe + length, DOCUMENT_RECIPE_SIZE - (size_t)length, "/%d",
                           model_id);
    if (tokenizer)
        (void)snprintf(ret_recipe + length, DOCUMENT_RECIPE_SIZE - (size_t)length, "/t%06x",
                       tokenizer & 0xffffff);
}

void document_work_clear(struct document_work *work)
{
    free(work->filename);
    *work = (struct document_work){0};
}

/* ---- Claiming ---- */

static enum err_code claim_one(struct db *db, struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement claim = {
        "store_document_claim",
        "WITH RECURSIVE p (project_id) AS ("
        "  (SELECT d.project_id FROM documents d WHERE d.state = 'queued'"
        "   ORDER BY d.project_id LIMIT 1)"
        "  UNION ALL SELECT (SELECT d.project_id FROM documents d WHERE d.state = 'queued'"
        "    AND d.project_id > p.project_id ORDER BY d.project_id LIMIT 1)"
        "  FROM p WHERE p.project_id IS NOT NULL),"
        " due AS MATERIALIZED (SELECT p.project_id, o.next_try_at FROM p CROSS JOIN LATERAL"
        "  (SELECT d.next_try_at FROM documents d WHERE d.project_id = p.project_id"
        "    AND d.state = 'queued' AND d.next_try_at <= " VECTOR_STORES_NOW
        "    ORDER BY d.next_try_at, d.id LIMIT 1) o"
        "  LEFT JOIN ingest_turns t ON t.project_id = p.project_id"
        "  ORDER BY (SELECT count(*) FROM documents b WHERE b.project_id = p.project_id"
        "   AND b.state = 'parsing'), coalesce(t.turn, 0), o.next_try_at),"
        " picked AS MATERIALIZED (SELECT k.project_id, k.id FROM due CROSS JOIN LATERAL"
        "  (SELECT d.project_id, d.id FROM documents d WHERE d.project_id = due.project_id"
        "    AND d.state = 'queued' AND d.next_try_at <= " VECTOR_STORES_NOW
        "    ORDER BY d.next_try_at, d.id LIMIT 1 FOR UPDATE SKIP LOCKED) k LIMIT 1),"
        " turned AS (INSERT INTO ingest_turns (project_id, turn)"
        "  SELECT k.project_id, " VECTOR_STORES_NOW " FROM picked k"
        "  ON CONFLICT (project_id) DO UPDATE SET turn = EXCLUDED.turn)"
        " UPDATE documents d SET state = 'parsing', owner = $1, fence = d.fence + 1,"
        "  lease_until = clock_timestamp() + $2::bigint * interval '1 microsecond'"
        " FROM picked k WHERE d.project_id = k.project_id AND d.id = k.id"
        " RETURNING d.project_id, d.id, d.file_id, d.fence, d.attempts, d.tries, d.queued_at,"
        "  d.model_id, d.replaces, d.cut, d.page_count, d.chunk_count, d.embedded,"
        "  d.usage_bytes, d.faults"};
    AUTO_DB_ARGS args = {0};

    db_arg_text(&args, db->store->node_id);
    db_arg_int(&args, db->store->lease_us);
    return db_exec(db, &claim, &args, ret_rows, err);
}

/* $2, $3: a document, and the one that it replaces. */
#define WAITS_FOR(row)                                               \
    "((" row ".document_id = $2 AND " row ".status = 'in_progress')" \
    " OR (" row ".document_id = $3 AND " row ".status = 'completed'))"

/* What is known of it besides. No row: no file waits for it. */
static enum err_code find_rest(struct db *db, const struct tenant *tenant,
                               struct document_work *work, bool *ret_wanted, struct err *err)
{
    static const struct db_statement find = {
        "store_document_claimed",
        "SELECT s.chunk_tokens, s.overlap_tokens, f.blob_id, f.filename"
        " FROM vector_store_files s JOIN files f ON f.project_id = $1 AND f.id = s.file_id"
        " WHERE s.project_id = $1 AND " WAITS_FOR("s") " LIMIT 1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    document_work_args(&args, tenant, work);
    db_arg_id(&args, work->replaces);
    rc = db_exec(db, &find, &args, &rows, err);
    if (rc)
        return rc;
    *ret_wanted = db_count(rows);
    if (!*ret_wanted)
        return ERR_OK;
    work->chunk_tokens = (int)db_int(rows, 0, 0);
    work->overlap_tokens = (int)db_int(rows, 0, 1);
    work->filename = db_copy(rows, 0, 3);
    db_id(rows, 0, 2, work->blob_id, sizeof(work->blob_id));
    return ERR_OK;
}

static void work_read(const struct db_rows *rows, struct document_work *work)
{
    *work = (struct document_work){.fence = db_int(rows, 0, 3),
                                   .attempts = (int)db_int(rows, 0, 4),
                                   .tries = (int)db_int(rows, 0, 5),
                                   .queued_at = db_int(rows, 0, 6),
                                   .model_id = (int)db_int(rows, 0, 7),
                                   .cut = db_bool(rows, 0, 9),
                                   .pages = (size_t)db_int(rows, 0, 10),
                                   .chunks = (size_t)db_int(rows, 0, 11),
                                   .embedded = (size_t)db_int(rows, 0, 12),
                                   .usage_bytes = (uint64_t)db_int(rows, 0, 13),
                                   .faults = (int)db_int(rows, 0, 14)};
    db_id(rows, 0, 0, work->project, sizeof(work->project));
    db_id(rows, 0, 1, work->id, sizeof(work->id));
    db_id(rows, 0, 2, work->file_id, sizeof(work->file_id));
    if (!db_is_null(rows, 0, 8))
        db_id(rows, 0, 8, work->replaces, sizeof(work->replaces));
}

/* One step of the claim. *ret_found without *ret_wanted: one was dropped, and there may be another. */
static enum err_code claim_step(struct store *store, struct document_work *work,
                                bool *ret_found, bool *ret_wanted, struct err *err)
{
    AUTO_DB *db = NULL;
    AUTO_DB_ROWS *rows = NULL;
    struct tenant tenant;
    enum err_code rc = db_begin(store, &db, err);

    *ret_found = *ret_wanted = false;
    if (!rc)
        rc = claim_one(db, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return db_commit(db, err);
    *ret_found = true;
    work_read(rows, work);
    tenant = tenant_of_project(work->project);
    rc = find_rest(db, &tenant, work, ret_wanted, err);
    if (!rc && !*ret_wanted)
        rc = document_drop_in(db, &tenant, work->id, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_document_claim(struct store *store, struct document_work *ret_work,
                                   bool *ret_found, struct err *err)
{
    struct document_work work = {0};
    bool found = true, wanted = false;
    enum err_code rc = ERR_OK;

    while (!rc && found && !wanted) {
        document_work_clear(&work);
        rc = claim_step(store, &work, &found, &wanted, err);
    }
    if (rc) {
        document_work_clear(&work);
        return rc;
    }
    *ret_found = wanted;
    if (wanted)
        *ret_work = work;
    return ERR_OK;
}

/* ---- Under the fence ---- */

enum err_code store_document_progress(struct store *store, const struct document_work *work,
                                      size_t pages, size_t chunks, bool *ret_wanted,
                                      struct err *err)
{
    static const struct db_statement update = {
        "store_document_progress",
        "UPDATE documents SET page_count = $6::bigint, chunk_count = $7::bigint"
        " WHERE project_id = $1 AND id = $2 AND state = 'parsing' AND owner = $4 AND fence = $5"
        " RETURNING EXISTS (SELECT FROM vector_store_files s WHERE s.project_id = $1"
        "  AND " WAITS_FOR("s") ")"};
    const struct tenant tenant = tenant_of_project(work->project);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    document_work_args(&args, &tenant, work);
    db_arg_id(&args, work->replaces);
    db_arg_text(&args, store->node_id);
    db_arg_int(&args, work->fence);
    db_arg_int(&args, (int64_t)pages);
    db_arg_int(&args, (int64_t)chunks);
    rc = db_once(store, &update, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return document_lease_lost(work, err);
    *ret_wanted = db_bool(rows, 0, 0);
    return ERR_OK;
}

enum err_code store_document_retry(struct store *store, const struct document_work *work,
                                   int64_t delay_us, enum document_retry retry, struct err *err)
{
    static const struct db_statement update = {
        "store_document_retry",
        "UPDATE documents SET state = 'queued', owner = NULL, lease_until = NULL,"
        " next_try_at = " VECTOR_STORES_NOW " + $5::bigint, tries = tries + $6::integer,"
        " faults = faults + $7::integer"
        " WHERE project_id = $1 AND id = $2 AND state = 'parsing' AND owner = $3"
        " AND fence = $4"};
    const struct tenant tenant = tenant_of_project(work->project);
    AUTO_DB_ARGS args = {0};

    document_work_args(&args, &tenant, work);
    db_arg_text(&args, store->node_id);
    db_arg_int(&args, work->fence);
    db_arg_int(&args, delay_us);
    db_arg_int(&args, retry != RETRY_UNCOUNTED);
    db_arg_int(&args, retry == RETRY_FAULT);
    return db_once(store, &update, &args, NULL, err);
}

/* ---- The end ---- */

/* Locks the stores with files that wait for it. */
static enum err_code lock_stores(struct db *db, const struct tenant *tenant,
                                 const struct document_work *work, size_t *ret_count,
                                 struct err *err)
{
    static const struct db_statement lock = {
        "store_document_stores",
        "SELECT v.id FROM vector_stores v WHERE v.project_id = $1 AND v.id IN"
        " (SELECT f.vector_store_id FROM vector_store_files f WHERE f.project_id = $1"
        "  AND " WAITS_FOR("f") ") ORDER BY v.id FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    document_work_args(&args, tenant, work);
    db_arg_id(&args, work->replaces);
    rc = db_exec(db, &lock, &args, &rows, err);
    if (!rc)
        *ret_count = db_count(rows);
    return rc;
}

static enum err_code end_files(struct db *db, const struct tenant *tenant,
                               const struct document_work *work,
                               const struct document_outcome *outcome, size_t *ret_count,
                               struct err *err)
{
    static const struct db_statement end = {"store_document_files",
                                            STORE_FILES_END("f.document_id = $2")};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    document_work_args(&args, tenant, work);
    db_arg_text(&args, store_file_status_name(outcome->status));
    db_arg_text(&args, outcome->code);
    db_arg_text(&args, outcome->message);
    db_arg_int(&args, (int64_t)outcome->usage_bytes);
    rc = db_exec(db, &end, &args, &rows, err);
    if (!rc)
        *ret_count = (size_t)db_int(rows, 0, 0);
    db_wake(db, WAKEUP_FILES, NULL);
    return rc;
}

/* Files that are searched by the document that this one replaces are searched by this one. Adds how many to *count. */
static enum err_code switch_files(struct db *db, const struct tenant *tenant,
                                  const struct document_work *work, uint64_t usage_bytes,
                                  size_t *count, struct err *err)
{
    static const struct db_statement change = {
        "store_document_switch",
        "WITH before AS MATERIALIZED (SELECT f.vector_store_id, f.file_id, f.usage_bytes"
        "  FROM vector_store_files f WHERE f.project_id = $1 AND f.document_id = $3"
        "   AND f.status = 'completed'),"
        " switched AS (UPDATE vector_store_files f SET document_id = $2, searched_id = $2,"
        "   usage_bytes = $4::bigint FROM before b WHERE f.project_id = $1"
        "   AND f.vector_store_id = b.vector_store_id AND f.file_id = b.file_id"
        "   AND f.document_id = $3 AND f.status = 'completed'"
        "  RETURNING f.vector_store_id AS store_id, b.usage_bytes AS was_bytes),"
        " diff AS (SELECT s.store_id, 'completed'::text AS was, 'completed'::text AS becomes,"
        "   s.was_bytes, $4::bigint AS becomes_bytes FROM switched s), " STORE_COUNTERS
        ", " STORE_LEAVES("SELECT $3::text FROM switched s") " SELECT count(*) FROM switched"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    document_work_args(&args, tenant, work);
    db_arg_id(&args, work->replaces);
    db_arg_int(&args, (int64_t)usage_bytes);
    rc = db_exec(db, &change, &args, &rows, err);
    if (!rc)
        *count += (size_t)db_int(rows, 0, 0);
    return rc;
}

/* A document that has no vectors, although its recipe says so, gives the recipe free for one that will. */
static enum err_code end_document(struct db *db, const struct tenant *tenant,
                                  const struct document_work *work,
                                  const struct document_outcome *outcome, struct err *err)
{
    static const struct db_statement end = {
        "store_document_end",
        "UPDATE documents SET state = $3, owner = NULL, lease_until = NULL,"
        " page_count = $4::bigint, chunk_count = $5::bigint, usage_bytes = $6,"
        " embedded = $7::bigint, cut = false, replaces = NULL,"
        " model_id = CASE WHEN $8::bool THEN 0 ELSE model_id END,"
        " offered_model = CASE WHEN $8::bool THEN 0 ELSE offered_model END,"
        " recipe = CASE WHEN $8::bool THEN recipe || '!' || id ELSE recipe END"
        " WHERE project_id = $1 AND id = $2"};
    bool completed = outcome->status == STORE_FILE_COMPLETED;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    document_work_args(&args, tenant, work);
    db_arg_text(&args, completed ? "ready" : "failed");
    db_arg_int(&args, (int64_t)outcome->pages);
    db_arg_int(&args, (int64_t)outcome->chunks);
    db_arg_int(&args, (int64_t)outcome->usage_bytes);
    db_arg_int(&args, (int64_t)outcome->embedded);
    db_arg_bool(&args, completed && work->model_id && !outcome->embedded);
    rc = db_exec(db, &end, &args, NULL, err);
    return rc ? rc : storage_count_documents(db, tenant, (int64_t)outcome->usage_bytes, err);
}

enum err_code document_end(struct db *db, const struct tenant *tenant,
                           const struct document_work *work,
                           const struct document_outcome *outcome, struct err *err)
{
    size_t stores = 0, files = 0;
    bool completed = outcome->status == STORE_FILE_COMPLETED;
    enum err_code rc;

    db_allow_time(db);
    rc = lock_stores(db, tenant, work, &stores, err);
    if (!rc && stores)
        rc = end_files(db, tenant, work, outcome, &files, err);
    if (!rc && stores && completed && work->replaces[0])
        rc = switch_files(db, tenant, work, outcome->usage_bytes, &files, err);
    if (!rc && files && work->cut)
        rc = completed ? document_forget_vectors(db, tenant, work, err)
                       : document_forget_parts(db, tenant, work, err);
    if (!rc)
        rc = files ? end_document(db, tenant, work, outcome, err)
                   : document_drop_in(db, tenant, work->id, err);
    if (!rc)
        rc = db_commit(db, err);
    return rc || files ? rc : document_lease_lost(work, err);
}

enum err_code document_take_over(struct db *db, const struct tenant *tenant,
                                 const struct document_work *work, struct err *err)
{
    size_t stores = 0, files = 0;
    enum err_code rc = lock_stores(db, tenant, work, &stores, err);

    return rc || !stores ? rc : switch_files(db, tenant, work, work->usage_bytes, &files, err);
}

enum err_code store_document_fail(struct store *store, const struct document_work *work,
                                  const char *code, const char *message, struct err *err)
{
    const struct tenant tenant = tenant_of_project(work->project);
    const struct document_outcome outcome = {
        .status = STORE_FILE_FAILED, .code = code, .message = message};
    struct document_work held = *work;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = document_hold(db, &tenant, &held, err);
    return rc ? rc : document_end(db, &tenant, &held, &outcome, err);
}

enum err_code store_document_publish(struct store *store, const struct document_work *work,
                                     const struct document_made *made, struct err *err)
{
    const struct tenant tenant = tenant_of_project(work->project);
    const struct document_outcome outcome = {
        .status = STORE_FILE_COMPLETED,
        .pages = made->pages,
        .chunks = made->chunk_count,
        .usage_bytes = made->usage_bytes,
    };
    struct document_work held = *work;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = document_look(db, &tenant, work, err);
    if (!rc)
        rc = document_insert(db, &tenant, work, made, err);
    if (!rc)
        rc = document_hold(db, &tenant, &held, err);
    return rc ? rc : document_end(db, &tenant, &held, &outcome, err);
}

/* ---- Sweeping ---- */

static enum err_code find_left(struct store *store, int64_t grace_us, size_t limit,
                               struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement select = {
        "store_documents_left",
        "SELECT project_id, document_id FROM left_documents"
        " WHERE left_at <= " VECTOR_STORES_NOW " - $1::bigint ORDER BY left_at LIMIT $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, grace_us);
    db_arg_int(&args, (int64_t)limit);
    return db_once(store, &select, &args, ret_rows, err);
}

/* Behind the lock, because a file may be about to name the document. One that is at work is its owner's. */
static enum err_code lock_left(struct db *db, const struct tenant *tenant, const char *id,
                               struct err *err)
{
    static const struct db_statement lock = {
        "store_document_left_lock",
        "SELECT 1 FROM documents WHERE project_id = $1 AND id = $2 FOR UPDATE"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    return db_exec(db, &lock, &args, NULL, err);
}

static enum err_code is_named(struct db *db, const struct tenant *tenant, const char *id,
                              bool *ret_named, struct err *err)
{
    static const struct db_statement find = {
        "store_document_named",
        "SELECT EXISTS (SELECT FROM vector_store_files f WHERE f.project_id = $1"
        "  AND f.document_id = $2) OR EXISTS (SELECT FROM vector_store_files f"
        "  WHERE f.project_id = $1 AND f.searched_id = $2 AND f.searched_id <> f.document_id)"
        " OR EXISTS (SELECT FROM documents d WHERE d.project_id = $1 AND d.id = $2"
        "  AND d.state = 'parsing')"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &find, &args, &rows, err);
    if (!rc)
        *ret_named = db_bool(rows, 0, 0);
    return rc;
}

static enum err_code forget_left(struct db *db, const struct tenant *tenant, const char *id,
                                 struct err *err)
{
    static const struct db_statement forget = {
        "store_document_forget_left",
        "DELETE FROM left_documents WHERE project_id = $1 AND document_id = $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    return db_exec(db, &forget, &args, NULL, err);
}

static enum err_code sweep_one(struct store *store, const struct tenant *tenant, const char *id,
                               struct err *err)
{
    AUTO_DB *db = NULL;
    bool named = false;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_left(db, tenant, id, err);
    if (!rc)
        rc = is_named(db, tenant, id, &named, err);
    if (!rc)
        rc = named ? forget_left(db, tenant, id, err) : document_drop_in(db, tenant, id, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_documents_sweep(struct store *store, int64_t grace_us, size_t limit,
                                    size_t *ret_count, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_left(store, grace_us, limit, &rows, err);

    for (size_t i = 0; !rc && i < db_count(rows); i++) {
        const struct tenant tenant = tenant_of_project(db_text(rows, i, 0));

        rc = sweep_one(store, &tenant, db_text(rows, i, 1), err);
    }
    if (!rc)
        *ret_count = db_count(rows);
    return rc;
}

/* ---- Reading ---- */

enum err_code store_document_text(struct store *store, const struct tenant *tenant,
                                  const char *document_id, size_t n, char **ret_text,
                                  bool *ret_found, struct err *err)
{
    static const struct db_statement select = {
        "store_document_text", "SELECT text FROM document_texts WHERE project_id = $1"
                               " AND document_id = $2 AND n = $3"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, document_id);
    db_arg_int(&args, (int64_t)n);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_found = db_count(rows);
    if (*ret_found)
        *ret_text = db_copy(rows, 0, 0);
    return ERR_OK;
}

enum err_code store_document_paged(struct store *store, const struct tenant *tenant,
                                   const char *file_id, char ret_id[ID_SIZE], size_t *ret_pages,
                                   bool *ret_found, struct err *err)
{
    static const struct db_statement select = {
        "store_document_paged",
        "SELECT d.id, d.page_count FROM documents d WHERE d.project_id = $1 AND d.file_id = $2"
        " AND d.state = 'ready' AND d.page_count > 0 AND split_part(d.recipe, '/', 1) = $3"
        " AND d.page_count = (SELECT count(*) FROM document_texts t WHERE t.project_id = $1"
        "  AND t.document_id = d.id) LIMIT 1"};
    char version[DOCUMENT_RECIPE_SIZE];
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    (void)snprintf(version, sizeof(version), "%d", DOCUMENT_RECIPE_VERSION);
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, file_id);
    db_arg_text(&args, version);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_found = db_count(rows);
    if (*ret_found) {
        db_id(rows, 0, 0, ret_id, ID_SIZE);
        *ret_pages = (size_t)db_int(rows, 0, 1);
    }
    return ERR_OK;
}
