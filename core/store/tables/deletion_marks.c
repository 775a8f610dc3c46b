#include "core/store/tables/deletion_marks.h"

#include "core/store/pg/db.h"

enum err_code deletion_mark_find(struct store *store, const struct tenant *tenant,
                                 const char *list, const char *id, bool *ret_found,
                                 int64_t *ret_place, struct err *err)
{
    static const struct db_statement find = {
        "deletion_mark_find",
        "SELECT place FROM deletion_marks WHERE project_id = $1 AND list = $2 AND id = $3"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, list);
    db_arg_text(&args, id);
    rc = db_once(store, &find, &args, &rows, err);
    if (rc)
        return rc;
    *ret_found = db_count(rows);
    if (*ret_found)
        *ret_place = db_int(rows, 0, 0);
    return ERR_OK;
}

enum err_code store_deletion_marks_forget(struct store *store, struct err *err)
{
    static const struct db_statement forget = {
        "deletion_marks_forget",
        "DELETE FROM deletion_marks WHERE deleted_at < " DELETION_MARKS_NOW " - $1::bigint"};
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, DELETION_MARK_SECONDS * INT64_C(1000000));
    return db_once(store, &forget, &args, NULL, err);
}
