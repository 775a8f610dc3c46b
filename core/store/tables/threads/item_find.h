#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_ITEM_FIND_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_ITEM_FIND_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * item_find.h -- items by their ids, anywhere in the project.
 */

/* The limit for the bodies of all items of a request. */
#define ITEM_FIND_BYTES ((int64_t)10 << 20)

/* The items with these ids that a client may see: in a conversation or thread that exists, or
 * of a stored response that has ended and was not deleted. In no order; an id that is not found
 * is left out. The caller frees with item_rows_free(). ERR_INVALID if they are more than
 * ITEM_FIND_BYTES. */
enum err_code store_items_find(struct store *store, const struct tenant *tenant,
                               const char *const *ids, size_t count,
                               struct item_row **ret_items, size_t *ret_count,
                               struct err *err) MUST_CHECK;

#endif
