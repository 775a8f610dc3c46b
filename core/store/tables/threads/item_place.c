/*
 * Where a cursor stands among the items of a thread.
 *
 * An item that is there has its position. One that is gone stands between two positions: the next item
 * may have been given its own. So as a lower bound it excludes what is in front of it, and as an upper
 * bound what is behind it.
 *
 * Its mark says where it was. Without a mark, the time in its id does, if this server made the id. Then
 * it was in front of the first item with a later id. Ids from elsewhere have no such
 * time: their items stay on the side on which the others put them. The id of an item that is in another list is
 * refused.
 */

#include "core/store/tables/threads/item_place.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/store/tables/deletion_marks.h"

enum { LOW, HIGH };

/* What a cursor is looked up for. */
struct cursor {
    const char *param;
    const char *id;
    int side; /* the bound that it becomes */
};

static enum err_code find_live(struct store *store, const struct tenant *tenant,
                               const char *thread_id, const struct item_list *list,
                               const struct cursor *cursor, bool *ret_found, int64_t *ret_bound,
                               struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, cursor->id);
    rc = db_once(store, &list->find, &args, &rows, err);
    if (rc)
        return rc;
    *ret_found = db_count(rows);
    if (*ret_found)
        *ret_bound = db_int(rows, 0, 0);
    return ERR_OK;
}

/* The position of the first item whose id was made here after the cursor's. No row: the cursor's item
 * is in another list. Another node's clock may be ahead of this one's. */
static enum err_code find_by_time(struct store *store, const struct tenant *tenant,
                                  const char *thread_id, const struct item_list *list,
                                  const struct cursor *cursor, bool *ret_found,
                                  int64_t *ret_place, struct err *err)
{
    static const struct db_statement find = {
        "item_place_by_time",
        "SELECT coalesce(min(i.position), 9223372036854775807) FROM items i"
        " WHERE i.project_id = $1 AND i.thread_id = $2 AND i.left_position IS NULL"
        " AND right(i.id, $4::integer) > right($3, $4::integer) AND right(i.id, $4::integer) < "
        "$5"
        " HAVING NOT EXISTS (SELECT FROM items o WHERE o.project_id = $1 AND o.id = $3"
        "  AND o.left_position IS NULL)"};
    char end[ID_TIME_SIZE];
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    int64_t time;
    enum err_code rc;

    *ret_found = false;
    if (!id_time(cursor->id, list->prefix, &time))
        return ERR_OK;
    id_time_digits(end, clock_wall_us() + ID_CLOCK_SKEW_US);
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, cursor->id);
    db_arg_int(&args, ID_BODY);
    db_arg_text(&args, end);
    rc = db_once(store, &find, &args, &rows, err);
    if (rc)
        return rc;
    *ret_found = db_count(rows);
    if (*ret_found)
        *ret_place = db_int(rows, 0, 0);
    return ERR_OK;
}

static enum err_code find_bound(struct store *store, const struct tenant *tenant,
                                const char *thread_id, const struct item_list *list,
                                const struct cursor *cursor, int64_t *ret_bound,
                                struct err *err)
{
    int64_t place = 0;
    bool found;
    enum err_code rc =
        find_live(store, tenant, thread_id, list, cursor, &found, ret_bound, err);

    if (rc || found)
        return rc;
    rc = deletion_mark_find(store, tenant, thread_id, cursor->id, &found, &place, err);
    if (!rc && !found)
        rc = find_by_time(store, tenant, thread_id, list, cursor, &found, &place, err);
    if (rc)
        return rc;
    if (!found)
        return page_cursor_unknown(cursor->param, cursor->id, err);
    *ret_bound = cursor->side == LOW ? place - 1 : place;
    return ERR_OK;
}

enum err_code item_bounds_find(struct store *store, const struct tenant *tenant,
                               const char *thread_id, const struct item_list *list,
                               const struct page *page, int64_t ret_bounds[2], struct err *err)
{
    const struct cursor cursors[] = {
        {"after", page->after, page->ascending ? LOW : HIGH},
        {"before", page->before, page->ascending ? HIGH : LOW},
    };
    int64_t bounds[2] = {-1, INT64_MAX};

    for (size_t i = 0; i < COUNT_OF(cursors); i++) {
        enum err_code rc = ERR_OK;

        if (*cursors[i].id)
            rc = find_bound(store, tenant, thread_id, list, &cursors[i],
                            &bounds[cursors[i].side], err);
        if (rc)
            return rc;
    }
    memcpy(ret_bounds, bounds, sizeof(bounds));
    return ERR_OK;
}
