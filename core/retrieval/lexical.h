#ifndef RUNNEL_CORE_RETRIEVAL_LEXICAL_H
#define RUNNEL_CORE_RETRIEVAL_LEXICAL_H

#include <stddef.h>
#include <stdint.h>

#include "core/retrieval/segment.h"

/*
 * retrieval/lexical.h -- chunks that share words with a query, the best first: BM25. Pure: any thread.
 *
 * A word counts more the fewer chunks of the searched set have it, and the oftener a chunk has it for its length. How
 * many chunks have a word is summed over the set, so the same set gives the same order, however its documents were
 * added.
 *
 *   score(chunk) = Σ idf(word) · f · (k1 + 1) / (f + k1 · (1 - b + b · words / mean words)),  k1 = 1.2, b = 0.75
 *   idf(word)    = ln(1 + (N - n + 0.5) / (n + 0.5)),  n of N chunks have the word
 *
 * Why not PostgreSQL's ts_rank: it does not know how rare a word is, and has no words for Chinese.
 */

struct scan_stop; /* core/retrieval/scan_stop.h */

#define LEXICAL_WORDS_MAX \
    ((size_t)256) /* different words of a query; later ones do not count */

struct lexical_hit {
    uint32_t document; /* place in the list of segments */
    uint32_t chunk;
    float score;
    float share; /* of the query's weight that was found, 0 ... 1: score / Σ idf · (k1 + 1) */
};

/* Searches segments of the kind SEGMENT_TERMS. Fills at most `limit` hits, falling by score; equal scores stand by
 * document and chunk. Returns how many: 0 when `stop` (NULL: never) ended the search. A segment may be NULL: it has no
 * chunks. */
size_t lexical_search(const struct segment *const *segments, size_t count, const char *query,
                      size_t length, struct lexical_hit *ret_hits, size_t limit,
                      struct scan_stop *stop);

#endif
