/*
 * Answers of embeddings models: what is whole, and what is refused.
 */

#include "core/ingest/embeddings_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

static enum err_code read_answer(const char *text, size_t count, uint32_t dimensions,
                                 struct embedded *ret_embedded, struct err *err)
{
    return embeddings_answer_read(text, strlen(text), count, dimensions, ret_embedded, err);
}

TEST(vectors_stand_in_the_order_of_their_texts)
{
    struct embedded embedded;

    assert_int_equal(read_answer("{\"data\": [{\"index\": 1, \"embedding\": [0, 2]},"
                                 " {\"index\": 0, \"embedding\": [3, 4]}],"
                                 " \"usage\": {\"total_tokens\": 7}}",
                                 2, 0, &embedded, NULL),
                     ERR_OK);
    assert_int_equal(embedded.dimensions, 2);
    assert_int_equal(embedded.tokens, 7);
    assert_false(embedded.packed);
    assert_float_equal(embedded.vectors[0], 0.6, 1e-6); /* length 1 */
    assert_float_equal(embedded.vectors[1], 0.8, 1e-6);
    assert_float_equal(embedded.vectors[2], 0, 1e-6);
    assert_float_equal(embedded.vectors[3], 1, 1e-6);
    free(embedded.vectors);
}

TEST(base64_is_numbers)
{
    struct embedded embedded;

    /* 1.0, -1.0; no index: the order counts */
    assert_int_equal(
        read_answer("{\"data\": [{\"embedding\": \"AACAPwAAgL8=\"}]}", 1, 2, &embedded, NULL),
        ERR_OK);
    assert_true(embedded.packed);
    assert_float_equal(embedded.vectors[0], sqrt(0.5), 1e-6);
    assert_float_equal(embedded.vectors[1], -sqrt(0.5), 1e-6);
    free(embedded.vectors);
}

TEST(zeros_stay_zeros_and_large_numbers_have_a_length)
{
    struct embedded embedded;

    assert_int_equal(read_answer("{\"data\": [{\"embedding\": [0, 0]},"
                                 " {\"embedding\": [3e38, 0]}]}",
                                 2, 0, &embedded, NULL),
                     ERR_OK);
    assert_float_equal(embedded.vectors[0], 0, 0);
    assert_float_equal(embedded.vectors[1], 0, 0);
    assert_float_equal(embedded.vectors[2], 1, 1e-6);
    free(embedded.vectors);
}

TEST(what_is_not_whole_is_refused)
{
    static const struct {
        const char *answer;
        size_t count;
        uint32_t dimensions;
        const char *why;
    } cases[] = {
        {"<html>", 1, 0, "is no JSON"},
        {"{\"data\": [{\"embedding\": [NaN]}]}", 1, 0, "is no JSON"},
        {"{}", 1, 0, "has 0 vectors for 1 texts"},
        {"{\"data\": [{\"embedding\": [1]}]}", 2, 0, "has 1 vectors for 2 texts"},
        {"{\"data\": [{\"embedding\": [1]}, {\"embedding\": [1]}]}", 1, 0, "2 vectors for 1"},
        {"{\"data\": [{\"embedding\": [1]}, {\"embedding\": [1, 2]}]}", 2, 0, "2 dimensions"},
        {"{\"data\": [{\"embedding\": [1, 2]}]}", 1, 3, "of 2 dimensions instead of 3"},
        {"{\"data\": [{\"embedding\": []}]}", 1, 0, "of 0 dimensions"},
        {"{\"data\": [{\"embedding\": null}]}", 1, 0, "of 0 dimensions"},
        {"{\"data\": [{\"embedding\": [1, \"2\"]}]}", 1, 0, "something else than numbers"},
        {"{\"data\": [{\"embedding\": [1e300]}]}", 1, 0, "not finite"},
        {"{\"data\": [{\"embedding\": \"AADAfw==\"}]}", 1, 0, "not finite"}, /* NaN */
        {"{\"data\": [{\"embedding\": \"AAA=\"}]}", 1, 0, "no base64 of numbers"},
        {"{\"data\": [{\"embedding\": \"?\"}]}", 1, 0, "no base64 of numbers"},
        {"{\"data\": [{\"index\": 1, \"embedding\": [1]}]}", 1, 0, "the place of a text"},
        {"{\"data\": [{\"index\": -1, \"embedding\": [1]}]}", 1, 0, "the place of a text"},
        {"{\"data\": [{\"index\": 1, \"embedding\": [1]}, {\"index\": 1, \"embedding\": [1]}]}",
         2, 0, "the place of a text"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct embedded embedded;
        struct err err;

        assert_int_equal(
            read_answer(cases[i].answer, cases[i].count, cases[i].dimensions, &embedded, &err),
            ERR_UPSTREAM);
        if (!strstr(err.text, cases[i].why))
            fail_msg("%s: %s", cases[i].answer, err.text);
    }
}

TEST(a_complaint_is_the_message_of_the_error)
{
    static const char *const cases[][2] = {
        {"{\"error\": {\"message\": \"too long\"}}", "too long"},
        {"{\"message\": \"too long\"}", "too long"},
        {"{\"error\": \"too long\"}", ""},
        {"too long", ""},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *complaint =
            embeddings_answer_complaint(cases[i][0], strlen(cases[i][0]));

        assert_string_equal(complaint, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_stand_in_the_order_of_their_texts),
        cmocka_unit_test(base64_is_numbers),
        cmocka_unit_test(zeros_stay_zeros_and_large_numbers_have_a_length),
        cmocka_unit_test(what_is_not_whole_is_refused),
        cmocka_unit_test(a_complaint_is_the_message_of_the_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
