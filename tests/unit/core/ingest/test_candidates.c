/*
 * Lists by words and by meaning as one.
 */

#include "core/ingest/candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/retrieval/vectors.h"
#include "tests/support/test.h"

#define DIMENSIONS 8
#define DOCUMENTS  3

/* A document of one chunk: its words, and its vector of this model. */
static struct buf index_bytes(const char *text, const float *vector, uint32_t model)
{
    struct segment_builder *builder = segment_builder_new();
    struct buf bytes = {0}, bits = {0}, int8 = {0};

    segment_builder_add(builder, text, strlen(text));
    segment_builder_finish(builder, &bytes);
    segment_builder_free(builder);
    if (!model)
        return bytes;
    vectors_build(vector, 1, DIMENSIONS, NULL, model, &bits, &int8);
    index_pad(&bytes);
    buf_add(&bytes, bits.data, bits.length);
    index_pad(&bytes);
    buf_add(&bytes, int8.data, int8.length);
    buf_clear(&bits);
    buf_clear(&int8);
    return bytes;
}

static const float east[DIMENSIONS] = {1}, north[DIMENSIONS] = {0, 1};
static const float between[DIMENSIONS] = {1, 1};

/* Document 0 has the word, 1 the meaning, 2 the word and half of the meaning. */
struct fixture {
    struct buf bytes[DOCUMENTS];
    struct index indexes[DOCUMENTS];
    const struct index *places[DOCUMENTS];
    struct vector_space space;
    const char *query;
    struct candidates candidates;
};

static void open_all(struct fixture *fixture, uint32_t model)
{
    *fixture = (struct fixture){.space = {.id = 7, .dimensions = DIMENSIONS}, .query = "amber"};
    fixture->bytes[0] = index_bytes("amber", north, model);
    fixture->bytes[1] = index_bytes("birch", east, 7);
    fixture->bytes[2] = index_bytes("amber cobalt", between, 7);
    for (size_t i = 0; i < DOCUMENTS; i++) {
        assert_int_equal(index_open(fixture->bytes[i].data, fixture->bytes[i].length,
                                    &fixture->indexes[i], NULL),
                         ERR_OK);
        fixture->places[i] = &fixture->indexes[i];
    }
    fixture->candidates = (struct candidates){.indexes = fixture->places,
                                              .count = DOCUMENTS,
                                              .queries = &fixture->query,
                                              .query_count = 1,
                                              .space = &fixture->space,
                                              .vectors = east,
                                              .weights = FUSION_WEIGHTS_DEFAULT};
}

static void close_all(struct fixture *fixture)
{
    for (size_t i = 0; i < DOCUMENTS; i++)
        buf_clear(&fixture->bytes[i]);
}

static const struct fusion_hit *hit_of(const struct fusion_hit *hits, size_t count,
                                       uint32_t document)
{
    for (size_t i = 0; i < count; i++) {
        if (hits[i].document == document)
            return &hits[i];
    }
    fail_msg("document %u was not found", document);
    return NULL;
}

TEST(words_and_meaning_are_fused)
{
    struct fixture fixture;
    struct fusion_hit *hits;
    size_t count;

    open_all(&fixture, 7);
    count = candidates_find(&fixture.candidates, &hits);
    assert_int_equal(count, 3);
    assert_int_equal(hits[2].document, 1); /* the others are in both lists */
    assert_float_equal(hit_of(hits, count, 1)->score, 0.5, 0.01); /* all meaning, no word */
    free(hits);
    fixture.candidates.space = NULL;
    count = candidates_find(&fixture.candidates, &hits);
    assert_int_equal(count, 2);
    assert_int_equal(hits[0].document, 0); /* the shorter one */
    free(hits);
    close_all(&fixture);
}

TEST(a_weight_of_zero_leaves_a_list_out)
{
    struct fixture fixture;
    struct fusion_hit *hits;

    open_all(&fixture, 7);
    fixture.candidates.weights = (struct fusion_weights){.vectors = 1, .words = 0};
    assert_int_equal(candidates_find(&fixture.candidates, &hits), 3);
    assert_int_equal(hits[0].document, 1);
    assert_float_equal(hits[0].score, 1, 0.01);
    assert_float_equal(hits[1].score, sqrt(0.5), 0.01);
    free(hits);
    close_all(&fixture);
}

TEST(a_chunk_without_a_vector_is_judged_by_its_words)
{
    struct fixture fixture;
    struct fusion_hit *hits, *alone;
    size_t count;

    open_all(&fixture, 0);
    count = candidates_find(&fixture.candidates, &hits);
    assert_int_equal(count, 3);
    fixture.candidates.space = NULL;
    assert_int_equal(candidates_find(&fixture.candidates, &alone), 2);
    assert_float_equal(hit_of(hits, count, 0)->score, alone[0].score, 1e-6);
    free(hits);
    free(alone);
    close_all(&fixture);
    /* So is one of another model: its numbers mean something else. */
    open_all(&fixture, 6);
    count = candidates_find(&fixture.candidates, &hits);
    assert_true(hit_of(hits, count, 0)->score > 0.4);
    free(hits);
    close_all(&fixture);
}

TEST(what_words_have_found_is_compared)
{
    enum { MANY = 300 };
    struct fixture fixture;
    AUTO_FREE struct buf *bytes = mem_zeroed(MANY, sizeof(*bytes));
    AUTO_FREE struct index *indexes = mem_zeroed(MANY, sizeof(*indexes));
    AUTO_FREE const struct index **places = mem_zeroed(MANY, sizeof(*places));
    struct fusion_hit *hits;
    size_t count;

    open_all(&fixture, 7);
    /* The list by vectors is full of others, and the last has the word. */
    for (size_t i = 0; i < MANY; i++) {
        bytes[i] =
            i + 1 < MANY ? index_bytes("birch", east, 7) : index_bytes("amber", between, 7);
        assert_int_equal(index_open(bytes[i].data, bytes[i].length, &indexes[i], NULL), ERR_OK);
        places[i] = &indexes[i];
    }
    fixture.candidates.indexes = places;
    fixture.candidates.count = MANY;
    count = candidates_find(&fixture.candidates, &hits);
    assert_int_equal(count, CANDIDATES_LIST + 1);
    fixture.candidates.weights = (struct fusion_weights){.vectors = 1, .words = 0};
    free(hits);
    assert_int_equal(candidates_find(&fixture.candidates, &hits), CANDIDATES_LIST);
    fixture.candidates.weights = (struct fusion_weights){.vectors = 1, .words = 1e-9};
    free(hits);
    count = candidates_find(&fixture.candidates, &hits);
    assert_float_equal(hit_of(hits, count, MANY - 1)->score, sqrt(0.5), 0.01);
    free(hits);
    for (size_t i = 0; i < MANY; i++)
        buf_clear(&bytes[i]);
    close_all(&fixture);
}

TEST(a_query_without_direction_is_of_words)
{
    static const float zeros[DIMENSIONS];
    struct fixture fixture;
    struct fusion_hit *hits;

    open_all(&fixture, 7);
    fixture.candidates.vectors = zeros;
    assert_int_equal(candidates_find(&fixture.candidates, &hits), 2);
    free(hits);
    fixture.places[0] = NULL; /* not searched */
    assert_int_equal(candidates_find(&fixture.candidates, &hits), 1);
    free(hits);
    close_all(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_meaning_are_fused),
        cmocka_unit_test(a_weight_of_zero_leaves_a_list_out),
        cmocka_unit_test(a_chunk_without_a_vector_is_judged_by_its_words),
        cmocka_unit_test(what_words_have_found_is_compared),
        cmocka_unit_test(a_query_without_direction_is_of_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
