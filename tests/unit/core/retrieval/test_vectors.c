/* Chunks whose vectors are near to that of a query. */

#include "core/retrieval/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/sanitized.h"
#include "tests/support/test.h"

static uint64_t random_state = 1;

static uint32_t dice(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

/* About normal, with the variance 1. */
static float noise(void)
{
    float sum = 0;

    for (int i = 0; i < 12; i++)
        sum += (float)(dice() % 10000) / 10000;
    return sum - 6;
}

/* ---- Kernels ---- */

TEST(every_kernel_gives_the_same_numbers)
{
    static const size_t lengths[] = {1, 4, 15, 16, 17, 31, 32, 33, 384, 1000, 1536, 8192};
    const struct vectors_kernel *kernels;
    size_t count = vectors_kernels(&kernels);
    AUTO_FREE int16_t *query = mem_new_array(int16_t, SEGMENT_DIMENSIONS_MAX);
    AUTO_FREE int8_t *vector = mem_new_array(int8_t, SEGMENT_DIMENSIONS_MAX);

    assert_true(count >= 1);
    assert_string_equal(kernels[0].name, "plain");
    for (unsigned round = 0; round < 60; round++) {
        for (size_t i = 0; i < SEGMENT_DIMENSIONS_MAX; i++) {
            query[i] =
                (int16_t)((int)(dice() % (2 * VECTORS_QUERY_MAX + 1)) - VECTORS_QUERY_MAX);
            vector[i] = (int8_t)((int)(dice() % 255) - 127);
            if (round == 0) { /* the largest sum */
                query[i] = -VECTORS_QUERY_MAX;
                vector[i] = 127;
            }
        }
        for (size_t i = 0; i < COUNT_OF(lengths); i++) {
            size_t length = lengths[i], bytes = length / 8 * 8;
            const uint8_t *left = (const uint8_t *)query, *right = (const uint8_t *)vector;

            for (size_t k = 1; k < count; k++) {
                assert_int_equal(kernels[k].dot(query, vector, length),
                                 kernels[0].dot(query, vector, length));
                assert_int_equal(kernels[k].differ(left, right, bytes),
                                 kernels[0].differ(left, right, bytes));
            }
        }
    }
    assert_int_equal(kernels[0].dot((const int16_t[]){3, -2}, (const int8_t[]){5, 7}, 2), 1);
    assert_int_equal(kernels[0].differ((const uint8_t *)"\x0F\0\0\0\0\0\0\1",
                                       (const uint8_t *)"\xFF\0\0\0\0\0\0\0", 8),
                     5);
}

/* ---- Sets ---- */

struct set {
    uint32_t dimensions;
    size_t documents, chunks; /* of each document */
    float *vectors;
    struct buf *bits, *int8;
    struct segment *opened;
    struct vectors_set *sets;
};

static void build(struct set *set, const float *mean)
{
    set->bits = mem_new_array(struct buf, set->documents);
    set->int8 = mem_new_array(struct buf, set->documents);
    set->opened = mem_new_array(struct segment, 2 * set->documents);
    set->sets = mem_new_array(struct vectors_set, set->documents);
    for (size_t i = 0; i < set->documents; i++) {
        struct segment *bits = &set->opened[2 * i], *int8 = bits + 1;

        vectors_build(set->vectors + i * set->chunks * set->dimensions, (uint32_t)set->chunks,
                      set->dimensions, mean, 7, &set->bits[i], &set->int8[i]);
        assert_int_equal(segment_open(set->bits[i].data, set->bits[i].length, bits, NULL),
                         ERR_OK);
        assert_int_equal(segment_open(set->int8[i].data, set->int8[i].length, int8, NULL),
                         ERR_OK);
        set->sets[i] = (struct vectors_set){.bits = bits, .int8 = int8};
    }
}

static void set_clear(struct set *set)
{
    for (size_t i = 0; i < set->documents; i++) {
        buf_clear(&set->bits[i]);
        buf_clear(&set->int8[i]);
    }
    free(set->bits);
    free(set->int8);
    free(set->opened);
    free(set->sets);
    free(set->vectors);
}

/* Vectors around some centres, as texts about some subjects are; with a direction that all have. The first dimensions
 * say the most if `slope` is large. */
static void fill_clusters(struct set *set, float common, float slope)
{
    enum { CENTRES = 50 };
    size_t count = set->documents * set->chunks;
    AUTO_FREE float *centres = mem_new_array(float, (size_t)CENTRES * set->dimensions);

    for (size_t i = 0; i < (size_t)CENTRES * set->dimensions; i++)
        centres[i] = noise();
    set->vectors = mem_new_array(float, count * set->dimensions);
    for (size_t i = 0; i < count; i++) {
        const float *centre = centres + dice() % CENTRES * set->dimensions;

        for (uint32_t j = 0; j < set->dimensions; j++)
            set->vectors[i * set->dimensions + j] =
                (centre[j] + noise()) / (1 + slope * (float)j) + common;
    }
}

static double cosine_of(const float *a, const float *b, uint32_t dimensions)
{
    double product = 0, left = 0, right = 0;

    for (uint32_t i = 0; i < dimensions; i++) {
        product += (double)a[i] * b[i];
        left += (double)a[i] * a[i];
        right += (double)b[i] * b[i];
    }
    return product / sqrt(left * right);
}

static int falling(const void *a, const void *b)
{
    return (*(const double *)a < *(const double *)b) -
           (*(const double *)a > *(const double *)b);
}

/* The share of the nearest 20 that are found. A hit counts if its exact cosine is that of one of them. */
static double recall_of(const struct set *set, const float *mean, unsigned queries)
{
    enum { LIMIT = 20 };
    size_t count = set->documents * set->chunks;
    AUTO_FREE double *exact = mem_new_array(double, count);
    AUTO_FREE float *query = mem_new_array(float, set->dimensions);
    struct vectors_hit hits[LIMIT];
    size_t found = 0;

    for (unsigned round = 0; round < queries; round++) {
        const float *near = set->vectors + dice() % count * set->dimensions;

        for (uint32_t j = 0; j < set->dimensions; j++)
            query[j] = near[j] + noise() / 10;
        for (size_t i = 0; i < count; i++)
            exact[i] = cosine_of(query, set->vectors + i * set->dimensions, set->dimensions);
        assert_int_equal(vectors_search(set->sets, set->documents, query, set->dimensions, mean,
                                        hits, LIMIT, NULL),
                         LIMIT);
        for (size_t i = 0; i < LIMIT; i++) {
            size_t place = hits[i].document * set->chunks + hits[i].chunk;
            double cosine =
                cosine_of(query, set->vectors + place * set->dimensions, set->dimensions);

            assert_true(fabs(cosine - hits[i].cosine) < 0.01);
            assert_true(!i || hits[i].cosine <= hits[i - 1].cosine);
            exact[place] = cosine;
        }
        qsort(exact, count, sizeof(*exact), falling);
        for (size_t i = 0; i < LIMIT; i++) {
            size_t place = hits[i].document * set->chunks + hits[i].chunk;

            found += cosine_of(query, set->vectors + place * set->dimensions,
                               set->dimensions) >= exact[LIMIT - 1];
        }
    }
    return (double)found / (LIMIT * queries);
}

static void mean_of(const struct set *set, float *ret_mean)
{
    size_t count = set->documents * set->chunks;

    for (uint32_t j = 0; j < set->dimensions; j++)
        ret_mean[j] = 0;
    for (size_t i = 0; i < count; i++) {
        const float *vector = set->vectors + i * set->dimensions;
        double length = 0;

        for (uint32_t j = 0; j < set->dimensions; j++)
            length += (double)vector[j] * vector[j];
        for (uint32_t j = 0; j < set->dimensions; j++)
            ret_mean[j] += (float)(vector[j] / sqrt(length) / (double)count);
    }
}

TEST(vectors_that_come_in_parts_give_the_same_segments)
{
    struct set set = {.documents = 1, .chunks = 50, .dimensions = 24};
    struct vectors_builder builder = {.dimensions = 24, .model = 7};
    struct buf bits = {0}, int8 = {0};

    (void)state;
    fill_clusters(&set, 0, 0);
    build(&set, NULL);
    vectors_builder_add(&builder, set.vectors, 20);
    vectors_builder_add(&builder, set.vectors + 20 * 24, 30);
    vectors_builder_finish(&builder, &bits, &int8);
    assert_int_equal(bits.length, set.bits[0].length);
    assert_memory_equal(bits.data, set.bits[0].data, bits.length);
    assert_int_equal(int8.length, set.int8[0].length);
    assert_memory_equal(int8.data, set.int8[0].data, int8.length);
    buf_clear(&bits);
    buf_clear(&int8);
    set_clear(&set);
}

TEST(a_small_set_is_searched_almost_exactly)
{
    struct set set = {.dimensions = 96, .documents = 100, .chunks = 20};
    double recall;

    fill_clusters(&set, 0, 0);
    build(&set, NULL);
    recall = recall_of(&set, NULL, 20);
    if (recall < 0.98)
        fail_msg("recall %.4f", recall);
    set_clear(&set);
}

/* More chunks than are searched exactly: by bits first. With a common direction the mean has to be taken away. */
TEST(a_large_set_is_searched_by_bits_first)
{
    struct set set = {.dimensions = 384, .documents = 420, .chunks = 50};
    AUTO_FREE float *mean = mem_new_array(float, set.dimensions);
    double recall;

    fill_clusters(&set, 0.5f, 0.1f);
    mean_of(&set, mean);
    build(&set, mean);
    recall = recall_of(&set, mean, UNDER_ASAN ? 3 : 10);
    if (recall < 0.93)
        fail_msg("recall %.4f", recall);
    set_clear(&set);
}

/* All that distinguishes these stands in 16 of 256 dimensions. Their signs alone would be those of the noise. */
TEST(a_few_dimensions_are_spread_over_all_bits)
{
    struct set set = {.dimensions = 256, .documents = 420, .chunks = 50};
    size_t count = set.documents * set.chunks;
    double recall;

    set.vectors = mem_new_array(float, count *set.dimensions);
    for (size_t i = 0; i < count * set.dimensions; i++)
        set.vectors[i] = i % set.dimensions < 16 ? noise() : noise() / 50;
    build(&set, NULL);
    recall = recall_of(&set, NULL, UNDER_ASAN ? 3 : 10);
    if (recall < 0.9)
        fail_msg("recall %.4f", recall);
    set_clear(&set);
}

TEST(equal_vectors_stand_by_document_and_chunk)
{
    struct set set = {.dimensions = 8, .documents = 3, .chunks = 4};
    struct vectors_hit hits[5];
    float query[8] = {1, 2, 3, 4, 5, 6, 7, 8};

    set.vectors = mem_new_array(float, 3 * 4 * 8);
    for (size_t i = 0; i < 3 * 4 * 8; i++)
        set.vectors[i] = (float)(i % 8);
    build(&set, NULL);
    assert_int_equal(vectors_search(set.sets, 3, query, 8, NULL, hits, 5, NULL), 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(hits[i].document, i / 4);
        assert_int_equal(hits[i].chunk, i % 4);
    }
    set_clear(&set);
}

TEST(what_does_not_fit_is_not_searched)
{
    struct set set = {.dimensions = 8, .documents = 2, .chunks = 1};
    struct vectors_hit hits[5];
    float query[16] = {1};

    set.vectors = mem_new_array(float, 2 * 8); /* zeros: no direction */
    build(&set, NULL);
    assert_int_equal(vectors_search(set.sets, 2, query, 8, NULL, hits, 5, NULL), 2);
    assert_true(hits[0].cosine >= 0 && hits[0].cosine <= 0);
    assert_int_equal(vectors_search(set.sets, 2, query, 16, NULL, hits, 5, NULL), 0);
    assert_int_equal(vectors_search(set.sets, 2, query, 8, NULL, hits, 0, NULL), 0);
    set.sets[0].int8 = NULL;
    assert_int_equal(vectors_search(set.sets, 2, query, 8, NULL, hits, 5, NULL), 1);
    assert_int_equal(hits[0].document, 1);
    set_clear(&set);
}

TEST(a_chunk_that_is_compared_has_the_cosine_of_a_search)
{
    struct set set = {.dimensions = 16, .documents = 3, .chunks = 4};
    struct vectors_hit hits[12], compared[13];
    float query[16], mean[16];

    fill_clusters(&set, 0, 0.5F);
    for (size_t i = 0; i < 16; i++) {
        query[i] = noise();
        mean[i] = 0.1F;
    }
    build(&set, mean);
    assert_int_equal(vectors_search(set.sets, 3, query, 16, mean, hits, 12, NULL), 12);
    for (size_t i = 0; i < 12; i++)
        compared[i] =
            (struct vectors_hit){.document = hits[i].document, .chunk = hits[i].chunk};
    compared[12] = (struct vectors_hit){.document = 1, .chunk = 99};
    vectors_compare(set.sets, query, 16, mean, compared, 13);
    for (size_t i = 0; i < 12; i++)
        assert_float_equal(compared[i].cosine, hits[i].cosine, 0);
    assert_float_equal(compared[12].cosine, 0, 0); /* there is no such chunk */
    set.sets[0].int8 = NULL;
    compared[0].document = 0;
    compared[0].chunk = 0;
    vectors_compare(set.sets, query, 16, mean, compared, 1);
    assert_float_equal(compared[0].cosine, 0, 0);
    set_clear(&set);
}

static bool after_some(void *arg)
{
    return --*(int *)arg <= 0;
}

TEST(a_scan_that_is_stopped_has_found_nothing)
{
    int left = 2;
    struct scan_stop stop = {.asks = after_some, .arg = &left};
    struct set set = {.dimensions = 64, .documents = 40, .chunks = 1000};
    struct vectors_hit hits[5];
    float query[64] = {1};

    fill_clusters(&set, 0, 0);
    build(&set, NULL);
    assert_int_equal(vectors_search(set.sets, 40, query, 64, NULL, hits, 5, &stop), 0);
    assert_int_equal(left, 0);
    stop = (struct scan_stop){.asks = after_some, .arg = &left};
    left = 2;
    assert_int_equal(vectors_search(set.sets, 15, query, 64, NULL, hits, 5, &stop), 0);
    stop = (struct scan_stop){.asks = after_some, .arg = &left};
    left = 100;
    assert_int_equal(vectors_search(set.sets, 40, query, 64, NULL, hits, 5, &stop), 5);
    set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_that_come_in_parts_give_the_same_segments),
        cmocka_unit_test(every_kernel_gives_the_same_numbers),
        cmocka_unit_test(a_small_set_is_searched_almost_exactly),
        cmocka_unit_test(a_large_set_is_searched_by_bits_first),
        cmocka_unit_test(a_few_dimensions_are_spread_over_all_bits),
        cmocka_unit_test(equal_vectors_stand_by_document_and_chunk),
        cmocka_unit_test(what_does_not_fit_is_not_searched),
        cmocka_unit_test(a_chunk_that_is_compared_has_the_cosine_of_a_search),
        cmocka_unit_test(a_scan_that_is_stopped_has_found_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
