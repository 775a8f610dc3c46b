#include "core/store/tables/files/file_pictures.h"

#include "core/store/pg/db.h"
#include "core/store/tables/files/file_sql.h"
#include "core/store/tables/files/storage_sql.h"

enum err_code store_file_pictures_get(struct store *store, const struct tenant *tenant,
                                      const struct file_row *file, int version,
                                      char ret_blob_id[ID_SIZE], struct err *err)
{
    static const struct db_statement select = {
        "store_file_pictures_get", "SELECT pictures_id FROM file_pictures WHERE project_id = $1"
                                   " AND file_id = $2 AND blob_id = $3 AND version = $4"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = file_find_kept(store, &select, tenant, file, version, &rows, err);

    if (!rc)
        db_id(rows, 0, 0, ret_blob_id, ID_SIZE);
    return rc;
}

static enum err_code insert_pictures(struct db *db, const struct tenant *tenant,
                                     const struct file_row *file, int version,
                                     const struct blob_row *blob, bool *ret_inserted,
                                     struct err *err)
{
    static const struct db_statement insert = {
        "store_file_pictures_put",
        "INSERT INTO file_pictures (project_id, file_id, blob_id, version, pictures_id, bytes)"
        " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project_id, file_id) DO NOTHING"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, file->id);
    db_arg_text(&args, file->blob_id);
    db_arg_int(&args, version);
    db_arg_text(&args, blob->id);
    db_arg_int(&args, (int64_t)blob->bytes);
    rc = db_exec(db, &insert, &args, &rows, err);
    if (!rc)
        *ret_inserted = db_changed(rows) > 0;
    return rc;
}

/* Those of an older version go first, with their blob. */
static enum err_code replace(struct db *db, const struct tenant *tenant,
                             const struct file_row *file, int version,
                             const struct blob_row *blob, bool *ret_kept, struct err *err)
{
    int64_t before = 0;
    enum err_code rc = storage_check(db, tenant, err);

    if (!rc)
        rc = file_pictures_forget_in(db, tenant, file->id, &before, err);
    if (!rc)
        rc = insert_pictures(db, tenant, file, version, blob, ret_kept, err);
    if (!rc && *ret_kept)
        rc = blob_hold(db, tenant, blob->id, err);
    if (!rc && *ret_kept)
        rc = storage_count_documents(db, tenant, (int64_t)blob->bytes - before, err);
    return rc;
}

enum err_code store_file_pictures_put(struct store *store, const struct tenant *tenant,
                                      const struct file_row *file, int version,
                                      const struct blob_row *blob, bool *ret_kept,
                                      struct err *err)
{
    AUTO_DB *db = NULL;
    bool found = false, kept = false;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = file_share(db, tenant, file, &found, err);
    if (!rc && found)
        rc = replace(db, tenant, file, version, blob, &kept, err);
    if (!rc && kept)
        rc = db_commit(db, err);
    if (!rc)
        *ret_kept = kept;
    return rc;
}

enum err_code file_pictures_forget_in(struct db *db, const struct tenant *tenant,
                                      const char *file_id, int64_t *ret_bytes, struct err *err)
{
    static const struct db_statement delete = {
        "store_file_pictures_forget",
        "WITH gone AS (DELETE FROM file_pictures WHERE project_id = $1 AND file_id = $2"
        "  RETURNING pictures_id, bytes),"
        " let_go AS (UPDATE blobs b SET holders = b.holders - 1, changed_at = " FILES_NOW
        "  FROM gone g WHERE b.project_id = $1 AND b.id = g.pictures_id)"
        " SELECT g.bytes FROM gone g"};

    return file_forget_kept(db, &delete, tenant, file_id, ret_bytes, err);
}
