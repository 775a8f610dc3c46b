/*
 * Segments of a document in one piece.
 */

#include "core/retrieval/index.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/retrieval/vectors.h"
#include "tests/support/test.h"

static struct buf words_of(size_t chunks)
{
    struct segment_builder *builder = segment_builder_new();
    struct buf bytes = {0};

    for (size_t i = 0; i < chunks; i++)
        segment_builder_add(builder, "amber birch cobalt", 18);
    segment_builder_finish(builder, &bytes);
    segment_builder_free(builder);
    return bytes;
}

static void add_vectors(struct buf *bytes, uint32_t chunks, uint32_t model)
{
    AUTO_FREE float *vectors = mem_new_array(float, chunks * 8);
    struct buf bits = {0}, int8 = {0};

    for (size_t i = 0; i < (size_t)chunks * 8; i++)
        vectors[i] = (float)(i % 5) - 2;
    vectors_build(vectors, chunks, 8, NULL, model, &bits, &int8);
    index_pad(bytes);
    buf_add(bytes, bits.data, bits.length);
    index_pad(bytes);
    buf_add(bytes, int8.data, int8.length);
    buf_clear(&bits);
    buf_clear(&int8);
}

TEST(an_index_has_words_and_may_have_vectors)
{
    struct buf bytes = words_of(3);
    struct index index;

    assert_int_equal(index_open(bytes.data, bytes.length, &index, NULL), ERR_OK);
    assert_int_equal(index.terms.chunks, 3);
    assert_int_equal(index.model, 0);
    assert_int_equal(index.int8.chunks, 0);
    index_pad(&bytes);
    assert_int_equal(bytes.length % INDEX_ALIGN, 0);
    assert_int_equal(index_open(bytes.data, bytes.length, &index, NULL), ERR_OK);
    add_vectors(&bytes, 3, 7);
    assert_int_equal(index_open(bytes.data, bytes.length, &index, NULL), ERR_OK);
    assert_int_equal(index.model, 7);
    assert_int_equal(index.bits.chunks, 3);
    assert_int_equal(index.int8.chunks, 3);
    assert_int_equal(index.int8.dimensions, 8);
    index_pad(&bytes);
    assert_int_equal(index_open(bytes.data, bytes.length, &index, NULL), ERR_OK);
    buf_clear(&bytes);
}

TEST(what_does_not_fit_is_no_index)
{
    struct buf bytes = words_of(3), other;
    struct index index;
    size_t whole;

    add_vectors(&bytes, 2, 7); /* of another document */
    assert_int_equal(index_open(bytes.data, bytes.length, &index, NULL), ERR_INVALID);
    buf_clear(&bytes);
    bytes = words_of(3);
    add_vectors(&bytes, 3, 7);
    whole = bytes.length;
    for (size_t cut = 0; cut < whole; cut++) {
        other = (struct buf){0};
        buf_add(&other, bytes.data, cut); /* an exact copy, for sanitizers */
        if (index_open(other.data, cut, &index, NULL) == ERR_OK)
            assert_int_equal(index.model, 0); /* the words alone, before the rest */
        buf_clear(&other);
    }
    bytes.data[whole - 1] ^= 1;
    assert_int_equal(index_open(bytes.data, whole, &index, NULL), ERR_INVALID);
    bytes.data[whole - 1] ^= 1;
    add_vectors(&bytes, 3, 7); /* twice */
    assert_int_equal(index_open(bytes.data, bytes.length, &index, NULL), ERR_INVALID);
    buf_clear(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_has_words_and_may_have_vectors),
        cmocka_unit_test(what_does_not_fit_is_no_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
