#include "core/store/pg/state.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/files/storage_sql.h"

void store_set_storage_limit(struct store *store, uint64_t bytes)
{
    atomic_store(&store->storage_limit, bytes);
}

static enum err_code refuse(uint64_t limit, struct err *err)
{
    return err_refuse(err, ERR_INVALID, REASON_STORAGE_QUOTA, NULL,
                      "The files of this project, with what was indexed of them, would have "
                      "more than %llu bytes.",
                      (unsigned long long)limit);
}

enum err_code storage_count(struct db *db, const struct tenant *tenant, int64_t bytes,
                            uint64_t limit, struct err *err)
{
    static const struct db_statement upsert = {
        "store_file_count",
        "INSERT INTO storage_use AS s (project_id, bytes) VALUES ($1, $2)"
        " ON CONFLICT (project_id) DO UPDATE SET bytes = s.bytes + excluded.bytes"
        " RETURNING s.bytes + s.document_bytes"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_int(&args, bytes);
    rc = db_exec(db, &upsert, &args, &rows, err);
    if (rc || !limit || bytes < 0 || db_int(rows, 0, 0) <= (int64_t)limit)
        return rc;
    return refuse(limit, err);
}

enum err_code storage_count_documents(struct db *db, const struct tenant *tenant, int64_t bytes,
                                      struct err *err)
{
    static const struct db_statement upsert = {
        "store_document_count",
        "INSERT INTO storage_use AS s (project_id, bytes, document_bytes) VALUES ($1, 0, $2)"
        " ON CONFLICT (project_id) DO UPDATE"
        " SET document_bytes = s.document_bytes + excluded.document_bytes"};
    AUTO_DB_ARGS args = {0};

    if (!bytes)
        return ERR_OK;
    db_arg_tenant(&args, tenant);
    db_arg_int(&args, bytes);
    return db_exec(db, &upsert, &args, NULL, err);
}

enum err_code storage_check(struct db *db, const struct tenant *tenant, struct err *err)
{
    static const struct db_statement select = {
        "store_storage_check", "SELECT 1 FROM storage_use s WHERE s.project_id = $1"
                               " AND s.bytes + s.document_bytes >= $2::bigint"};
    uint64_t limit = atomic_load(&db->store->storage_limit);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    if (!limit)
        return ERR_OK;
    db_arg_tenant(&args, tenant);
    db_arg_int(&args, (int64_t)limit);
    rc = db_exec(db, &select, &args, &rows, err);
    return rc || !db_count(rows) ? rc : refuse(limit, err);
}
