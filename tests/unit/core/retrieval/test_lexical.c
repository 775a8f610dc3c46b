/* Chunks that share words with a query. */

#include "core/retrieval/lexical.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/retrieval/scan_stop.h"
#include "tests/support/test.h"

#define DOCUMENTS_LIMIT 64
#define CHUNKS_LIMIT    8

/* Documents of some chunks, as segments. */
struct set {
    struct buf bytes[DOCUMENTS_LIMIT];
    struct segment opened[DOCUMENTS_LIMIT];
    const struct segment *segments[DOCUMENTS_LIMIT];
    size_t count;
};

static void add_document(struct set *set, const char *const *chunks, size_t count)
{
    struct segment_builder *builder = segment_builder_new();
    struct segment *opened = &set->opened[set->count];

    for (size_t i = 0; i < count; i++)
        segment_builder_add(builder, chunks[i], strlen(chunks[i]));
    segment_builder_finish(builder, &set->bytes[set->count]);
    segment_builder_free(builder);
    assert_int_equal(
        segment_open(set->bytes[set->count].data, set->bytes[set->count].length, opened, NULL),
        ERR_OK);
    set->segments[set->count++] = opened;
}

#define DOCUMENT(set, ...)                                \
    add_document(set, (const char *const[]){__VA_ARGS__}, \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void set_clear(struct set *set)
{
    for (size_t i = 0; i < set->count; i++)
        buf_clear(&set->bytes[i]);
}

static size_t search(const struct set *set, const char *query, struct lexical_hit *hits,
                     size_t limit)
{
    return lexical_search(set->segments, set->count, query, strlen(query), hits, limit, NULL);
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-5))
        fail_msg("%.9f instead of %.9f", value, expected);
}

/* Four chunks of 2, 4, 2, 4 words: 3 in the mean. */
TEST(scores_are_those_of_the_formula)
{
    struct set set = {.count = 0};
    struct lexical_hit hits[10];
    double rare = log(1 + (4 - 1 + 0.5) / (1 + 0.5)),
           common = log(1 + (4 - 3 + 0.5) / (3 + 0.5));

    DOCUMENT(&set, "red car", "red red blue house");
    DOCUMENT(&set, "green tree", "a red tree here");
    assert_int_equal(search(&set, "Red houses", hits, 10), 3);

    assert_int_equal(hits[0].document, 0);
    assert_int_equal(hits[0].chunk, 1);
    assert_near(hits[0].score, common * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / 3)) +
                                   rare * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 4 / 3)));
    assert_near(hits[0].share, hits[0].score / (2.2 * (rare + common)));
    assert_int_equal(hits[1].document, 0);
    assert_int_equal(hits[1].chunk, 0);
    assert_near(hits[1].score, common * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3)));
    assert_int_equal(hits[2].document, 1);
    assert_int_equal(hits[2].chunk, 1);
    set_clear(&set);
}

TEST(a_word_that_no_chunk_has_lowers_the_share)
{
    struct set set = {.count = 0};
    struct lexical_hit with[1], without[1];

    DOCUMENT(&set, "red car", "blue car");
    assert_int_equal(search(&set, "red", without, 1), 1);
    assert_int_equal(search(&set, "red zebra", with, 1), 1);
    assert_near(with[0].score, without[0].score);
    assert_true(with[0].share < without[0].share / 2);
    set_clear(&set);
}

TEST(equal_scores_stand_by_document_and_chunk)
{
    struct set set = {.count = 0};
    struct lexical_hit hits[5];

    for (int i = 0; i < 20; i++)
        DOCUMENT(&set, "same text", "same text");
    assert_int_equal(search(&set, "text", hits, 5), 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(hits[i].document, i / 2);
        assert_int_equal(hits[i].chunk, i % 2);
    }
    set_clear(&set);
}

TEST(chinese_is_found_by_pairs_of_signs)
{
    struct set set = {.count = 0};
    struct lexical_hit hits[5];

    DOCUMENT(&set, "\u7535\u6c60\u7684\u4fdd\u4fee\u671f\u4e3a\u4e24\u5e74\u3002",
             "\u8bf7\u52ff\u5c06\u7535\u89c6\u673a\u653e\u5728\u6c60\u5b50\u91cc\u3002");
    /* 电池保修 */
    assert_int_equal(search(&set, "\u7535\u6c60\u4fdd\u4fee", hits, 5), 1);
    assert_int_equal(hits[0].chunk, 0);
    set_clear(&set);
}

TEST(nothing_is_found_by_nothing)
{
    struct set set = {.count = 0};
    struct lexical_hit hits[2];

    assert_int_equal(search(&set, "word", hits, 2), 0);
    DOCUMENT(&set, "one", "two");
    assert_int_equal(search(&set, "", hits, 2), 0);
    assert_int_equal(search(&set, " ... ", hits, 2), 0);
    assert_int_equal(search(&set, "one", hits, 0), 0);
    set.segments[set.count++] = NULL;
    assert_int_equal(search(&set, "one", hits, 2), 1);
    set.count--;
    set_clear(&set);
}

TEST(a_query_of_any_length_is_searched)
{
    struct set set = {.count = 0};
    struct lexical_hit hits[2];
    AUTO_BUF query = {0};

    DOCUMENT(&set, "word1 word2 word3", "word9999");
    for (int i = 0; i < 10000; i++)
        buf_addf(&query, "word%d ", i);
    assert_int_equal(search(&set, query.data, hits, 2), 1);
    assert_int_equal(hits[0].chunk, 0);
    set_clear(&set);
}

/* The best of a heap are the first of the whole list. */
TEST(a_limit_takes_the_first_of_all)
{
    static const char *const words[] = {"red",   "blue", "green", "car",
                                        "house", "tree", "and",   "of"};
    static const char *const queries[] = {"red house", "of the red and blue tree of a car"};
    struct set set = {.count = 0};
    struct lexical_hit all[DOCUMENTS_LIMIT * CHUNKS_LIMIT],
        some[DOCUMENTS_LIMIT * CHUNKS_LIMIT];
    unsigned seed = 11;
    size_t count;

    for (int i = 0; i < DOCUMENTS_LIMIT; i++) {
        struct buf texts[CHUNKS_LIMIT] = {{0}};
        const char *chunks[CHUNKS_LIMIT];

        for (int j = 0; j < CHUNKS_LIMIT; j++) {
            for (unsigned k = 0; k <= (seed >> 16) % 20; k++) {
                unsigned first, second;

                seed = seed * 1103515245u + 12345u;
                first = (seed >> 16) % COUNT_OF(words);
                second = (seed >> 20) % COUNT_OF(words); /* the last ones are frequent */
                buf_addf(&texts[j], "%s ", words[first > second ? first : second]);
            }
            chunks[j] = texts[j].data;
        }
        add_document(&set, chunks, CHUNKS_LIMIT);
        for (int j = 0; j < CHUNKS_LIMIT; j++)
            buf_clear(&texts[j]);
    }
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        count = search(&set, queries[i], all, COUNT_OF(all));
        assert_true(count > 100);
        for (size_t k = 1; k < count; k++)
            assert_true(all[k].score <= all[k - 1].score);
        for (size_t limit = 1; limit < count; limit += 1 + limit / 3) {
            assert_int_equal(search(&set, queries[i], some, limit), limit);
            assert_memory_equal(some, all, limit * sizeof(*all));
        }
    }
    set_clear(&set);
}

/* Says yes when it is asked for the second time. */
static bool asked_twice(void *arg)
{
    return ++*(int *)arg == 2;
}

TEST(a_search_that_is_to_stop_ends_early_and_finds_nothing)
{
    enum { MANY = 2000 };
    AUTO_FREE const struct segment **many = mem_new_array(const struct segment *, MANY);
    struct set set = {.count = 0};
    struct lexical_hit hits[10];
    int asked = 0;
    struct scan_stop stop = {.asks = asked_twice, .arg = &asked};
    struct scan_stop late = {.asks = asked_twice, .arg = &asked};

    DOCUMENT(&set, "red car");
    for (size_t i = 0; i < MANY; i++)
        many[i] = set.segments[0];
    assert_int_equal(lexical_search(many, MANY, "red", 3, hits, 10, &stop), 0);
    assert_int_equal(asked, 2);
    assert_true(stop.stopped);
    assert_int_equal(lexical_search(many, MANY, "red", 3, hits, 10, &stop), 0);
    assert_int_equal(asked, 2); /* yes is an answer for good */

    asked = 100;
    assert_int_equal(lexical_search(many, MANY, "red", 3, hits, 10, &late), 10);
    assert_in_range(asked, 102, 120); /* and it is not asked at every step */
    set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_formula),
        cmocka_unit_test(a_word_that_no_chunk_has_lowers_the_share),
        cmocka_unit_test(equal_scores_stand_by_document_and_chunk),
        cmocka_unit_test(chinese_is_found_by_pairs_of_signs),
        cmocka_unit_test(nothing_is_found_by_nothing),
        cmocka_unit_test(a_query_of_any_length_is_searched),
        cmocka_unit_test(a_limit_takes_the_first_of_all),
        cmocka_unit_test(a_search_that_is_to_stop_ends_early_and_finds_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
