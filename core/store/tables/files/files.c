/*
 * Files: an upload under its name.
 *
 * Three things change together, in one transaction: the row, the count of the blob's holders, and the bytes
 * of the project. The last is a row that all uploads of a project change, so it comes last: it is
 * locked for the length of a COMMIT.
 *
 * A file that is deleted leaves all vector stores in the same transaction, and its text and pictures go, also when the
 * keeper deletes it.
 */

#include "core/store/tables/files/files.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"
#include "core/store/tables/files/file_sql.h"
#include "core/store/tables/files/file_texts.h"
#include "core/store/tables/files/storage_sql.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"

#define ALIVE FILE_ALIVE("f")
#define FILE_COLUMNS \
    "f.id, f.blob_id, f.filename, f.purpose, f.bytes, f.created_at, f.expires_at"

enum err_code file_not_found(const char *id, struct err *err)
{
    return err_refuse(err, ERR_NOT_FOUND, REASON_UNSET, "id", "No such File object: %.64s", id);
}

static void file_read(const struct db_rows *rows, size_t row, struct file_row *ret_row)
{
    *ret_row = (struct file_row){.filename = db_copy(rows, row, 2),
                                 .purpose = db_copy(rows, row, 3),
                                 .bytes = (uint64_t)db_int(rows, row, 4),
                                 .created_at = db_int(rows, row, 5),
                                 .expires_at = db_int(rows, row, 6)};
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
    db_id(rows, row, 1, ret_row->blob_id, sizeof(ret_row->blob_id));
}

enum err_code file_find_kept(struct store *store, const struct db_statement *select,
                             const struct tenant *tenant, const struct file_row *file,
                             int version, struct db_rows **ret_rows, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, file->id);
    db_arg_text(&args, file->blob_id);
    db_arg_int(&args, version);
    rc = db_once(store, select, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return err_set(err, ERR_NOT_FOUND, "nothing is kept of %s", file->id);
    *ret_rows = TAKE(rows);
    return ERR_OK;
}

enum err_code file_forget_kept(struct db *db, const struct db_statement *delete,
                               const struct tenant *tenant, const char *file_id,
                               int64_t *ret_bytes, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, file_id);
    rc = db_exec(db, delete, &args, &rows, err);
    if (!rc)
        *ret_bytes = db_count(rows) ? db_int(rows, 0, 0) : 0;
    return rc;
}

/* ---- Making ---- */

enum err_code blob_hold(struct db *db, const struct tenant *tenant, const char *blob_id,
                        struct err *err)
{
    static const struct db_statement update = {
        "store_file_hold", "UPDATE blobs SET holders = holders + 1, changed_at = " FILES_NOW
                           " WHERE project_id = $1 AND id = $2 AND bytes IS NOT NULL"
                           " AND holders >= 0"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, blob_id);
    rc = db_exec(db, &update, &args, &rows, err);
    if (rc || db_changed(rows))
        return rc;
    return err_set(err, ERR_STORE, "the bytes of %s were removed before they were used",
                   blob_id);
}

enum err_code file_share(struct db *db, const struct tenant *tenant,
                         const struct file_row *file, bool *ret_found, struct err *err)
{
    static const struct db_statement lock = {
        "store_file_share", "SELECT FROM files f WHERE f.project_id = $1 AND f.id = $2"
                            " AND f.blob_id = $3 FOR KEY SHARE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, file->id);
    db_arg_text(&args, file->blob_id);
    rc = db_exec(db, &lock, &args, &rows, err);
    if (!rc)
        *ret_found = db_count(rows) > 0;
    return rc;
}

enum err_code file_insert(struct db *db, const struct tenant *tenant,
                          const struct file_row *row, struct err *err)
{
    static const struct db_statement insert = {
        "store_file_create",
        "INSERT INTO files (project_id, id, blob_id, filename, purpose, bytes, created_at,"
        "  expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"};
    AUTO_DB_ARGS args = {0};
    enum err_code rc = blob_hold(db, tenant, row->blob_id, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->blob_id);
    db_arg_text(&args, row->filename);
    db_arg_text(&args, row->purpose);
    db_arg_int(&args, (int64_t)row->bytes);
    db_arg_int(&args, row->created_at);
    db_arg_time(&args, row->expires_at);
    return db_exec(db, &insert, &args, NULL, err);
}

/* Shows what the first request under a key has made, as it is now. */
static enum err_code reread(struct store *store, const struct tenant *tenant, const char *id,
                            struct file_row *row, struct err *err)
{
    struct file_row made;
    enum err_code rc = store_file_get(store, tenant, id, &made, err);

    if (rc)
        return rc;
    file_row_clear(row);
    *row = made;
    return ERR_OK;
}

enum err_code store_file_create(struct store *store, const struct tenant *tenant,
                                const struct idempotency *idempotency, uint64_t limit,
                                struct file_row *row, struct err *err)
{
    char first[ID_LIMIT + 1];
    AUTO_DB *db = NULL;
    enum err_code rc = idempotency_begin(store, tenant, idempotency, row->id, &db, first, err);

    if (rc)
        return rc;
    if (!db)
        return reread(store, tenant, first, row, err);
    rc = file_insert(db, tenant, row, err);
    if (!rc)
        rc = storage_count(db, tenant, (int64_t)row->bytes, limit, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Looking ---- */

enum err_code store_file_get(struct store *store, const struct tenant *tenant, const char *id,
                             struct file_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_file_get", "SELECT " FILE_COLUMNS " FROM files f WHERE f.project_id = $1"
                          " AND f.id = $2 AND " ALIVE};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &select, tenant, id, file_not_found, &rows, err);

    if (!rc)
        file_read(rows, 0, ret_row);
    return rc;
}

enum err_code store_files_missing(struct store *store, const struct tenant *tenant,
                                  const char *const *ids, size_t count, bool *ret_missing,
                                  size_t *ret_index, struct err *err)
{
    static const struct db_statement find = {
        "store_files_check",
        "SELECT u.n FROM unnest($2::text[]) WITH ORDINALITY u (id, n) WHERE NOT EXISTS"
        " (SELECT FROM files f WHERE f.project_id = $1 AND f.id = u.id AND " ALIVE ")"
        " ORDER BY u.n LIMIT 1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    rc = db_once(store, &find, &args, &rows, err);
    if (rc)
        return rc;
    *ret_missing = db_count(rows) > 0;
    if (*ret_missing)
        *ret_index = (size_t)db_int(rows, 0, 0) - 1;
    return ERR_OK;
}

enum err_code store_files_named(struct store *store, const struct tenant *tenant,
                                const char *const *ids, size_t count,
                                struct file_row **ret_rows, size_t *ret_count, struct err *err)
{
    static const struct db_statement select = {
        "store_files_named",
        "SELECT " FILE_COLUMNS " FROM unnest($2::text[]) WITH ORDINALITY u (id, n)"
        " JOIN files f ON f.project_id = $1 AND f.id = u.id AND " ALIVE " ORDER BY u.n"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_count = db_count(rows);
    *ret_rows = mem_new_array(struct file_row, *ret_count + 1);
    for (size_t i = 0; i < *ret_count; i++)
        file_read(rows, i, &(*ret_rows)[i]);
    return ERR_OK;
}

/* Without a purpose the list has no owner, see skills.c. */
#define FILE_LIST(owner, low, high, order, limit)                          \
    "SELECT " FILE_COLUMNS " FROM files f WHERE f.project_id = $1" owner   \
    " AND f.id > coalesce(" low ", '') AND f.id < coalesce(" high ", '~')" \
    " AND " ALIVE " ORDER BY f.id " order " LIMIT " limit

enum err_code store_file_list(struct store *store, const struct tenant *tenant,
                              const char *purpose, const struct page *page,
                              struct file_row **ret_rows, size_t *ret_count, bool *ret_more,
                              struct err *err)
{
    static const struct db_statement all[] = {
        {"store_file_list_desc", FILE_LIST("", "$2", "$3", "DESC", "$4")},
        {"store_file_list_asc", FILE_LIST("", "$2", "$3", "ASC", "$4")},
    };
    static const struct db_statement of_purpose[] = {
        {"store_file_purpose_desc", FILE_LIST(" AND f.purpose = $2", "$3", "$4", "DESC", "$5")},
        {"store_file_purpose_asc", FILE_LIST(" AND f.purpose = $2", "$3", "$4", "ASC", "$5")},
    };
    static const struct page_list cursor = {
        {"store_file_list_cursor",
         "SELECT 1 FROM files WHERE project_id = $1 AND $2::text IS NOT NULL AND id = $3"},
        "file-"};
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc = page_read(store, purpose ? of_purpose : all, &cursor, tenant, purpose,
                                 page, &scan, &rows, err);

    if (!rc)
        page_unroll(&scan, rows, file_read, ret_rows, ret_count, ret_more);
    return rc;
}

/* ---- Deleting ---- */

#define FILE_DELETE(which)                                                               \
    "WITH gone AS (DELETE FROM files f WHERE f.project_id = $1 AND f.id = $2 AND " which \
    "  RETURNING f.blob_id, f.bytes),"                                                   \
    " let_go AS (UPDATE blobs b SET holders = b.holders - 1, changed_at = " FILES_NOW    \
    "  FROM gone g WHERE b.project_id = $1 AND b.id = g.blob_id)"                        \
    " SELECT g.bytes FROM gone g"

static enum err_code delete_file(struct store *store, const struct db_statement *delete,
                                 const struct tenant *tenant, const char *id, bool *ret_found,
                                 struct err *err)
{
    AUTO_DB *db = NULL;
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    int64_t text = 0, pictures = 0;
    enum err_code rc = db_begin(store, &db, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, delete, &args, &rows, err);
    if (rc)
        return rc;
    *ret_found = db_count(rows) > 0;
    if (*ret_found)
        rc = store_files_forget_in(db, tenant, id, err);
    if (!rc && *ret_found)
        rc = file_text_forget_in(db, tenant, id, &text, err);
    if (!rc && *ret_found)
        rc = file_pictures_forget_in(db, tenant, id, &pictures, err);
    if (!rc && *ret_found)
        rc = storage_count(db, tenant, -db_int(rows, 0, 0), 0, err);
    if (!rc && *ret_found)
        rc = storage_count_documents(db, tenant, -text - pictures, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_file_delete(struct store *store, const struct tenant *tenant,
                                const char *id, struct err *err)
{
    static const struct db_statement delete = {"store_file_delete", FILE_DELETE(ALIVE)};
    bool found = false;
    enum err_code rc = delete_file(store, &delete, tenant, id, &found, err);

    return rc || found ? rc : file_not_found(id, err);
}

static enum err_code find_expired(struct store *store, size_t limit, struct db_rows **ret_rows,
                                  struct err *err)
{
    static const struct db_statement select = {
        "store_files_expired", "SELECT project_id, id FROM files WHERE expires_at <= " FILES_NOW
                               " ORDER BY expires_at LIMIT $1"};
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, (int64_t)limit);
    return db_once(store, &select, &args, ret_rows, err);
}

enum err_code store_files_expire(struct store *store, size_t limit, size_t *ret_count,
                                 struct err *err)
{
    static const struct db_statement delete = {"store_file_expire", FILE_DELETE("NOT " ALIVE)};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_expired(store, limit, &rows, err);

    for (size_t i = 0; !rc && i < db_count(rows); i++) {
        const struct tenant tenant = tenant_of_project(db_text(rows, i, 0));
        bool found;

        rc = delete_file(store, &delete, &tenant, db_text(rows, i, 1), &found, err);
    }
    if (!rc)
        *ret_count = db_count(rows);
    return rc;
}
