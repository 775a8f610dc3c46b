#ifndef RUNNEL_CORE_RETRIEVAL_VECTORS_H
#define RUNNEL_CORE_RETRIEVAL_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/retrieval/scan_stop.h"
#include "core/retrieval/segment.h"

/*
 * retrieval/vectors.h -- the chunks whose vectors are nearest to that of a query. Pure: any thread.
 *
 * A vector v of an embedding model is stored as r = v - mean, where the mean is the model's: many models give all
 * texts one common direction, and without it r has more to say in fewer bits. v has length 1. q · v = q · mean + q · r,
 * and the first part is the same for all chunks of a model.
 *
 *   INT8   r as int8 with one scale: the order of its products is that of the exact ones, but for some 0.4 %
 *   BITS   the signs of r after two rounds of random signs and a Hadamard transform, which spread what r has in a few
 *          dimensions over all: how many signs differ says roughly how far away a chunk is, in an eighth of the bytes
 *
 * A scan of up to VECTORS_EXACT chunks reads INT8 alone. A larger one reads all BITS, and INT8 of the best
 * max(VECTORS_CANDIDATES, 10 · limit). There is no graph: nothing has to be built, and a filter cannot empty a result.
 *
 * How much of the first 200 places such candidates have depends on how many chunks are about equally near. Of 100,000
 * in clusters of 500 they have all. Of clusters of 5,000, with noise in all 1,536 dimensions, which no text has, they
 * have 0.95 of the first ten, 0.85 of places 11 to 50, and 0.81 of 101 to 200 (bench_hybrid, CENTRES).
 *
 * The inner loops exist in plain C, AVX2, AVX-512 and NEON. Which one is used is decided at the first call; all give
 * the same numbers, bit for bit.
 */

#define VECTORS_EXACT      ((size_t)20000)
#define VECTORS_CANDIDATES ((size_t)1000)

/* ---- Building ---- */

/* Brings a vector to length 1. One of zeros stays so. */
void vectors_normalize(float *vector, uint32_t dimensions);

/* The segments BITS and INT8 of a document that are being built: about a third of the memory of the vectors. Begins as
 * zeros with these: */
struct vectors_builder {
    uint32_t dimensions; /* 1 to SEGMENT_DIMENSIONS_MAX */
    uint32_t model;      /* a number that the segments have in their heads */
    const float *mean;   /* `dimensions` numbers, borrowed; or NULL */
    uint32_t
        chunks; /* so far, at most SEGMENT_CHUNKS_MAX; this and the rest are the builder's */
    struct buf bits, int8;
};

/* The vectors of the next chunks, one after the other. They are brought to length 1; one of zeros stays so. */
void vectors_builder_add(struct vectors_builder *builder, const float *vectors, uint32_t count);

/* Moves the segments to empty bufs, and clears the builder. */
void vectors_builder_finish(struct vectors_builder *builder, struct buf *ret_bits,
                            struct buf *ret_int8);
void vectors_builder_clear(struct vectors_builder *builder);

/* All at once. */
void vectors_build(const float *vectors, uint32_t chunks, uint32_t dimensions,
                   const float *mean, uint32_t model, struct buf *ret_bits,
                   struct buf *ret_int8);

/* ---- Searching ---- */

struct vectors_set {
    const struct segment *bits; /* of a document; of the same chunks and dimensions as int8 */
    const struct segment *int8;
};

struct vectors_hit {
    uint32_t document; /* place in the list of sets */
    uint32_t chunk;
    float cosine;
};

/* Fills at most `limit` hits, falling by cosine; equal ones stand by document and chunk. Returns how many. `query` has
 * `dimensions` numbers, of any length; a set of other dimensions, or with a NULL, has no chunks. `stop` may
 * be NULL; a scan that it stops has found nothing. */
size_t vectors_search(const struct vectors_set *sets, size_t count, const float *query,
                      uint32_t dimensions, const float *mean, struct vectors_hit *ret_hits,
                      size_t limit, struct scan_stop *stop);

/* The cosines of some chunks, in place: those that a search by words has found. A chunk of a set that is not
 * searched has the cosine 0. */
void vectors_compare(const struct vectors_set *sets, const float *query, uint32_t dimensions,
                     const float *mean, struct vectors_hit *hits, size_t count);

/* ---- Kernels, for tests and benchmarks ---- */

#define VECTORS_QUERY_MAX 2047 /* of a number of a query, as it is multiplied */

struct vectors_kernel {
    const char *name; /* "plain", "avx2", ... */
    /* Σ a · b, with a within ±VECTORS_QUERY_MAX; at most SEGMENT_DIMENSIONS_MAX numbers. */
    int32_t (*dot)(const int16_t *a, const int8_t *b, size_t length);
    /* How many bits differ; `length` bytes, a multiple of 8. */
    uint32_t (*differ)(const uint8_t *a, const uint8_t *b, size_t length);
};

/* Those that this processor has; the last is the one that is used. */
size_t vectors_kernels(const struct vectors_kernel **ret_kernels);

#endif
