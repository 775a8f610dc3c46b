#ifndef RUNNEL_CORE_INGEST_CANDIDATES_H
#define RUNNEL_CORE_INGEST_CANDIDATES_H

#include <stddef.h>

#include "core/ingest/vector_model.h"
#include "core/retrieval/fusion.h"
#include "core/retrieval/index.h"
#include "core/retrieval/scan_stop.h"

/*
 * candidates.h -- the chunks of a set that may answer some queries, by words and by meaning, in one order.
 *
 * Each query has a list by words and, with a model, one by vectors (core/retrieval). Their ranks are fused. For the
 * score a chunk that only words have found is compared with the query, too. One that has no vectors of the model,
 * because its document is still to be made anew, counts as near as its words are.
 *
 * Pure but for `table`: any thread.
 */

#define CANDIDATES_LIST ((size_t)200) /* chunks of each list */

struct vectors_hit; /* core/retrieval/vectors.h */

/* Vectors that are not in the indexes. A function that fails has found nothing, and its caller knows why. */
struct candidates_table {
    /* As vectors_search() and vectors_compare(), with the documents of `indexes` by their places. A chunk without a
     * vector gets a NAN. */
    size_t (*near)(void *arg, const float *query, struct vectors_hit *ret_hits, size_t limit);
    void (*compare)(void *arg, const float *query, struct vectors_hit *hits, size_t count);
    void *arg;
};

struct candidates {
    const struct index *const *indexes; /* of documents; NULL: not searched */
    size_t count;
    const char *const *queries; /* at most FUSION_QUERIES_MAX */
    size_t query_count;
    const struct vector_space *space;     /* NULL: words alone, with the weight 1 */
    const float *vectors;                 /* of the queries, one after the other */
    const struct candidates_table *table; /* NULL: vectors are in the indexes */
    struct fusion_weights weights;
    struct scan_stop *stop; /* a scan that it ends has found nothing */
};

/* All that were found. Returns how many; *ret_hits, never NULL, is the caller's to free. Scores may rise. */
size_t candidates_find(const struct candidates *candidates, struct fusion_hit **ret_hits);

#endif
