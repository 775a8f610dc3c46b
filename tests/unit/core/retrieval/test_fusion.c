/* Lists of chunks as one list. */

#include "core/retrieval/fusion.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"

#define LIST(kind_, query_, entries_)                                                          \
    {                                                                                          \
        .kind = (kind_), .query = (query_), .entries = (entries_), .count = COUNT_OF(entries_) \
    }

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-6))
        fail_msg("%.9f instead of %.9f", value, expected);
}

/* Two lists, by hand: A is first and second, B second and first, C only among words, D only among vectors. */
TEST(ranks_are_added_up)
{
    const struct fusion_entry vectors[] = {{0, 1, 0.9f}, {0, 2, 0.8f}, {3, 0, 0.5f}};
    const struct fusion_entry words[] = {{0, 2, 0.6f}, {2, 7, 0.5f}, {0, 1, 0.1f}};
    const struct fusion_list lists[] = {LIST(FUSION_VECTORS, 0, vectors),
                                        LIST(FUSION_WORDS, 0, words)};
    struct fusion_hit *hits;
    size_t count = fusion_rank(lists, 2, &FUSION_WEIGHTS_DEFAULT, &hits);

    assert_int_equal(count, 4);
    assert_int_equal(hits[0].chunk, 2);
    assert_near(hits[0].rrf, 1.0 / 62 + 1.0 / 61);
    assert_near(hits[0].score, (0.8 + 0.6) / 2);
    assert_int_equal(hits[1].chunk, 1);
    assert_near(hits[1].rrf, 1.0 / 61 + 1.0 / 63);
    assert_near(hits[1].score, (0.9 + 0.1) / 2);
    assert_int_equal(hits[2].document, 2);
    assert_near(hits[2].rrf, 1.0 / 62);
    assert_near(hits[2].score, 0.5 / 2);
    assert_int_equal(hits[3].document, 3);
    assert_near(hits[3].rrf, 1.0 / 63);
    free(hits);
}

TEST(weights_move_the_order_and_zero_leaves_a_kind_out)
{
    const struct fusion_entry vectors[] = {{0, 1, 0.9f}, {0, 2, 0.8f}};
    const struct fusion_entry words[] = {{0, 2, 0.6f}, {0, 3, 0.5f}};
    const struct fusion_list lists[] = {LIST(FUSION_VECTORS, 0, vectors),
                                        LIST(FUSION_WORDS, 0, words)};
    struct fusion_hit *hits;

    assert_int_equal(fusion_rank(lists, 2, &(struct fusion_weights){0, 1}, &hits), 2);
    assert_int_equal(hits[0].chunk, 2);
    assert_near(hits[0].score, 0.6);
    assert_int_equal(hits[1].chunk, 3);
    free(hits);

    assert_int_equal(fusion_rank(lists, 2, &(struct fusion_weights){3, 1}, &hits), 3);
    assert_int_equal(hits[0].chunk, 2); /* 3/62 + 1/61 */
    assert_near(hits[0].score, (3 * 0.8 + 0.6) / 4);
    assert_int_equal(hits[1].chunk, 1);
    assert_near(hits[1].rrf, 3.0 / 61);
    assert_near(hits[1].score, 3 * 0.9 / 4);
    free(hits);
}

/* With words alone, the share of the words is the score, with any weights. */
TEST(the_best_query_gives_the_score)
{
    const struct fusion_entry first[] = {{5, 0, 0.2f}, {1, 0, 0.2f}};
    const struct fusion_entry second[] = {{1, 0, 0.7f}, {5, 0, 0.1f}};
    const struct fusion_list lists[] = {LIST(FUSION_WORDS, 0, first),
                                        LIST(FUSION_WORDS, 1, second)};
    struct fusion_hit *hits;

    assert_int_equal(fusion_rank(lists, 2, &FUSION_WEIGHTS_DEFAULT, &hits), 2);
    /* Equal sums stand by document. */
    assert_int_equal(hits[0].document, 1);
    assert_near(hits[0].rrf, hits[1].rrf);
    assert_near(hits[0].score, 0.7);
    assert_near(hits[1].score, 0.2);
    free(hits);
}

TEST(values_outside_of_0_to_1_are_brought_back)
{
    const struct fusion_entry vectors[] = {{0, 0, 1.5f}, {0, 1, -0.5f}, {0, 2, NAN}};
    const struct fusion_list lists[] = {LIST(FUSION_VECTORS, 0, vectors)};
    struct fusion_hit *hits;

    assert_int_equal(fusion_rank(lists, 1, &FUSION_WEIGHTS_DEFAULT, &hits), 3);
    assert_near(hits[0].score, 1);
    assert_near(hits[1].score, 0);
    assert_near(hits[2].score, 0);
    free(hits);
}

TEST(nothing_gives_nothing)
{
    struct fusion_hit *hits;

    assert_int_equal(fusion_rank(NULL, 0, &FUSION_WEIGHTS_DEFAULT, &hits), 0);
    assert_int_equal(fusion_cut(hits, 0, 0, 10), 0);
    free(hits);
}

/* The threshold sees the score of the chunk, not the lowered one: the third stays. */
TEST(scores_fall_after_the_threshold_was_applied)
{
    struct fusion_hit hits[] = {{0, 0, 5, 0.6}, {0, 1, 4, 0.3}, {0, 2, 3, 0.8}, {0, 3, 2, 0.5}};

    assert_int_equal(fusion_cut(hits, 4, 0.5, 10), 3);
    assert_int_equal(hits[0].chunk, 0);
    assert_near(hits[0].score, 0.6);
    assert_int_equal(hits[1].chunk, 2);
    assert_near(hits[1].score, 0.6);
    assert_int_equal(hits[2].chunk, 3);
    assert_near(hits[2].score, 0.5);
}

TEST(the_limit_counts_what_is_kept)
{
    struct fusion_hit hits[] = {{0, 0, 5, 0.1}, {0, 1, 4, 0.3}, {0, 2, 3, 0.8}};

    assert_int_equal(fusion_cut(hits, 3, 0.2, 1), 1);
    assert_int_equal(hits[0].chunk, 1);
}

TEST(a_reranker_orders_what_it_has_seen)
{
    struct fusion_hit hits[] = {
        {0, 0, 5, 0.1}, {0, 1, 4, 0.9}, {0, 2, 3, 0.1}, {0, 3, 2, 0.9}, {0, 4, 1, 1.0}};
    static const uint32_t expected[] = {1, 3, 0, 2, 4};

    fusion_rerank(hits, 5, 4);
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(hits[i].chunk, expected[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_added_up),
        cmocka_unit_test(weights_move_the_order_and_zero_leaves_a_kind_out),
        cmocka_unit_test(the_best_query_gives_the_score),
        cmocka_unit_test(values_outside_of_0_to_1_are_brought_back),
        cmocka_unit_test(nothing_gives_nothing),
        cmocka_unit_test(scores_fall_after_the_threshold_was_applied),
        cmocka_unit_test(the_limit_counts_what_is_kept),
        cmocka_unit_test(a_reranker_orders_what_it_has_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
