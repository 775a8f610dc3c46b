/* The index of a document as bytes. */

#include "core/retrieval/segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/retrieval/words.h"
#include "tests/support/test.h"

static void keep(void *arg, uint32_t word)
{
    *(uint32_t *)arg = word;
}

static uint32_t word(const char *text)
{
    uint32_t found = 0;

    words_read(text, strlen(text), keep, &found);
    return found;
}

static void build(struct buf *out, const char *const *texts, size_t count)
{
    struct segment_builder *builder = segment_builder_new();

    for (size_t i = 0; i < count; i++)
        segment_builder_add(builder, texts[i], strlen(texts[i]));
    segment_builder_finish(builder, out);
    segment_builder_free(builder);
}

/* "0x2 3" for: chunk 0 twice, chunk 3 once. */
static void assert_found(const struct segment *segment, const char *text, const char *expected)
{
    struct segment_postings postings;
    uint32_t chunk, times, count = 0;
    AUTO_BUF found = {0};

    buf_add_text(&found, "");
    if (segment_find(segment, word(text), &postings)) {
        while (segment_next(&postings, &chunk, &times)) {
            buf_addf(&found, times > 1 ? "%s%ux%u" : "%s%u", found.length ? " " : "", chunk,
                     times);
            count++;
        }
        assert_int_equal(count, postings.chunks);
        assert_false(segment_next(&postings, &chunk, &times));
    }
    assert_string_equal(found.data ? found.data : "", expected);
}

TEST(words_are_found_in_their_chunks)
{
    static const char *const texts[] = {"battery and battery", "the cable", "",
                                        "a battery, the car"};
    AUTO_BUF bytes = {0};
    struct segment segment;

    build(&bytes, texts, COUNT_OF(texts));
    assert_int_equal(segment_open(bytes.data, bytes.length, &segment, NULL), ERR_OK);
    assert_int_equal(segment.kind, SEGMENT_TERMS);
    assert_int_equal(segment.chunks, 4);
    assert_int_equal(segment.terms, 6);
    assert_int_equal(segment.words, 9);
    assert_int_equal(segment_chunk_words(&segment, 0), 3);
    assert_int_equal(segment_chunk_words(&segment, 2), 0);
    assert_found(&segment, "battery", "0x2 3");
    assert_found(&segment, "the", "1 3");
    assert_found(&segment, "car", "3");
    assert_found(&segment, "bicycle", "");
}

TEST(a_document_without_words_is_a_segment)
{
    AUTO_BUF bytes = {0};
    struct segment segment;

    build(&bytes, NULL, 0);
    assert_int_equal(segment_open(bytes.data, bytes.length, &segment, NULL), ERR_OK);
    assert_int_equal(segment.chunks, 0);
    assert_found(&segment, "word", "");
}

/* All words of a large document, beside a table of them. */
TEST(every_word_is_found_where_it_is)
{
    enum { CHUNKS = 400, WORDS = 3000, OF_CHUNK = 300 };
    AUTO_FREE uint8_t *times = mem_zeroed(CHUNKS * WORDS, 1);
    struct segment_builder *builder = segment_builder_new();
    AUTO_BUF bytes = {0};
    struct segment segment;
    unsigned seed = 7;

    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        AUTO_BUF text = {0};

        for (size_t i = 0; i < OF_CHUNK; i++) {
            seed = seed * 1103515245u + 12345u;
            size_t n = (seed >> 16) % WORDS * ((seed >> 8) % 100) / 100;

            times[chunk * WORDS + n]++;
            buf_addf(&text, "w%zu ", n);
        }
        segment_builder_add(builder, text.data, text.length);
    }
    segment_builder_finish(builder, &bytes);
    segment_builder_free(builder);
    assert_int_equal(segment_open(bytes.data, bytes.length, &segment, NULL), ERR_OK);
    for (size_t n = 0; n < WORDS; n++) {
        struct segment_postings postings = {0};
        uint32_t chunk, count;
        char text[16];

        snprintf(text, sizeof(text), "w%zu", n);
        if (segment_find(&segment, word(text), &postings)) {
            while (segment_next(&postings, &chunk, &count)) {
                assert_int_equal(times[chunk * WORDS + n], count);
                times[chunk * WORDS + n] = 0;
            }
        }
    }
    for (size_t i = 0; i < CHUNKS * WORDS; i++)
        assert_int_equal(times[i], 0);
    /* Some three bytes a posting. */
    assert_true(bytes.length < 3 * CHUNKS * OF_CHUNK);
}

TEST(the_same_document_has_the_same_bytes)
{
    static const char *const texts[] = {"one two three", "two \u4e2d\u6587\u5b57", "three"};
    AUTO_BUF first = {0}, second = {0};

    build(&first, texts, COUNT_OF(texts));
    build(&second, texts, COUNT_OF(texts));
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.data, second.data, first.length);
}

static enum err_code open_bytes(const char *bytes, size_t length)
{
    /* A block of its own, so that a sanitizer sees what is read behind it. */
    AUTO_FREE char *copy = mem_strndup(bytes, length);
    struct segment segment;

    return segment_open(copy, length, &segment, NULL);
}

TEST(damaged_bytes_are_refused)
{
    static const char *const texts[] = {"one two three", "two three", "three"};
    AUTO_BUF bytes = {0};

    build(&bytes, texts, COUNT_OF(texts));
    for (size_t length = 0; length < bytes.length; length++)
        assert_int_equal(open_bytes(bytes.data, length), ERR_INVALID);
    for (size_t i = 0; i < bytes.length; i++) {
        bytes.data[i] ^= 0x10;
        assert_int_equal(open_bytes(bytes.data, bytes.length), ERR_INVALID);
        bytes.data[i] ^= 0x10;
    }
    assert_int_equal(open_bytes(bytes.data, bytes.length), ERR_OK);
    buf_add_char(&bytes, 0);
    assert_int_equal(open_bytes(bytes.data, bytes.length), ERR_INVALID);
}

/* Bytes that were made to deceive: a right checksum over wrong bytes. */
TEST(no_read_leaves_bytes_that_deceive)
{
    static const char *const texts[] = {"one two three three", "two three four",
                                        "three one one"};
    static const char *const asked[] = {"one", "two", "three", "four", "five"};
    AUTO_BUF bytes = {0};
    unsigned seed = 3;
    size_t opened = 0;

    build(&bytes, texts, COUNT_OF(texts));
    for (size_t round = 0; round < 20000; round++) {
        struct buf bent = {0};
        struct segment segment, head;
        AUTO_FREE char *copy = NULL;

        assert_int_equal(segment_open(bytes.data, bytes.length, &head, NULL), ERR_OK);
        buf_add(&bent, bytes.data, bytes.length);
        for (size_t i = 0; i <= round % 3; i++) {
            seed = seed * 1103515245u + 12345u;
            bent.data[SEGMENT_HEAD + (seed >> 16) % (bent.length - SEGMENT_HEAD)] =
                (char)(seed >> 8);
        }
        if (round % 5 == 0)
            head.chunks = (seed >> 20) % 8;
        if (round % 7 == 0)
            head.blocks = head.terms = (seed >> 18) % 8;
        segment_seal(&bent, &head);
        copy = mem_strndup(bent.data, bent.length);
        if (segment_open(copy, bent.length, &segment, NULL) == ERR_OK) {
            opened++;
            for (size_t i = 0; i < COUNT_OF(asked); i++) {
                struct segment_postings postings;
                uint32_t chunk, times, next = 0;

                if (!segment_find(&segment, word(asked[i]), &postings))
                    continue;
                while (segment_next(&postings, &chunk, &times)) {
                    assert_in_range(chunk, next, segment.chunks - 1);
                    assert_true(times > 0);
                    next = chunk + 1;
                    segment_chunk_words(&segment, chunk);
                }
            }
        }
        buf_clear(&bent);
    }
    assert_true(opened > 5000);
}

TEST(a_kind_of_vectors_has_the_size_that_its_head_claims)
{
    AUTO_BUF bytes = {0};
    struct segment head = {.kind = SEGMENT_INT8, .chunks = 3, .dimensions = 5}, segment;

    assert_int_equal(segment_stride(SEGMENT_BITS, 1536), 192);
    assert_int_equal(segment_stride(SEGMENT_BITS, 65), 16);
    assert_int_equal(segment_stride(SEGMENT_INT8, 1536), 1540);
    assert_int_equal(segment_stride(SEGMENT_INT8, 5), 12);
    segment_begin(&bytes);
    for (size_t i = 0; i < 3 * 12; i++)
        buf_add_char(&bytes, (char)i);
    segment_seal(&bytes, &head);
    assert_int_equal(segment_open(bytes.data, bytes.length, &segment, NULL), ERR_OK);
    assert_int_equal(segment.dimensions, 5);
    head.dimensions = 9;
    segment_seal(&bytes, &head);
    assert_int_equal(open_bytes(bytes.data, bytes.length), ERR_INVALID);
    head = (struct segment){.kind = (enum segment_kind)9, .chunks = 3, .dimensions = 5};
    segment_seal(&bytes, &head);
    assert_int_equal(open_bytes(bytes.data, bytes.length), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_found_in_their_chunks),
        cmocka_unit_test(a_document_without_words_is_a_segment),
        cmocka_unit_test(every_word_is_found_where_it_is),
        cmocka_unit_test(the_same_document_has_the_same_bytes),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(no_read_leaves_bytes_that_deceive),
        cmocka_unit_test(a_kind_of_vectors_has_the_size_that_its_head_claims),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
