/*
 * Pages of lists, found by key.
 *
 * A cursor is the id of a row, and a page is "up to n rows behind it" in an index. So the
 * thousandth page costs as much as the first, and rows that are added or deleted meanwhile
 * neither repeat nor shift the others. OFFSET would have to walk over all rows before the page.
 *
 * OpenAI's lists have two directions of their own (`order`) and two cursors (`after`, `before`).
 * `before` alone asks for the rows right in front of a row: the page is then read in the
 * opposite direction from there, and reversed. With both, `after` decides where it begins and
 * `before` where it ends. Each list therefore has two statements, ascending and descending, with
 * the same bounds `low` and `high`; this file computes which bound a cursor is.
 *
 * A cursor that names nothing in the list is refused before the list is read
 * (page_cursors_check()). Otherwise a misspelt id would give a page from some arbitrary place.
 * Clients delete what they have read, and then continue behind it. So the id of an object that
 * is gone is a cursor too, if this server can have made it.
 * The check and the list are two statements without a common transaction: a row that is deleted
 * in between leaves its place in the order of ids, and the page is right all the same.
 */

#include "core/store/pg/page.h"

#include "core/base/ids.h"

struct page_scan page_scan(const struct page *page)
{
    bool backwards = page->before[0] && !page->after[0];

    /* One row more than wanted: whether it exists is the answer to has_more. */
    return (struct page_scan){
        .ascending = page->ascending != backwards,
        .backwards = backwards,
        .low = page->ascending ? page->after : page->before,
        .high = page->ascending ? page->before : page->after,
        .limit = page->limit + 1,
    };
}

size_t page_count(const struct page_scan *scan, const struct db_rows *rows, bool *ret_more)
{
    size_t wanted = (size_t)scan->limit - 1;

    *ret_more = db_count(rows) > wanted;
    return *ret_more ? wanted : db_count(rows);
}

size_t page_row(const struct page_scan *scan, size_t count, size_t i)
{
    return scan->backwards ? count - 1 - i : i;
}

enum err_code page_cursor_unknown(const char *param, const char *id, struct err *err)
{
    return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                      "Invalid '%s': '%s'. Expected the ID of an object in this list.", param,
                      id);
}

static enum err_code check_cursor(struct store *store, const struct page_list *list,
                                  const struct tenant *tenant, const char *owner,
                                  const char *param, const char *id, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;
    int64_t time;

    if (!*id)
        return ERR_OK;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, owner);
    db_arg_text(&args, id);
    rc = db_once(store, &list->exists, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) || (list->prefix && id_time(id, list->prefix, &time)))
        return ERR_OK;
    return page_cursor_unknown(param, id, err);
}

enum err_code page_cursors_check(struct store *store, const struct page_list *list,
                                 const struct tenant *tenant, const char *owner,
                                 const struct page *page, struct err *err)
{
    enum err_code rc = check_cursor(store, list, tenant, owner, "after", page->after, err);

    return rc ? rc : check_cursor(store, list, tenant, owner, "before", page->before, err);
}

enum err_code page_read(struct store *store, const struct db_statement lists[2],
                        const struct page_list *list, const struct tenant *tenant,
                        const char *owner, const struct page *page, struct page_scan *ret_scan,
                        struct db_rows **ret_rows, struct err *err)
{
    const struct page_scan scan = page_scan(page);
    AUTO_DB_ARGS args = {0};
    enum err_code rc = page_cursors_check(store, list, tenant, owner ? owner : "", page, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    if (owner)
        db_arg_text(&args, owner);
    db_arg_id(&args, scan.low);
    db_arg_id(&args, scan.high);
    db_arg_int(&args, scan.limit);
    *ret_scan = scan;
    return db_once(store, &lists[scan.ascending], &args, ret_rows, err);
}
