/*
 * Vector stores.
 *
 * A store has counters instead of counting its files each time that it is shown: stores may have ten thousand
 * files, and are shown in lists. vector_store_sql.h has the statements that move them.
 *
 * Whether a store has expired is a matter of the clock, not of the keeper: every statement that reads a store looks
 * at the time as well as at the mark. The keeper takes the files out of it later.
 */

#include "core/store/tables/vector_stores/vector_stores.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"

#define STORE_COLUMNS                                                                          \
    "v.id, v.name, v.description, v.metadata, v.expires_days, v.expires_at,"                   \
    " v.last_active_at, v.created_at, " VECTOR_STORE_EXPIRED ", v.usage_bytes, v.in_progress," \
    " v.completed, v.failed, v.cancelled"

enum err_code vector_store_not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "No vector store found with id '%.64s'.", id);
}

enum err_code vector_store_expired(const char *id, struct err *err)
{
    return err_refuse(err, ERR_INVALID, REASON_STORE_EXPIRED, NULL,
                      "The vector store %.64s has expired.", id);
}

static void store_read(const struct db_rows *rows, size_t row, struct vector_store_row *ret_row)
{
    *ret_row = (struct vector_store_row){
        .name = db_copy(rows, row, 1),
        .description = db_copy(rows, row, 2),
        .metadata = db_copy(rows, row, 3),
        .expires_days = (int)db_int(rows, row, 4),
        .expires_at = db_int(rows, row, 5),
        .last_active_at = db_int(rows, row, 6),
        .created_at = db_int(rows, row, 7),
        .expired = db_bool(rows, row, 8),
    };
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
    if (ret_row->expired)
        return;
    ret_row->usage_bytes = (uint64_t)db_int(rows, row, 9);
    for (int i = 0; i < STORE_FILE_STATUS_COUNT; i++)
        ret_row->counts[i] = (uint64_t)db_int(rows, row, 10 + i);
}

void vector_store_row_clear(struct vector_store_row *row)
{
    free(row->name);
    free(row->description);
    free(row->metadata);
    *row = (struct vector_store_row){0};
}

void vector_store_rows_free(struct vector_store_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        vector_store_row_clear(&rows[i]);
    free(rows);
}

/* ---- Making ---- */

static enum err_code insert_store(struct db *db, const struct tenant *tenant,
                                  const struct vector_store_row *row, const char *thread_id,
                                  struct err *err)
{
    static const struct db_statement insert = {
        "store_vector_store_create",
        "INSERT INTO vector_stores (project_id, id, name, description, metadata, expires_days,"
        "  created_at, last_active_at, expires_at, thread_id)"
        " VALUES ($1, $2, $3, $4, $5, nullif($6::integer, 0), $7, $7,"
        "  $7::bigint + nullif($6::integer, 0) * 86400000000, $8)"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->name);
    db_arg_text(&args, row->description);
    db_arg_text(&args, row->metadata);
    db_arg_int(&args, row->expires_days);
    db_arg_int(&args, row->created_at);
    db_arg_text(&args, thread_id);
    return db_exec(db, &insert, &args, NULL, err);
}

enum err_code store_filling_make(struct db *db, const struct tenant *tenant,
                                 const struct store_filling *filling, const char *thread_id,
                                 struct err *err)
{
    enum err_code rc = ERR_OK;

    if (!filling)
        return ERR_OK;
    if (filling->store)
        rc = insert_store(db, tenant, filling->store, thread_id, err);
    if (!rc && filling->count)
        rc = store_files_attach_in(db, tenant,
                                   filling->store ? filling->store->id : filling->store_id,
                                   NULL, filling->files, filling->count, err);
    return rc;
}

/* ---- Copying ---- */

static enum err_code lock_own(struct db *db, const struct tenant *tenant,
                              const struct store_copy *copy, bool *ret_own, struct err *err)
{
    static const struct db_statement lock = {
        "vector_store_copy_lock",
        "SELECT 1 FROM vector_stores v WHERE v.project_id = $1 AND v.id = $2"
        " AND v.thread_id = $3 AND NOT " VECTOR_STORE_EXPIRED " FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, copy->from);
    db_arg_text(&args, copy->from_thread);
    rc = db_exec(db, &lock, &args, &rows, err);
    if (!rc)
        *ret_own = db_count(rows) > 0;
    return rc;
}

static enum err_code copy_store(struct db *db, const struct tenant *tenant,
                                const struct store_copy *copy, struct err *err)
{
    static const struct db_statement insert = {
        "vector_store_copy",
        "INSERT INTO vector_stores (project_id, id, name, description, metadata, expires_days,"
        "  created_at, last_active_at, expires_at, thread_id)"
        " SELECT $1, $3, v.name, v.description, v.metadata, v.expires_days, " VECTOR_STORES_NOW
        ", " VECTOR_STORES_NOW ", " VECTOR_STORES_NOW " + v.expires_days * 86400000000, $4"
        " FROM vector_stores v WHERE v.project_id = $1 AND v.id = $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, copy->from);
    db_arg_text(&args, copy->to);
    db_arg_text(&args, copy->to_thread);
    return db_exec(db, &insert, &args, NULL, err);
}

static enum err_code copy_files(struct db *db, const struct tenant *tenant,
                                const struct store_copy *copy, struct err *err)
{
    static const struct db_statement insert = {
        "vector_store_copy_files",
        "WITH copied AS (INSERT INTO vector_store_files AS c (project_id, vector_store_id,"
        "   file_id, document_id, searched_id, status, attributes, chunk_tokens,"
        "   overlap_tokens, usage_bytes, created_at)"
        "  SELECT $1, $3, f.file_id, f.document_id, f.searched_id, f.status, f.attributes,"
        "   f.chunk_tokens, f.overlap_tokens, f.usage_bytes, f.created_at"
        "  FROM vector_store_files f WHERE f.project_id = $1 AND f.vector_store_id = $2"
        "   AND f.status IN ('in_progress', 'completed')"
        "  RETURNING c.vector_store_id AS store_id, c.status, c.usage_bytes),"
        " diff AS (SELECT c.store_id, NULL::text AS was, c.status AS becomes, 0 AS was_bytes,"
        "   c.usage_bytes AS becomes_bytes FROM copied c), " STORE_COUNTERS
        " SELECT count(*) FROM copied"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, copy->from);
    db_arg_text(&args, copy->to);
    db_allow_time(db);
    return db_exec(db, &insert, &args, NULL, err);
}

/* No file and no document is locked. Who ends a document, or deletes a file, locks the stores that have it, this one
 * among them. So either it has done that before, and is seen here, or its statement comes later, and sees the copy. */
enum err_code vector_store_copy_in(struct db *db, const struct tenant *tenant,
                                   const struct store_copy *copy, bool *ret_copied,
                                   struct err *err)
{
    bool own = false;
    enum err_code rc = lock_own(db, tenant, copy, &own, err);

    if (!rc && own)
        rc = copy_store(db, tenant, copy, err);
    if (!rc && own)
        rc = copy_files(db, tenant, copy, err);
    if (!rc)
        *ret_copied = own;
    return rc;
}

/* ---- Made once ---- */

/* Shows what is there now. */
static enum err_code reread(struct store *store, const struct tenant *tenant, const char *id,
                            struct vector_store_row *row, struct err *err)
{
    struct vector_store_row made;
    enum err_code rc = store_vector_store_get(store, tenant, id, &made, err);

    if (rc)
        return rc;
    vector_store_row_clear(row);
    *row = made;
    return ERR_OK;
}

enum err_code store_vector_store_create(struct store *store, const struct tenant *tenant,
                                        const struct idempotency *idempotency,
                                        const struct store_file_new *files, size_t count,
                                        struct vector_store_row *row, struct err *err)
{
    char first[ID_LIMIT + 1];
    AUTO_DB *db = NULL;
    enum err_code rc = idempotency_begin(store, tenant, idempotency, row->id, &db, first, err);

    if (rc)
        return rc;
    if (!db)
        return reread(store, tenant, first, row, err);
    rc = store_filling_make(
        db, tenant, &(struct store_filling){.store = row, .files = files, .count = count}, NULL,
        err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc)
        return rc;
    db_end(TAKE(db));
    return reread(store, tenant, row->id, row, err);
}

/* ---- Looking ---- */

enum err_code store_vector_store_get(struct store *store, const struct tenant *tenant,
                                     const char *id, struct vector_store_row *ret_row,
                                     struct err *err)
{
    static const struct db_statement select = {
        "store_vector_store_get",
        "SELECT " STORE_COLUMNS " FROM vector_stores v WHERE v.project_id = $1 AND v.id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc =
        db_find_by_id(store, &select, tenant, id, vector_store_not_found, &rows, err);

    if (!rc)
        store_read(rows, 0, ret_row);
    return rc;
}

/* The list of a project has no owner, see skills.c. */
#define STORE_LIST(order)                                                   \
    "SELECT " STORE_COLUMNS " FROM vector_stores v WHERE v.project_id = $1" \
    " AND v.id > coalesce($2, '') AND v.id < coalesce($3, '~')"             \
    " ORDER BY v.id " order " LIMIT $4"

enum err_code store_vector_store_list(struct store *store, const struct tenant *tenant,
                                      const struct page *page,
                                      struct vector_store_row **ret_rows, size_t *ret_count,
                                      bool *ret_more, struct err *err)
{
    static const struct db_statement list[] = {
        {"store_vector_store_list_desc", STORE_LIST("DESC")},
        {"store_vector_store_list_asc", STORE_LIST("ASC")},
    };
    static const struct page_list cursor = {
        {"store_vector_store_list_cursor",
         "SELECT 1 FROM vector_stores WHERE project_id = $1 AND $2::text = '' AND id = $3"},
        "vs_"};
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc = page_read(store, list, &cursor, tenant, NULL, page, &scan, &rows, err);

    if (!rc)
        page_unroll(&scan, rows, store_read, ret_rows, ret_count, ret_more);
    return rc;
}

enum err_code store_vector_stores_check(struct store *store, const struct tenant *tenant,
                                        const char *const *ids, size_t count, size_t *ret_bad,
                                        struct err *err)
{
    static const struct db_statement find = {
        "store_vector_stores_check",
        "SELECT u.n, v.id IS NULL FROM unnest($2::text[]) WITH ORDINALITY u (id, n)"
        " LEFT JOIN vector_stores v ON v.project_id = $1 AND v.id = u.id"
        " WHERE v.id IS NULL OR " VECTOR_STORE_EXPIRED " ORDER BY u.n LIMIT 1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;
    size_t bad;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    rc = db_once(store, &find, &args, &rows, err);
    if (rc || !db_count(rows))
        return rc;
    bad = (size_t)db_int(rows, 0, 0) - 1;
    if (ret_bad)
        *ret_bad = bad;
    return db_bool(rows, 0, 1) ? vector_store_not_found(ids[bad], err)
                               : vector_store_expired(ids[bad], err);
}

enum err_code store_vector_stores_busy(struct store *store, const char *const *projects,
                                       const char *const *ids, size_t count, bool *ret_busy,
                                       struct err *err)
{
    static const struct db_statement find = {
        "store_vector_stores_busy",
        "SELECT u.n FROM unnest($1::text[], $2::text[]) WITH ORDINALITY u (project_id, id, n)"
        " WHERE EXISTS (SELECT FROM vector_stores v WHERE v.project_id = u.project_id"
        "  AND v.id = u.id AND v.in_progress > 0 AND NOT " VECTOR_STORE_EXPIRED ")"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_texts(&args, projects, count);
    db_arg_texts(&args, ids, count);
    rc = db_once(store, &find, &args, &rows, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++)
        ret_busy[i] = false;
    for (size_t i = 0; i < db_count(rows); i++)
        ret_busy[db_int(rows, i, 0) - 1] = true;
    return ERR_OK;
}

/* ---- Changing ---- */

enum err_code vector_store_lock(struct db *db, const struct tenant *tenant, const char *id,
                                struct err *err)
{
    static const struct db_statement lock = {
        "vector_store_lock",
        "SELECT 1 FROM vector_stores v WHERE v.project_id = $1 AND v.id = $2 FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &lock, &args, &rows, err);
    return rc || db_count(rows) ? rc : vector_store_not_found(id, err);
}

enum err_code store_vector_store_modify(struct store *store, const struct tenant *tenant,
                                        const char *id,
                                        const struct vector_store_change *change,
                                        struct vector_store_row *ret_row, struct err *err)
{
    static const struct db_statement update = {
        "store_vector_store_modify",
        "UPDATE vector_stores v SET name = coalesce($3, v.name),"
        " metadata = coalesce($4, v.metadata),"
        " expires_days = CASE WHEN $5::integer < 0 THEN v.expires_days"
        "  ELSE nullif($5::integer, 0) END,"
        " expires_at = v.last_active_at + CASE WHEN $5::integer < 0 THEN v.expires_days"
        "  ELSE nullif($5::integer, 0) END * 86400000000"
        " WHERE v.project_id = $1 AND v.id = $2 AND NOT " VECTOR_STORE_EXPIRED};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, change->name);
    db_arg_text(&args, change->metadata);
    db_arg_int(&args, change->expires_days);
    rc = db_once(store, &update, &args, &rows, err);
    if (!rc && !db_changed(rows))
        rc = store_vector_stores_check(store, tenant, &id, 1, NULL, err);
    return rc ? rc : store_vector_store_get(store, tenant, id, ret_row, err);
}

enum err_code store_vector_stores_touch(struct store *store, const struct tenant *tenant,
                                        const char *const *ids, size_t count, struct err *err)
{
    static const struct db_statement touch = {
        "store_vector_stores_touch",
        "WITH stale AS MATERIALIZED (SELECT v.id FROM vector_stores v WHERE v.project_id = $1"
        "  AND v.id = ANY ($2::text[]) AND NOT " VECTOR_STORE_EXPIRED
        "  AND v.last_active_at < " VECTOR_STORES_NOW " - " VECTOR_STORE_USE_US
        "  ORDER BY v.id FOR UPDATE SKIP LOCKED)"
        " UPDATE vector_stores v SET last_active_at = " VECTOR_STORES_NOW
        ", expires_at = " VECTOR_STORES_NOW " + v.expires_days * 86400000000"
        " FROM stale s WHERE v.project_id = $1 AND v.id = s.id"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    return db_once(store, &touch, &args, NULL, err);
}

/* ---- Deleting ---- */

static enum err_code remove_files(struct db *db, const struct tenant *tenant, const char *id,
                                  struct err *err)
{
    static const struct db_statement remove = {"store_vector_store_empty",
                                               STORE_FILES_REMOVE("f.vector_store_id = $2")};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_wake(db, WAKEUP_FILES, NULL);
    return db_exec(db, &remove, &args, NULL, err);
}

static enum err_code delete_rows(struct db *db, const struct tenant *tenant, const char *id,
                                 struct err *err)
{
    static const struct db_statement delete = {
        "store_vector_store_delete",
        "WITH batches AS (DELETE FROM file_batches b WHERE b.project_id = $1"
        "  AND b.vector_store_id = $2)"
        " DELETE FROM vector_stores WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    return db_exec(db, &delete, &args, NULL, err);
}

enum err_code store_vector_store_delete(struct store *store, const struct tenant *tenant,
                                        const char *id, struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = vector_store_lock(db, tenant, id, err);
    if (!rc)
        rc = remove_files(db, tenant, id, err);
    if (!rc)
        rc = delete_rows(db, tenant, id, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Expiring ---- */

static enum err_code find_expired(struct store *store, size_t limit, struct db_rows **ret_rows,
                                  struct err *err)
{
    static const struct db_statement select = {
        "store_vector_stores_expired",
        "SELECT v.project_id, v.id FROM vector_stores v WHERE v.expires_at "
        "<= " VECTOR_STORES_NOW " AND NOT v.expired ORDER BY v.expires_at LIMIT $1"};
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, (int64_t)limit);
    return db_once(store, &select, &args, ret_rows, err);
}

/* A use may have come first, so the mark looks again. */
static enum err_code expire_store(struct store *store, const struct tenant *tenant,
                                  const char *id, struct err *err)
{
    static const struct db_statement mark = {
        "store_vector_store_expire",
        "UPDATE vector_stores v SET expired = true WHERE v.project_id = $1 AND v.id = $2"
        " AND " VECTOR_STORE_EXPIRED};
    AUTO_DB *db = NULL;
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = db_begin(store, &db, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &mark, &args, &rows, err);
    if (!rc && db_changed(rows))
        rc = remove_files(db, tenant, id, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_vector_stores_expire(struct store *store, size_t limit, size_t *ret_count,
                                         struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_expired(store, limit, &rows, err);

    for (size_t i = 0; !rc && i < db_count(rows); i++) {
        const struct tenant tenant = tenant_of_project(db_text(rows, i, 0));

        rc = expire_store(store, &tenant, db_text(rows, i, 1), err);
    }
    if (!rc)
        *ret_count = db_count(rows);
    return rc;
}
