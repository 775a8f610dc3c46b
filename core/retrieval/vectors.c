/*
 * vectors.c -- vectors as bits and int8, and a scan of them.
 *
 * A round of the transform gives each number a sign that looks random, and then a Hadamard transform to a block of 2^n
 * of them, more than half: the first round to the first block, the second to the last one. So every number is mixed
 * with others, for any number of dimensions. It keeps lengths and angles.
 *
 * The query is not rounded to int8 but to 12 bits: that costs nothing, since the kernels widen to 16 bits.
 */

#include "core/retrieval/vectors.h"

#include <assert.h>
#include <endian.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/retrieval/best.h"

#define ROUNDS       2
#define INT8_LIMIT   127
#define ROOM_PER_HIT 10 /* candidates */

/* ---- Vectors as they are stored ---- */

void vectors_normalize(float *vector, uint32_t dimensions)
{
    double sum = 0;

    for (uint32_t i = 0; i < dimensions; i++)
        sum += (double)vector[i] * vector[i];
    sum = sum > 0 ? 1 / sqrt(sum) : 0;
    for (uint32_t i = 0; i < dimensions; i++)
        vector[i] = (float)(vector[i] * sum);
}

static void copy_normal(float *out, const float *vector, uint32_t dimensions)
{
    memcpy(out, vector, dimensions * sizeof(*out));
    vectors_normalize(out, dimensions);
}

static void subtract(float *vector, const float *mean, uint32_t dimensions)
{
    for (uint32_t i = 0; mean && i < dimensions; i++)
        vector[i] -= mean[i];
}

/* The sign of a number in a round: the same on every machine, for ever. */
static bool is_turned(uint32_t i, uint32_t round)
{
    uint64_t bits = ((uint64_t)round << 32 | i) + 0x9E3779B97F4A7C15u;

    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
    return bits >> 63;
}

static void hadamard(float *block, uint32_t size)
{
    float scale = 1 / sqrtf((float)size);

    for (uint32_t half = 1; half < size; half *= 2) {
        for (uint32_t begin = 0; begin < size; begin += 2 * half) {
            for (uint32_t i = begin; i < begin + half; i++) {
                float left = block[i], right = block[i + half];

                block[i] = left + right;
                block[i + half] = left - right;
            }
        }
    }
    for (uint32_t i = 0; i < size; i++)
        block[i] *= scale;
}

static void turn(float *vector, uint32_t dimensions)
{
    uint32_t block = 1;

    while (block * 2 <= dimensions)
        block *= 2;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < dimensions; i++)
            vector[i] = is_turned(i, round) ? -vector[i] : vector[i];
        hadamard(round % 2 ? vector + dimensions - block : vector, block);
    }
}

/* The signs of a vector as bits: number i is bit i % 8 of byte i / 8. `out` is all 0. */
static void put_signs(uint8_t *out, const float *vector, uint32_t dimensions)
{
    for (uint32_t i = 0; i < dimensions; i++)
        out[i / 8] |= (uint8_t)((vector[i] > 0) << i % 8);
}

static float largest_of(const float *vector, uint32_t dimensions)
{
    float largest = 0;

    for (uint32_t i = 0; i < dimensions; i++)
        largest = fabsf(vector[i]) > largest ? fabsf(vector[i]) : largest;
    return largest;
}

static void put_scale(uint8_t *out, float scale)
{
    uint32_t bits;

    memcpy(&bits, &scale, sizeof(bits));
    bits = htole32(bits);
    memcpy(out, &bits, sizeof(bits));
}

static float get_scale(const uint8_t *at)
{
    uint32_t bits;
    float scale;

    memcpy(&bits, at, sizeof(bits));
    bits = le32toh(bits);
    memcpy(&scale, &bits, sizeof(scale));
    return scale;
}

static void put_int8(uint8_t *out, const float *vector, uint32_t dimensions)
{
    float largest = largest_of(vector, dimensions);

    put_scale(out, largest / INT8_LIMIT);
    for (uint32_t i = 0; i < dimensions && largest > 0; i++)
        out[sizeof(float) + i] = (uint8_t)(int8_t)lrintf(vector[i] / largest * INT8_LIMIT);
}

static void begin_segments(struct vectors_builder *builder)
{
    assert(builder->dimensions && builder->dimensions <= SEGMENT_DIMENSIONS_MAX);
    if (builder->bits.length)
        return;
    segment_begin(&builder->bits);
    segment_begin(&builder->int8);
}

void vectors_builder_add(struct vectors_builder *builder, const float *vectors, uint32_t count)
{
    uint32_t dimensions = builder->dimensions;
    AUTO_FREE float *vector = mem_new_array(float, dimensions);
    size_t bits_stride = segment_stride(SEGMENT_BITS, dimensions);
    size_t int8_stride = segment_stride(SEGMENT_INT8, dimensions);

    begin_segments(builder);
    assert(count <= SEGMENT_CHUNKS_MAX - builder->chunks);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *bits = memset(buf_reserve(&builder->bits, bits_stride), 0, bits_stride);
        uint8_t *int8 = memset(buf_reserve(&builder->int8, int8_stride), 0, int8_stride);

        copy_normal(vector, vectors + (size_t)i * dimensions, dimensions);
        subtract(vector, builder->mean, dimensions);
        put_int8(int8, vector, dimensions);
        turn(vector, dimensions);
        put_signs(bits, vector, dimensions);
        buf_added(&builder->bits, bits_stride);
        buf_added(&builder->int8, int8_stride);
    }
    builder->chunks += count;
}

void vectors_builder_finish(struct vectors_builder *builder, struct buf *ret_bits,
                            struct buf *ret_int8)
{
    struct segment head = {.kind = SEGMENT_BITS,
                           .chunks = builder->chunks,
                           .dimensions = builder->dimensions,
                           .model = builder->model};

    begin_segments(builder);
    segment_seal(&builder->bits, &head);
    head.kind = SEGMENT_INT8;
    segment_seal(&builder->int8, &head);
    *ret_bits = builder->bits;
    *ret_int8 = builder->int8;
    *builder = (struct vectors_builder){0};
}

void vectors_builder_clear(struct vectors_builder *builder)
{
    buf_clear(&builder->bits);
    buf_clear(&builder->int8);
    *builder = (struct vectors_builder){0};
}

void vectors_build(const float *vectors, uint32_t chunks, uint32_t dimensions,
                   const float *mean, uint32_t model, struct buf *ret_bits,
                   struct buf *ret_int8)
{
    struct vectors_builder builder = {.dimensions = dimensions, .model = model, .mean = mean};

    vectors_builder_add(&builder, vectors, chunks);
    vectors_builder_finish(&builder, ret_bits, ret_int8);
}

/* ---- Searching ---- */

struct search {
    const struct vectors_set *sets;
    size_t count;
    uint32_t dimensions;
    const struct vectors_kernel *kernel;
    int16_t *query; /* rounded */
    float scale;    /* of it */
    float common;   /* query · mean */
    uint8_t *bits;  /* of the query */
    struct scan_stop *stop;
};

#define STEP_BYTES 64 /* of a kernel, in ten nanoseconds or less (scan_stop.h) */

static bool is_searched(const struct search *search, const struct vectors_set *set)
{
    return set->bits && set->int8 && set->bits->dimensions == search->dimensions &&
           set->int8->dimensions == search->dimensions &&
           set->bits->chunks == set->int8->chunks;
}

static void prepare(struct search *search, const float *query, const float *mean)
{
    uint32_t dimensions = search->dimensions;
    const struct vectors_kernel *kernels;
    size_t last = vectors_kernels(&kernels) - 1;
    AUTO_FREE float *vector = mem_new_array(float, dimensions);
    float largest;

    search->kernel = &kernels[last];
    copy_normal(vector, query, dimensions);
    for (uint32_t i = 0; mean && i < dimensions; i++)
        search->common += vector[i] * mean[i];
    largest = largest_of(vector, dimensions);
    search->scale = largest / VECTORS_QUERY_MAX;
    search->query = mem_new_array(int16_t, dimensions);
    for (uint32_t i = 0; i < dimensions && largest > 0; i++)
        search->query[i] = (int16_t)lrintf(vector[i] / largest * VECTORS_QUERY_MAX);
    subtract(vector, mean, dimensions);
    turn(vector, dimensions);
    search->bits = mem_zeroed(segment_stride(SEGMENT_BITS, dimensions), 1);
    put_signs(search->bits, vector, dimensions);
}

static float cosine_of(const struct search *search, uint32_t document, uint32_t chunk)
{
    const struct segment *segment = search->sets[document].int8;
    const uint8_t *at =
        segment->body + chunk * segment_stride(SEGMENT_INT8, search->dimensions);
    int32_t dot = search->kernel->dot(search->query, (const int8_t *)at + sizeof(float),
                                      search->dimensions);

    return search->common + (float)dot * search->scale * get_scale(at);
}

static void offer_chunk(const struct search *search, uint32_t document, uint32_t chunk,
                        struct best *best)
{
    best_offer(best, cosine_of(search, document, chunk), document, chunk);
}

/* The scan is to end before it reads `chunks` more vectors of `stride` bytes. */
static bool stops(const struct search *search, size_t chunks, size_t stride)
{
    return scan_stop_after(search->stop, chunks * (stride / STEP_BYTES + 1));
}

static void scan_int8(const struct search *search, struct best *best)
{
    for (uint32_t document = 0; document < search->count; document++) {
        const struct vectors_set *set = &search->sets[document];

        if (!is_searched(search, set))
            continue;
        if (stops(search, set->int8->chunks, search->dimensions))
            return;
        for (uint32_t i = 0; i < set->int8->chunks; i++)
            offer_chunk(search, document, i, best);
    }
}

/* How many bits of each chunk differ from the query's, in the order of the chunks. `ret_counts[n]` gets how many chunks
 * differ in n bits. */
static void scan_bits(const struct search *search, uint16_t *ret_distances, size_t *ret_counts)
{
    size_t stride = segment_stride(SEGMENT_BITS, search->dimensions);

    for (size_t document = 0; document < search->count; document++) {
        const struct vectors_set *set = &search->sets[document];

        if (!is_searched(search, set))
            continue;
        if (stops(search, set->bits->chunks, stride))
            return;
        for (uint32_t i = 0; i < set->bits->chunks; i++) {
            uint32_t distance =
                search->kernel->differ(search->bits, set->bits->body + i * stride, stride);

            *ret_distances++ = (uint16_t)distance;
            ret_counts[distance]++;
        }
    }
}

/* Offers the `wanted` chunks that differ least; of those that differ as much as the last, the first ones. */
static void scan_candidates(const struct search *search, size_t chunks, size_t wanted,
                            struct best *best)
{
    AUTO_FREE uint16_t *distances = mem_new_array(uint16_t, chunks);
    AUTO_FREE size_t *counts =
        mem_new_array(size_t, 8 * segment_stride(SEGMENT_BITS, search->dimensions) + 1);
    const uint16_t *at = distances;
    size_t nearer = 0, limit = 0;

    scan_bits(search, distances, counts);
    if (search->stop && search->stop->stopped)
        return;
    while (nearer + counts[limit] < wanted)
        nearer += counts[limit++];
    wanted -= nearer; /* of those at the limit */
    for (uint32_t document = 0; document < search->count; document++) {
        const struct vectors_set *set = &search->sets[document];

        for (uint32_t i = 0; is_searched(search, set) && i < set->bits->chunks; i++, at++) {
            if (*at > limit || (*at == limit && !wanted))
                continue;
            wanted -= *at == limit;
            offer_chunk(search, document, i, best);
        }
    }
}

size_t vectors_search(const struct vectors_set *sets, size_t count, const float *query,
                      uint32_t dimensions, const float *mean, struct vectors_hit *ret_hits,
                      size_t limit, struct scan_stop *stop)
{
    struct search search = {
        .sets = sets, .count = count, .dimensions = dimensions, .stop = stop};
    AUTO_FREE struct best_hit *hits = mem_new_array(struct best_hit, limit + 1);
    struct best best = {.hits = hits, .limit = limit};
    size_t chunks = 0, wanted = limit * ROOM_PER_HIT;

    for (size_t i = 0; i < count; i++)
        chunks += is_searched(&search, &sets[i]) ? sets[i].bits->chunks : 0;
    wanted = wanted > VECTORS_CANDIDATES ? wanted : VECTORS_CANDIDATES;
    prepare(&search, query, mean);
    if (chunks <= VECTORS_EXACT || chunks <= wanted)
        scan_int8(&search, &best);
    else
        scan_candidates(&search, chunks, wanted, &best);
    best_sort(&best);
    for (size_t i = 0; i < best.count; i++) {
        ret_hits[i] = (struct vectors_hit){
            .document = hits[i].document, .chunk = hits[i].chunk, .cosine = hits[i].score};
    }
    free(search.query);
    free(search.bits);
    return stop && stop->stopped ? 0 : best.count;
}

void vectors_compare(const struct vectors_set *sets, const float *query, uint32_t dimensions,
                     const float *mean, struct vectors_hit *hits, size_t count)
{
    struct search search = {.sets = sets, .dimensions = dimensions};

    prepare(&search, query, mean);
    for (size_t i = 0; i < count; i++) {
        const struct vectors_set *set = &sets[hits[i].document];

        hits[i].cosine = is_searched(&search, set) && hits[i].chunk < set->int8->chunks
                             ? cosine_of(&search, hits[i].document, hits[i].chunk)
                             : 0;
    }
    free(search.query);
    free(search.bits);
}
