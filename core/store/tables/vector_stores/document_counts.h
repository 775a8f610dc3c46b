#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_DOCUMENT_COUNTS_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_DOCUMENT_COUNTS_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * document_counts.h -- how many documents there are, for people who look at a server.
 */

struct document_counts {
    uint64_t vector_stores;
    uint64_t queued, parsing, ready, failed; /* documents */
    uint64_t chunks;                         /* of those that are ready */
    uint64_t usage_bytes;                    /* texts and indexes of those */
};

/* Of a project. Reads all rows of its documents. */
enum err_code store_document_counts(struct store *store, const struct tenant *tenant,
                                    struct document_counts *ret_counts,
                                    struct err *err) MUST_CHECK;

/* Documents of all projects that wait to be made searchable. For the keeper. */
struct document_queue {
    uint64_t count;
    int64_t oldest_us; /* for how long the oldest has waited; 0 without one */
};
enum err_code store_document_queue(struct store *store, struct document_queue *ret_queue,
                                   struct err *err) MUST_CHECK;

#endif
