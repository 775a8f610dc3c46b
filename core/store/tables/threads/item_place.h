#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_ITEM_PLACE_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_ITEM_PLACE_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"

/*
 * item_place.h -- the places of cursors in the items of a thread. For core/store only.
 */

/* A list of items of a thread. */
struct item_list {
    struct db_statement find; /* the position of item $3 of thread $2 of project $1, if it is in
                               * the list */
    const char *prefix;       /* of the ids of its items; NULL: they have several */
};

/* The page has items between these positions, both excluded: ret_bounds[0] and [1]. ERR_INVALID
 * for a cursor that names nothing which is or was in the list. */
enum err_code item_bounds_find(struct store *store, const struct tenant *tenant,
                               const char *thread_id, const struct item_list *list,
                               const struct page *page, int64_t ret_bounds[2],
                               struct err *err) MUST_CHECK;

#endif
