/*
 * fusion.c -- sorts the entries of all lists by chunk, adds up each chunk's, and sorts the chunks.
 */

#include "core/retrieval/fusion.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define RANK_OFFSET 60 /* how little the first places of one list count against being in two */

/* One entry of one list. */
struct vote {
    uint32_t document, chunk;
    enum fusion_kind kind;
    uint32_t query;
    double rrf;
    double value;
};

static double weight_of(const struct fusion_weights *weights, enum fusion_kind kind)
{
    return kind == FUSION_VECTORS ? weights->vectors : weights->words;
}

static int by_chunk(uint32_t document, uint32_t chunk, uint32_t other_document,
                    uint32_t other_chunk)
{
    if (document != other_document)
        return document < other_document ? -1 : 1;
    return (chunk > other_chunk) - (chunk < other_chunk);
}

static int compare_votes(const void *left, const void *right)
{
    const struct vote *a = left, *b = right;
    int order = by_chunk(a->document, a->chunk, b->document, b->chunk);

    /* Always added up in the same order: sums of doubles depend on it. */
    if (!order)
        order = (a->query > b->query) - (a->query < b->query);
    return order ? order : (int)a->kind - (int)b->kind;
}

static int compare_hits(const void *left, const void *right)
{
    const struct fusion_hit *a = left, *b = right;

    if (a->rrf > b->rrf || a->rrf < b->rrf)
        return a->rrf > b->rrf ? -1 : 1;
    return by_chunk(a->document, a->chunk, b->document, b->chunk);
}

/* The votes of all lists that count. `ret_total` gets the weights of the kinds that each query has. */
static size_t collect(const struct fusion_list *lists, size_t count,
                      const struct fusion_weights *weights, struct vote *votes,
                      double ret_total[FUSION_QUERIES_MAX])
{
    double has[FUSION_QUERIES_MAX][FUSION_KINDS] = {{0}};
    size_t filled = 0;

    for (size_t i = 0; i < count; i++) {
        const struct fusion_list *list = &lists[i];
        double weight = weight_of(weights, list->kind);

        assert(list->query < FUSION_QUERIES_MAX);
        if (!(weight > 0))
            continue;
        has[list->query][list->kind] = weight;
        for (size_t j = 0; j < list->count; j++) {
            const struct fusion_entry *entry = &list->entries[j];
            double value = entry->value > 0 ? entry->value : 0;

            votes[filled++] = (struct vote){
                .document = entry->document,
                .chunk = entry->chunk,
                .kind = list->kind,
                .query = list->query,
                .rrf = list->unranked ? 0 : weight / (double)(RANK_OFFSET + j + 1),
                .value = weight * (value < 1 ? value : 1),
            };
        }
    }
    for (size_t i = 0; i < FUSION_QUERIES_MAX; i++)
        ret_total[i] = has[i][FUSION_VECTORS] + has[i][FUSION_WORDS];
    return filled;
}

size_t fusion_rank(const struct fusion_list *lists, size_t count,
                   const struct fusion_weights *weights, struct fusion_hit **ret_hits)
{
    AUTO_FREE struct vote *votes = NULL;
    struct fusion_hit *hits;
    double total[FUSION_QUERIES_MAX];
    size_t entries = 0, hit_count = 0;

    for (size_t i = 0; i < count; i++)
        entries += lists[i].count;
    votes = mem_new_array(struct vote, entries + 1);
    hits = mem_new_array(struct fusion_hit, entries + 1);
    entries = collect(lists, count, weights, votes, total);
    qsort(votes, entries, sizeof(*votes), compare_votes);

    for (size_t i = 0; i < entries;) {
        struct fusion_hit *hit = &hits[hit_count++];

        hit->document = votes[i].document;
        hit->chunk = votes[i].chunk;
        while (i < entries && votes[i].document == hit->document &&
               votes[i].chunk == hit->chunk) {
            uint32_t query = votes[i].query;
            bool seen[FUSION_KINDS] = {false};
            double value = 0;

            for (; i < entries && votes[i].document == hit->document &&
                   votes[i].chunk == hit->chunk && votes[i].query == query;
                 i++) {
                hit->rrf += votes[i].rrf;
                if (!seen[votes[i].kind])
                    value += votes[i].value;
                seen[votes[i].kind] = true;
            }
            value /= total[query];
            hit->score = value > hit->score ? value : hit->score;
        }
    }
    qsort(hits, hit_count, sizeof(*hits), compare_hits);
    *ret_hits = hits;
    return hit_count;
}

void fusion_rerank(struct fusion_hit *hits, size_t count, size_t scored)
{
    AUTO_FREE struct fusion_hit *room = mem_new_array(struct fusion_hit, scored + 1);

    assert(scored <= count);
    /* Merge sort: stable, and no order of its own for hits that are equal. */
    for (size_t width = 1; width < scored; width *= 2) {
        for (size_t begin = 0; begin < scored; begin += 2 * width) {
            size_t middle = begin + width < scored ? begin + width : scored;
            size_t end = middle + width < scored ? middle + width : scored;
            size_t left = begin, right = middle;

            for (size_t i = begin; i < end; i++) {
                bool from_right =
                    left == middle || (right < end && hits[right].score > hits[left].score);

                room[i] = hits[from_right ? right++ : left++];
            }
        }
        memcpy(hits, room, scored * sizeof(*hits));
    }
}

size_t fusion_cut(struct fusion_hit *hits, size_t count, double threshold, size_t limit)
{
    size_t kept = 0;
    double least = 1;

    for (size_t i = 0; i < count && kept < limit; i++) {
        if (hits[i].score < threshold)
            continue;
        hits[kept] = hits[i];
        least = hits[kept].score < least ? hits[kept].score : least;
        hits[kept++].score = least;
    }
    return kept;
}
