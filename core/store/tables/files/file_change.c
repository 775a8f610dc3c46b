/*
 * Files that get other bytes.
 *
 * A document belongs to a file and a recipe, and there is one of each (documents.h). So the documents of the old bytes
 * give their recipes free: attaching the file anew then makes new ones. An old one that is searched stays until its
 * successor is ready. One that is being made finds that no file waits for it, and is dropped.
 *
 * The file's row is locked before all else. Attaching takes a share of it, so no store gets the file meanwhile. Locks
 * of documents and stores follow in the order of vector_store_sql.h.
 */

#include "core/store/tables/files/file_change.h"

#include "core/store/pg/db.h"
#include "core/store/tables/files/file_sql.h"
#include "core/store/tables/files/file_texts.h"
#include "core/store/tables/files/storage_sql.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"

/* ---- Making ---- */

enum err_code store_file_make(struct store *store, const struct tenant *tenant, uint64_t limit,
                              const struct file_row *row, const char *store_id,
                              const struct store_file_new *attached, struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = file_insert(db, tenant, row, err);
    if (!rc && store_id)
        rc = store_files_attach_in(db, tenant, store_id, NULL, attached, 1, err);
    if (!rc)
        rc = storage_count(db, tenant, (int64_t)row->bytes, limit, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Other bytes ---- */

static enum err_code changed_meanwhile(const char *id, struct err *err)
{
    return err_set(err, ERR_CONFLICT, "%.64s was changed meanwhile. Read it again.", id);
}

static enum err_code lock_file(struct db *db, const struct tenant *tenant,
                               const struct file_row *row, struct err *err)
{
    static const struct db_statement lock = {"store_file_change_lock",
                                             "SELECT f.blob_id = $3 FROM files f"
                                             " WHERE f.project_id = $1 AND f.id = $2"
                                             " AND " FILE_ALIVE("f") " FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->blob_id);
    rc = db_exec(db, &lock, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return file_not_found(row->id, err);
    return db_bool(rows, 0, 0) ? ERR_OK : changed_meanwhile(row->id, err);
}

/* The row, and its hold on the blob. */
static enum err_code change_row(struct db *db, const struct tenant *tenant,
                                const struct file_row *row, const struct blob_row *blob,
                                struct err *err)
{
    static const struct db_statement change = {
        "store_file_change", "WITH changed AS (UPDATE files SET blob_id = $4, bytes = $5"
                             "  WHERE project_id = $1 AND id = $2)"
                             " UPDATE blobs SET holders = holders - 1, changed_at = " FILES_NOW
                             " WHERE project_id = $1 AND id = $3"};
    AUTO_DB_ARGS args = {0};
    enum err_code rc = blob_hold(db, tenant, blob->id, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->blob_id);
    db_arg_text(&args, blob->id);
    db_arg_int(&args, (int64_t)blob->bytes);
    return db_exec(db, &change, &args, NULL, err);
}

static enum err_code free_recipes(struct db *db, const struct tenant *tenant,
                                  const struct file_row *row, struct err *err)
{
    static const struct db_statement change = {
        "store_file_change_recipes",
        "UPDATE documents SET recipe = recipe || '!' || id WHERE project_id = $1"
        " AND file_id = $2 AND position('!' IN recipe) = 0"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    return db_exec(db, &change, &args, NULL, err);
}

/* The stores that the file is in, before anything that it leaves is noted (left_documents): another session that takes
 * the file out of one of them holds that store, and notes the same. */
static enum err_code lock_places(struct db *db, const struct tenant *tenant,
                                 const struct file_row *row, struct err *err)
{
    static const struct db_statement lock = {
        "store_file_change_places",
        "SELECT FROM vector_stores v WHERE v.project_id = $1 AND v.id IN"
        " (SELECT f.vector_store_id FROM vector_store_files f WHERE f.project_id = $1"
        "  AND f.file_id = $2 AND f.status <> 'cancelled')"
        " AND NOT " VECTOR_STORE_EXPIRED " ORDER BY v.id LIMIT $3 FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_int(&args, FILE_CHANGE_STORES + 1);
    rc = db_exec(db, &lock, &args, &rows, err);
    if (rc || db_count(rows) <= FILE_CHANGE_STORES)
        return rc;
    return err_set(err, ERR_LIMIT,
                   "%.64s is in more than %d vector stores, and cannot be changed.", row->id,
                   FILE_CHANGE_STORES);
}

/* Behind the locks: which of them still have the file, and how it is cut there. One that was taken back is left so. A
 * fork may have copied a store meanwhile. */
static enum err_code find_places(struct db *db, const struct tenant *tenant,
                                 const struct file_row *row, struct db_rows **ret_rows,
                                 struct err *err)
{
    static const struct db_statement find = {
        "store_file_change_stores",
        "SELECT f.vector_store_id, f.chunk_tokens, f.overlap_tokens FROM vector_store_files f"
        " JOIN vector_stores v ON v.project_id = $1 AND v.id = f.vector_store_id"
        " WHERE f.project_id = $1 AND f.file_id = $2 AND f.status <> 'cancelled'"
        " AND NOT " VECTOR_STORE_EXPIRED " ORDER BY f.vector_store_id"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    return db_exec(db, &find, &args, ret_rows, err);
}

/* A store that was deleted since its row was found changed meanwhile, like the file. */
static enum err_code attach_anew(struct db *db, const struct tenant *tenant,
                                 const struct file_row *row, const struct db_rows *places,
                                 struct err *err)
{
    struct err why = {0};
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < db_count(places); i++) {
        const struct store_file_new attached = {.file_id = row->id,
                                                .chunk_tokens = (int)db_int(places, i, 1),
                                                .overlap_tokens = (int)db_int(places, i, 2)};

        rc = store_files_attach_in(db, tenant, db_text(places, i, 0), NULL, &attached, 1, &why);
    }
    if (rc == ERR_NOT_FOUND || why.reason == REASON_STORE_EXPIRED)
        return changed_meanwhile(row->id, err);
    if (rc && err)
        *err = why;
    return rc;
}

enum err_code store_file_replace(struct store *store, const struct tenant *tenant,
                                 uint64_t limit, const struct file_row *row,
                                 const struct blob_row *blob, struct err *err)
{
    AUTO_DB *db = NULL;
    AUTO_DB_ROWS *places = NULL;
    int64_t text = 0, pictures = 0;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_file(db, tenant, row, err);
    if (!rc)
        rc = change_row(db, tenant, row, blob, err);
    if (!rc)
        rc = file_text_forget_in(db, tenant, row->id, &text, err);
    if (!rc)
        rc = file_pictures_forget_in(db, tenant, row->id, &pictures, err);
    if (!rc)
        rc = free_recipes(db, tenant, row, err);
    if (!rc)
        rc = lock_places(db, tenant, row, err);
    if (!rc)
        rc = find_places(db, tenant, row, &places, err);
    if (!rc)
        rc = attach_anew(db, tenant, row, places, err);
    if (!rc && blob->bytes != row->bytes)
        rc = storage_count(db, tenant, (int64_t)blob->bytes - (int64_t)row->bytes, limit, err);
    if (!rc)
        rc = storage_count_documents(db, tenant, -text - pictures, err);
    return rc ? rc : db_commit(db, err);
}
