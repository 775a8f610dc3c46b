/*
 * A model that has failed: who asks it, and when.
 */

#include "core/ingest/model_rest.h"

#include "tests/support/test.h"

#define NOW (1000 * NS_PER_SECOND)

TEST(a_model_that_has_failed_is_left_alone)
{
    static const enum err_code failures[] = {ERR_TIMEOUT, ERR_UPSTREAM, ERR_LIMIT};

    for (size_t i = 0; i < 3; i++) {
        struct model_rest rest = {0};

        assert_true(model_rest_may_ask(&rest, NOW));
        assert_true(model_rest_may_ask(&rest, NOW)); /* several at once */
        model_rest_note(&rest, failures[i], 0, NOW);
        assert_false(model_rest_may_ask(&rest, NOW));
        assert_false(model_rest_may_ask(&rest, NOW + MODEL_REST_NS - 1));
        assert_true(model_rest_may_ask(&rest, NOW + MODEL_REST_NS));
    }
}

TEST(after_its_rest_one_caller_finds_out)
{
    struct model_rest rest = {0};
    uint64_t later = NOW + MODEL_REST_NS;

    model_rest_note(&rest, ERR_TIMEOUT, 0, NOW);
    assert_true(model_rest_may_ask(&rest, later));
    assert_false(model_rest_may_ask(&rest, later));
    model_rest_note(&rest, ERR_TIMEOUT, 0, later + 1);
    assert_false(model_rest_may_ask(&rest, later + MODEL_REST_NS));
    assert_true(model_rest_may_ask(&rest, later + 1 + MODEL_REST_NS));
    model_rest_note(&rest, ERR_OK, 0, later + 2 + MODEL_REST_NS);
    assert_true(model_rest_may_ask(&rest, NOW));
    assert_true(model_rest_may_ask(&rest, NOW));
}

TEST(a_pause_that_the_model_asks_for_is_kept)
{
    struct model_rest rest = {0};

    model_rest_note(&rest, ERR_LIMIT, 20 * NS_PER_SECOND, NOW);
    assert_false(model_rest_may_ask(&rest, NOW + 20 * NS_PER_SECOND - 1));
    assert_true(model_rest_may_ask(&rest, NOW + 20 * NS_PER_SECOND));
    model_rest_note(&rest, ERR_LIMIT, 3600 * NS_PER_SECOND, NOW);
    assert_true(model_rest_may_ask(&rest, NOW + MODEL_REST_LIMIT_NS));
}

TEST(a_text_that_is_refused_is_no_failure)
{
    struct model_rest rest = {0};

    model_rest_note(&rest, ERR_INVALID, 0, NOW);
    assert_true(model_rest_may_ask(&rest, NOW));
    model_rest_note(&rest, ERR_CANCELLED, 0, NOW);
    assert_true(model_rest_may_ask(&rest, NOW));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_that_has_failed_is_left_alone),
        cmocka_unit_test(after_its_rest_one_caller_finds_out),
        cmocka_unit_test(a_pause_that_the_model_asks_for_is_kept),
        cmocka_unit_test(a_text_that_is_refused_is_no_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
