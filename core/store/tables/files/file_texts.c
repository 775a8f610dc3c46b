#include "core/store/tables/files/file_texts.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/tables/files/file_sql.h"

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

/* The lock makes a deletion wait, which then finds the text. */
enum err_code store_file_text_put(struct store *store, const struct tenant *tenant,
                                  const struct file_row *file, int version, const char *text,
                                  size_t pages, struct err *err)
{
    static const struct db_statement insert = {
        "store_file_text_put",
        "INSERT INTO file_texts (project_id, file_id, blob_id, version, pages, text)"
        " SELECT f.project_id, f.id, f.blob_id, $4, $5, $6 FROM files f"
        "  WHERE f.project_id = $1 AND f.id = $2 AND f.blob_id = $3 FOR KEY SHARE"
        " ON CONFLICT (project_id, file_id) DO UPDATE SET blob_id = excluded.blob_id,"
        "  version = excluded.version, pages = excluded.pages, text = excluded.text"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, file->id);
    db_arg_text(&args, file->blob_id);
    db_arg_int(&args, version);
    db_arg_int(&args, (int64_t)pages);
    db_arg_text(&args, text);
    return db_once(store, &insert, &args, NULL, err);
}

enum err_code file_text_forget_in(struct db *db, const struct tenant *tenant,
                                  const char *file_id, struct err *err)
{
    static const struct db_statement delete = {
        "store_file_text_forget",
        "DELETE FROM file_texts WHERE project_id = $1 AND file_id = $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, file_id);
    return db_exec(db, &delete, &args, NULL, err);
}
