#ifndef RUNNEL_CORE_RETRIEVAL_BEST_H
#define RUNNEL_CORE_RETRIEVAL_BEST_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/*
 * retrieval/best.h -- the best of many chunks, in a heap whose root is the worst of them. Pure.
 *
 * Equal scores stand by document and chunk, so the same offers in any order give the same result.
 */

struct best_hit {
    float score;
    uint32_t document;
    uint32_t chunk;
};

struct best {
    struct best_hit *hits; /* borrowed: room for `limit` */
    size_t count;
    size_t limit;
};

/* What has a lower score is not kept, however much is offered. */
static inline float best_least(const struct best *best)
{
    return best->count < best->limit ? -INFINITY : best->limit ? best->hits[0].score : INFINITY;
}

/* Each chunk once. */
void best_offer(struct best *best, float score, uint32_t document, uint32_t chunk);

/* The best first. Nothing may be offered then. */
void best_sort(struct best *best);

#endif
