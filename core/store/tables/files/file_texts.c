#include "core/store/tables/files/file_texts.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/tables/files/file_sql.h"
#include "core/store/tables/files/storage_sql.h"

void file_text_row_clear(struct file_text_row *row)
{
    free(row->text);
    *row = (struct file_text_row){0};
}

enum err_code store_file_text_get(struct store *store, const struct tenant *tenant,
                                  const struct file_row *file, int version,
                                  struct file_text_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_file_text_get", "SELECT text, pages FROM file_texts WHERE project_id = $1"
                               " AND file_id = $2 AND blob_id = $3 AND version = $4"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = file_find_kept(store, &select, tenant, file, version, &rows, err);

    if (!rc)
        *ret_row = (struct file_text_row){.text = db_copy(rows, 0, 0),
                                          .pages = (size_t)db_int(rows, 0, 1)};
    return rc;
}

static enum err_code insert_text(struct db *db, const struct tenant *tenant,
                                 const struct file_row *file, int version, const char *text,
                                 size_t pages, bool *ret_inserted, struct err *err)
{
    static const struct db_statement insert = {
        "store_file_text_put",
        "INSERT INTO file_texts (project_id, file_id, blob_id, version, pages, text)"
        " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project_id, file_id) DO NOTHING"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, file->id);
    db_arg_text(&args, file->blob_id);
    db_arg_int(&args, version);
    db_arg_int(&args, (int64_t)pages);
    db_arg_text(&args, text);
    rc = db_exec(db, &insert, &args, &rows, err);
    if (!rc)
        *ret_inserted = db_changed(rows) > 0;
    return rc;
}

/* Another call that was faster has the same text. */
enum err_code store_file_text_put(struct store *store, const struct tenant *tenant,
                                  const struct file_row *file, int version, const char *text,
                                  size_t pages, struct err *err)
{
    AUTO_DB *db = NULL;
    bool found = false, inserted = false;
    int64_t before = 0;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = file_share(db, tenant, file, &found, err);
    if (!rc && found)
        rc = file_text_forget_in(db, tenant, file->id, &before, err);
    if (!rc && found)
        rc = insert_text(db, tenant, file, version, text, pages, &inserted, err);
    if (!rc && inserted)
        rc = storage_count_documents(db, tenant, (int64_t)strlen(text) - before, err);
    return rc || !inserted ? rc : db_commit(db, err);
}

enum err_code file_text_forget_in(struct db *db, const struct tenant *tenant,
                                  const char *file_id, int64_t *ret_bytes, struct err *err)
{
    static const struct db_statement delete = {
        "store_file_text_forget", "DELETE FROM file_texts WHERE project_id = $1"
                                  " AND file_id = $2 RETURNING octet_length(text)"};

    return file_forget_kept(db, &delete, tenant, file_id, ret_bytes, err);
}
