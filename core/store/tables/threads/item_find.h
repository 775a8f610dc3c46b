#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_ITEM_FIND_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_ITEM_FIND_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * item_find.h -- items by their ids, wherever in the project they lie.
 */

/* Of the bodies of all that is asked for at once. */
#define ITEM_FIND_BYTES ((int64_t)10 << 20)

/* Those of the ids that a client may see: in a conversation or thread that is there, or of a stored
 * response that has ended and was not deleted. In no order; an id that is not found is left out. The
 * caller frees with item_rows_free(). ERR_INVALID when they are more than ITEM_FIND_BYTES. */
enum err_code store_items_find(struct store *store, const struct tenant *tenant,
                               const char *const *ids, size_t count,
                               struct item_row **ret_items, size_t *ret_count,
                               struct err *err) MUST_CHECK;

#endif
