#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_REINDEX_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_REINDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
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

/* The same for one store, when its client asks for it: documents that today's recipe would make otherwise, also those
 * that were offered before and failed. Each is a transaction of its own, and an HTTP worker waits for them: so at most
 * REINDEX_AT_ONCE in one call; *ret_more: there are others, for another call. It is a use of the store. ERR_NOT_FOUND;
 * ERR_INVALID with REASON_STORE_EXPIRED. */
#define REINDEX_AT_ONCE ((size_t)50)
enum err_code store_vector_store_reindex(struct store *store, const struct tenant *tenant,
                                         const char *store_id, size_t *ret_queued,
                                         bool *ret_more, struct err *err) MUST_CHECK;

#endif
