#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_REINDEX_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_REINDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/store/store.h"

/*
 * reindex.h -- documents of older embedding models, made anew for the current one.
 *
 * Each gets a successor: another document of the same file, which is work like any other and takes its place when it
 * is ready (documents.h). Until then, and if that fails, the old one is searched. Each is offered once for a
 * model, and only if a store that was used in the last REINDEX_DAYS has it.
 */

#define REINDEX_DAYS 30

/* A pass over all documents, in steps. Zero it for the beginning. */
struct reindex_pass {
    int offered_model; /* the last document that was looked at */
    char project[ID_SIZE];
    char document[ID_SIZE];
    bool ended; /* there is no further document */
};

/* Looks at the next `limit` documents that were not offered for `model_id`, and queues successors of those that are in
 * use. *ret_queued says how many. */
enum err_code store_reindex_step(struct store *store, int model_id, size_t limit,
                                 struct reindex_pass *pass, size_t *ret_queued,
                                 struct err *err) MUST_CHECK;

#endif
