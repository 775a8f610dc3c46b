#ifndef RUNNEL_CORE_RETRIEVAL_FUSION_H
#define RUNNEL_CORE_RETRIEVAL_FUSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * retrieval/fusion.h -- several lists of chunks become one: reciprocal rank fusion. Pure: any thread.
 *
 * Order:  rrf(chunk) = Σ over lists  weight / (60 + rank),  rank from 1. Equal ones stand by document and chunk.
 * Score:  how good a chunk is by itself, 0 ... 1. For each query it is the mean of the likeness of its vector and of
 *         the share of the query's words, by the weights of the kinds of lists that this query has. The best query
 *         counts.
 *
 * A rank alone would call the best of nothing 1.0, so the threshold applies to the score, not to rrf. The scores of the
 * result never rise: each is the least of its own and those above it. That is done after the threshold.
 */

enum fusion_kind { FUSION_VECTORS, FUSION_WORDS, FUSION_KINDS };

struct fusion_entry {
    uint32_t document;
    uint32_t chunk;
    /* Cosine of the vectors, or share of the words (lexical.h); what is below 0 counts as 0 */
    float value;
};

/* One search: the best first, each chunk once. Of two values for one chunk, query and kind, one counts. */
struct fusion_list {
    enum fusion_kind kind;
    uint32_t query; /* which of the queries, from 0 */
    const struct fusion_entry *entries;
    size_t count;
    bool unranked; /* says only how good its chunks are, for what another list has ranked */
};

struct fusion_hit {
    uint32_t document;
    uint32_t chunk;
    double rrf;
    double score;
};

/* Weights at least 0, not both 0. */
struct fusion_weights {
    double vectors;
    double words;
};

#define FUSION_WEIGHTS_DEFAULT ((struct fusion_weights){.vectors = 1, .words = 1})
#define FUSION_QUERIES_MAX     8

/* All chunks of the lists in their order; the scores may rise. A list whose kind has the weight 0 is ignored. Returns
 * how many; *ret_hits, never NULL, is the caller's to free. At most FUSION_QUERIES_MAX queries. */
size_t fusion_rank(const struct fusion_list *lists, size_t count,
                   const struct fusion_weights *weights, struct fusion_hit **ret_hits);

/* After a re-ranker has set the scores of the first hits: these stand by score, before those that it has not seen.
 * Equal ones keep their order. */
void fusion_rerank(struct fusion_hit *hits, size_t count, size_t scored);

/* Drops hits whose score is below the threshold, keeps the first `limit`, and makes the scores fall. Returns how many
 * are left at the beginning of the array. */
size_t fusion_cut(struct fusion_hit *hits, size_t count, double threshold, size_t limit);

#endif
