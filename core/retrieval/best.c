/*
 * best.c -- a heap; see best.h.
 */

#include "core/retrieval/best.h"

#include <stdbool.h>
#include <stdlib.h>

static bool is_better(const struct best_hit *a, const struct best_hit *b)
{
    if (a->score > b->score || a->score < b->score)
        return a->score > b->score;
    return a->document != b->document ? a->document < b->document : a->chunk < b->chunk;
}

/* Moves the hit at `at` down until it is worse than those below it. */
static void sink(struct best *best, size_t at)
{
    struct best_hit moved = best->hits[at];

    for (;;) {
        size_t below = 2 * at + 1;

        if (below >= best->count)
            break;
        if (below + 1 < best->count && is_better(&best->hits[below], &best->hits[below + 1]))
            below++;
        if (!is_better(&moved, &best->hits[below]))
            break;
        best->hits[at] = best->hits[below];
        at = below;
    }
    best->hits[at] = moved;
}

void best_offer(struct best *best, float score, uint32_t document, uint32_t chunk)
{
    struct best_hit hit = {.score = score, .document = document, .chunk = chunk};

    if (best->count < best->limit) {
        best->hits[best->count++] = hit;
        if (best->count == best->limit) {
            for (size_t i = best->count / 2; i-- > 0;)
                sink(best, i);
        }
    } else if (best->limit && is_better(&hit, &best->hits[0])) {
        best->hits[0] = hit;
        sink(best, 0);
    }
}

static int compare(const void *left, const void *right)
{
    return is_better(left, right) ? -1 : 1;
}

void best_sort(struct best *best)
{
    qsort(best->hits, best->count, sizeof(*best->hits), compare);
}
