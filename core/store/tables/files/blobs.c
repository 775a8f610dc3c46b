#include "core/store/tables/files/blobs.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"

#define NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

#define BLOB_COLUMNS "id, place, home, bytes, sha256"

static enum err_code not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "There are no bytes with the id '%.64s'.", id);
}

static void blob_read(const struct db_rows *rows, size_t row, struct blob_row *ret_row)
{
    size_t size;
    AUTO_FREE char *sha256 = db_bytes(rows, row, 4, &size);

    *ret_row = (struct blob_row){.place = blob_place_parse(db_text(rows, row, 1)),
                                 .bytes = (uint64_t)db_int(rows, row, 3)};
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
    db_id(rows, row, 2, ret_row->home, sizeof(ret_row->home));
    if (sha256 && size == sizeof(ret_row->sha256))
        memcpy(ret_row->sha256, sha256, size);
}

enum err_code store_blob_begin(struct store *store, const struct tenant *tenant,
                               const struct blob_row *row, struct err *err)
{
    static const struct db_statement insert = {
        "store_blob_begin",
        "INSERT INTO blobs (project_id, id, place, home, holders, changed_at)"
        " VALUES ($1, $2, $3, $4, 0, " NOW ")"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, blob_place_name(row->place));
    db_arg_text(&args, row->home);
    return db_once(store, &insert, &args, NULL, err);
}

enum err_code store_blob_touch(struct store *store, const struct tenant *tenant, const char *id,
                               struct err *err)
{
    static const struct db_statement update = {
        "store_blob_touch", "UPDATE blobs SET changed_at = " NOW
                            " WHERE project_id = $1 AND id = $2 AND bytes IS NULL"
                            " AND holders = 0"};

    return db_find_by_id(store, &update, tenant, id, not_found, NULL, err);
}

enum err_code store_blob_written(struct store *store, const struct tenant *tenant,
                                 const struct blob_row *row, struct err *err)
{
    static const struct db_statement update = {
        "store_blob_written", "UPDATE blobs SET bytes = $3, sha256 = $4, changed_at = " NOW
                              " WHERE project_id = $1 AND id = $2 AND bytes IS NULL"
                              " AND holders = 0"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_int(&args, (int64_t)row->bytes);
    db_arg_bytes(&args, row->sha256, sizeof(row->sha256));
    rc = db_once(store, &update, &args, &rows, err);
    if (rc)
        return rc;
    return db_changed(rows) ? ERR_OK : not_found(row->id, err);
}

enum err_code store_blob_get(struct store *store, const struct tenant *tenant, const char *id,
                             struct blob_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_blob_get", "SELECT " BLOB_COLUMNS " FROM blobs WHERE project_id = $1"
                          " AND id = $2 AND bytes IS NOT NULL AND holders >= 0"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &select, tenant, id, not_found, &rows, err);

    if (!rc)
        blob_read(rows, 0, ret_row);
    return rc;
}

enum err_code store_blob_doom(struct store *store, const struct tenant *tenant, const char *id,
                              struct blob_row *ret_row, struct err *err)
{
    static const struct db_statement update = {
        "store_blob_doom", "UPDATE blobs SET holders = -1 WHERE project_id = $1 AND id = $2"
                           " AND holders <= 0 RETURNING " BLOB_COLUMNS};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &update, tenant, id, not_found, &rows, err);

    if (!rc)
        blob_read(rows, 0, ret_row);
    return rc;
}

enum err_code store_blob_forget(struct store *store, const struct tenant *tenant,
                                const char *id, struct err *err)
{
    static const struct db_statement delete = {
        "store_blob_forget",
        "DELETE FROM blobs WHERE project_id = $1 AND id = $2 AND holders = -1"};

    return db_once_by_id(store, &delete, tenant, id, NULL, err);
}

/* ---- Pages ---- */

enum err_code store_blob_page_write(struct store *store, const struct tenant *tenant,
                                    const char *id, int64_t n, const void *bytes, size_t size,
                                    struct err *err)
{
    static const struct db_statement insert = {
        "store_blob_page_write",
        "WITH mine AS (SELECT b.id FROM blobs b WHERE b.project_id = $1 AND b.id = $2"
        "  AND b.bytes IS NULL AND b.holders = 0 FOR UPDATE)"
        " INSERT INTO blob_pages (project_id, blob_id, n, bytes)"
        " SELECT $1, mine.id, $3, $4 FROM mine"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, n);
    db_arg_bytes(&args, bytes, size);
    rc = db_once(store, &insert, &args, &rows, err);
    if (rc)
        return rc;
    return db_changed(rows) ? ERR_OK : not_found(id, err);
}

enum err_code store_blob_page_read(struct store *store, const struct tenant *tenant,
                                   const char *id, int64_t n, size_t at, void *ret_bytes,
                                   size_t size, struct err *err)
{
    static const struct db_statement select = {
        "store_blob_page_read", "SELECT substr(bytes, $4::integer, $5::integer) FROM blob_pages"
                                " WHERE project_id = $1 AND blob_id = $2 AND n = $3"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    AUTO_FREE char *bytes = NULL;
    size_t got = 0;
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, n);
    db_arg_int(&args, (int64_t)at + 1);
    db_arg_int(&args, (int64_t)size);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows))
        bytes = db_bytes(rows, 0, 0, &got);
    if (got != size)
        return not_found(id, err);
    memcpy(ret_bytes, bytes, size);
    return ERR_OK;
}

enum err_code store_blob_pages_remove(struct store *store, const struct tenant *tenant,
                                      const char *id, struct err *err)
{
    static const struct db_statement delete = {
        "store_blob_pages_remove",
        "DELETE FROM blob_pages WHERE project_id = $1 AND blob_id = $2"};

    return db_once_by_id(store, &delete, tenant, id, NULL, err);
}

/* ---- The keeper's ---- */

enum err_code store_blobs_stale(struct store *store, const char *home, const char *bucket,
                                int64_t age_us, size_t limit, struct stale_blob **ret_blobs,
                                size_t *ret_count, struct err *err)
{
    static const struct db_statement select = {
        "store_blobs_stale", "SELECT project_id, id FROM blobs WHERE holders <= 0"
                             " AND changed_at <= " NOW " - $2::bigint"
                             " AND (place = 'database' OR home IN ($1, $4))"
                             " ORDER BY changed_at LIMIT $3"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    struct stale_blob *blobs;
    enum err_code rc;

    db_arg_text(&args, home);
    db_arg_int(&args, age_us);
    db_arg_int(&args, (int64_t)limit);
    db_arg_text(&args, bucket);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    blobs = mem_new_array(struct stale_blob, db_count(rows) + 1);
    for (size_t i = 0; i < db_count(rows); i++) {
        blobs[i].tenant = tenant_of_project(db_text(rows, i, 0));
        db_id(rows, i, 1, blobs[i].id, sizeof(blobs[i].id));
    }
    *ret_blobs = blobs;
    *ret_count = db_count(rows);
    return ERR_OK;
}
