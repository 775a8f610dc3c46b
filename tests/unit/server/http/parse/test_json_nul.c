#include <string.h>

#include "core/base/compiler.h"
#include "server/http/parse/json_nul.h"
#include "tests/support/test.h"

TEST(the_place_of_the_character_is_named)
{
    static const char *const cases[][2] = {
        {"{\"a\":\"x\\u0000\"}", "a"},
        {"{\"a\":\"x\",\"b\":{\"c\":[1,{\"d\":\"\\u0000\"}]}}", "b.c[1].d"},
        {"[[\"\\u0000\"]]", "[0][0]"},
        {"{\"a\":18446744073709551616,\"b\":\"\\u0000\"}", "b"},
        {"{\"a\":[\"x\",\"\\u0000\"],\"b\":\"\\u0000\"}", "a[1]"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err err = {0};

        assert_int_equal(json_nul_check(cases[i][0], strlen(cases[i][0]), &err), ERR_INVALID);
        assert_int_equal(err.reason, REASON_BAD_VALUE);
        assert_string_equal(err.place, cases[i][1]);
        assert_non_null(strstr(err.text, "a string may not have the character U+0000."));
    }
}

TEST(a_key_with_it_has_no_place)
{
    const char *text = "{\"a\":{\"x\\u0000\":1}}";
    struct err err = {0};

    assert_int_equal(json_nul_check(text, strlen(text), &err), ERR_INVALID);
    assert_string_equal(err.place, "");
    assert_non_null(strstr(err.text, "a key may not have the character U+0000."));
}

TEST(texts_that_are_wrong_in_another_way_are_not_blamed)
{
    static const char *const texts[] = {
        "", "{", "{\"a\":\"\\u0000\"", "{\"a\":1}", "{\"a\":\"\\\\u0000\"}", "[1,]",
    };
    char deep[4096];

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_int_equal(json_nul_check(texts[i], strlen(texts[i]), NULL), ERR_OK);
    memset(deep, '[', sizeof(deep));
    assert_int_equal(json_nul_check(deep, sizeof(deep), NULL), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_of_the_character_is_named),
        cmocka_unit_test(a_key_with_it_has_no_place),
        cmocka_unit_test(texts_that_are_wrong_in_another_way_are_not_blamed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
