/* Values are found where they stand, among any others. */

#include "core/base/json/json_span.h"

#include <string.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"

static struct json_span span(const char *text)
{
    return (struct json_span){text, strlen(text)};
}

static void is(struct json_span found, const char *expected)
{
    assert_int_equal(found.length, strlen(expected));
    assert_memory_equal(found.at, expected, found.length);
}

TEST(a_member_is_found_behind_others)
{
    struct json_span text = span(
        "{ \"a\" : {\"b\": [1, \"]}\\\"\"]} ,\n\"n\":1.50,\"b\":\t{\"c\": []} , \"d\":true}");
    struct json_span found = {0};

    assert_true(json_span_member(text, "b", &found));
    is(found, "{\"c\": []}");
    assert_true(json_span_member(text, "n", &found));
    is(found, "1.50");
    assert_true(json_span_member(text, "d", &found));
    is(found, "true");
    assert_false(json_span_member(text, "c", &found));
}

TEST(a_text_that_looks_like_a_key_is_none)
{
    struct json_span found = {0};

    assert_false(json_span_member(span("{\"a\": \"b\", \"\\\"b\": 1}"), "b", &found));
    assert_false(json_span_member(span("[\"b\", 1]"), "b", &found));
    assert_false(json_span_member(span("{}"), "b", &found));
}

TEST(elements_come_one_after_another)
{
    static const char *const expected[] = {"1", "\"a,]\"", "[2, 3]", "{\"x\": [4]}", "null"};
    struct json_span list = span("[1,\"a,]\" , [2, 3], {\"x\": [4]},null ]");
    struct json_span element = {0}, none = {0};

    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(json_span_next(list, &element));
        is(element, expected[i]);
    }
    assert_false(json_span_next(list, &element));
    assert_false(json_span_next(span("[ ]"), &none));
    assert_false(json_span_next(span("{\"a\": 1}"), &none));
}

TEST(a_text_is_compared_as_it_is_spelled)
{
    assert_true(json_span_is(span("\"file\""), "file"));
    assert_false(json_span_is(span("\"files\""), "file"));
    assert_false(json_span_is(span("12file"), "file"));
}

/* The end of the span counts, not a NUL behind it. */
TEST(what_is_cut_off_ends_the_search)
{
    static const char text[] = "{\"a\": [1, {\"b\": \"c\\\"d\"}], \"e\": 2}";
    struct json_span found = {0}, element;

    for (size_t length = 0; length < sizeof(text) - 1; length++) {
        struct json_span cut = {text, length};

        if (json_span_member(cut, "e", &found))
            assert_true(found.at + found.length <= text + length);
        assert_false(json_span_member(cut, "z", &found));
        element = (struct json_span){0};
        while (
            json_span_next((struct json_span){text + 6, length > 6 ? length - 6 : 0}, &element))
            assert_true(element.at + element.length <= text + length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_found_behind_others),
        cmocka_unit_test(a_text_that_looks_like_a_key_is_none),
        cmocka_unit_test(elements_come_one_after_another),
        cmocka_unit_test(a_text_is_compared_as_it_is_spelled),
        cmocka_unit_test(what_is_cut_off_ends_the_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
