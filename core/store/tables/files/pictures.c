#include "core/store/tables/files/pictures.h"

#include <stdbool.h>

#include "core/store/pg/db.h"
#include "core/store/tables/files/file_sql.h"
#include "core/store/tables/files/storage_sql.h"

static enum err_code insert_picture(struct db *db, const struct tenant *tenant,
                                    const struct blob_row *blob, struct err *err)
{
    static const struct db_statement insert = {
        "store_picture_add", "INSERT INTO pictures (project_id, id, bytes, check_at)"
                             " VALUES ($1, $2, $3, " FILES_NOW " + $4::bigint)"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, blob->id);
    db_arg_int(&args, (int64_t)blob->bytes);
    db_arg_int(&args, PICTURE_GRACE_SECONDS * (int64_t)1000000);
    return db_exec(db, &insert, &args, NULL, err);
}

enum err_code store_picture_add(struct store *store, const struct tenant *tenant,
                                const struct blob_row *blob, struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = storage_check(db, tenant, err);
    if (!rc)
        rc = insert_picture(db, tenant, blob, err);
    if (!rc)
        rc = blob_hold(db, tenant, blob->id, err);
    if (!rc)
        rc = storage_count_documents(db, tenant, (int64_t)blob->bytes, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- For the keeper ---- */

/* The picture waits for its item no longer, if it has one. One that is to wait longer meanwhile is left alone. */
static enum err_code keep(struct db *db, const struct tenant *tenant, const char *id,
                          int64_t check_at, bool *ret_kept, struct err *err)
{
    static const struct db_statement update = {
        "store_picture_keep",
        "UPDATE pictures SET check_at = NULL WHERE project_id = $1 AND id = $2"
        " AND check_at = $3 AND EXISTS (SELECT FROM item_pictures m JOIN items i ON "
        "i.project_id = m.project_id"
        "  AND i.id = m.item_id WHERE m.project_id = $1 AND m.picture_id = $2)"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, check_at);
    rc = db_exec(db, &update, &args, &rows, err);
    if (!rc)
        *ret_kept = db_changed(rows) > 0;
    return rc;
}

/* Nothing happens if another keeper was faster, or if the picture is to wait longer meanwhile. */
static enum err_code let_go(struct db *db, const struct tenant *tenant, const char *id,
                            int64_t check_at, struct err *err)
{
    static const struct db_statement delete = {
        "store_picture_let_go",
        "WITH gone AS (DELETE FROM pictures WHERE project_id = $1 AND id = $2"
        "  AND check_at = $3 RETURNING id, bytes),"
        " named AS (DELETE FROM item_pictures m USING gone g WHERE m.project_id = $1"
        "  AND m.picture_id = g.id),"
        " held AS (UPDATE blobs b SET holders = b.holders - 1, changed_at = " FILES_NOW
        "  FROM gone g WHERE b.project_id = $1 AND b.id = g.id)"
        " SELECT g.bytes FROM gone g"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, check_at);
    rc = db_exec(db, &delete, &args, &rows, err);
    if (rc || !db_count(rows))
        return rc;
    return storage_count_documents(db, tenant, -db_int(rows, 0, 0), err);
}

static enum err_code check(struct store *store, const struct tenant *tenant, const char *id,
                           int64_t check_at, struct err *err)
{
    AUTO_DB *db = NULL;
    bool kept = false;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = keep(db, tenant, id, check_at, &kept, err);
    if (!rc && !kept)
        rc = let_go(db, tenant, id, check_at, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_pictures_check(struct store *store, size_t limit, size_t *ret_count,
                                   struct err *err)
{
    static const struct db_statement select = {
        "store_pictures_due",
        "SELECT p.project_id, p.id, p.check_at FROM pictures p WHERE p.check_at < " FILES_NOW
        " ORDER BY p.check_at LIMIT $1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_int(&args, (int64_t)limit);
    rc = db_once(store, &select, &args, &rows, err);
    for (size_t i = 0; !rc && i < db_count(rows); i++) {
        const struct tenant tenant = tenant_of_project(db_text(rows, i, 0));

        rc = check(store, &tenant, db_text(rows, i, 1), db_int(rows, i, 2), err);
    }
    if (!rc)
        *ret_count = db_count(rows);
    return rc;
}
