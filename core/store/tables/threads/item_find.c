#include "core/store/tables/threads/item_find.h"

#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/columns.h"

#define BY_ID                                                                   \
    " FROM unnest($2::text[]) u (id) CROSS JOIN LATERAL (SELECT * FROM items i" \
    "  WHERE i.project_id = $1 AND i.id = u.id"                                 \
    "  AND NOT i.hidden AND i.status <> 'in_progress' OFFSET 0) i"

/* A short request may name long items again and again. So the bytes to be copied are counted
 * before they are read. */
static enum err_code check_size(struct store *store, const struct tenant *tenant,
                                const char *const *ids, size_t count, struct err *err)
{
    static const struct db_statement measure = {
        "store_items_measure", "SELECT coalesce(sum(octet_length(i.body)), 0)::bigint" BY_ID};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    rc = db_once(store, &measure, &args, &rows, err);
    if (rc || db_int(rows, 0, 0) <= ITEM_FIND_BYTES)
        return rc;
    return err_refuse(err, ERR_INVALID, REASON_ITEMS_TOO_LARGE, NULL,
                      "Invalid 'input': the items that are referenced are too long together. "
                      "Expected at most %lld bytes, but got %lld instead.",
                      (long long)ITEM_FIND_BYTES, (long long)db_int(rows, 0, 0));
}

/* An item is visible through its thread, or through a response that has ended and was not
 * deleted. Items of an active response may still change, so they are not found. OFFSET 0 makes
 * each one access by key, whatever the size of the table was when this was planned. */
enum err_code store_items_find(struct store *store, const struct tenant *tenant,
                               const char *const *ids, size_t count,
                               struct item_row **ret_items, size_t *ret_count, struct err *err)
{
    static const struct db_statement find = {
        "store_items_find",
        "SELECT " ITEM_COLUMNS BY_ID
        " WHERE (i.left_position IS NULL AND EXISTS (SELECT FROM threads t"
        "   WHERE t.project_id = $1 AND t.id = i.thread_id))"
        "  OR EXISTS (SELECT FROM runs r WHERE r.project_id = $1 AND r.id = i.run_id"
        "   AND r.face = 'responses' AND r.deleted_at IS NULL"
        "   AND r.status IN ('completed', 'incomplete', 'failed'))"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc = check_size(store, tenant, ids, count, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    rc = db_once(store, &find, &args, &rows, err);
    if (!rc)
        *ret_items = item_rows_read(rows, ret_count);
    return rc;
}
