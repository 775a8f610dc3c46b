#include <string.h>

#include "core/base/err.h"
#include "tests/support/test.h"

TEST(setting_returns_the_code_and_fills_in_the_sentence)
{
    struct err err;

    assert_int_equal(err_set(&err, ERR_NOT_FOUND, "no such %s: %d", "thing", 5), ERR_NOT_FOUND);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.text, "no such thing: 5");
    assert_string_equal(err.place, "");
    assert_int_equal(err.reason, REASON_UNSET);
    assert_null(err.word);
}

TEST(the_text_is_optional)
{
    assert_int_equal(err_set(NULL, ERR_STORE, "away"), ERR_STORE);
    assert_int_equal(err_refuse(NULL, ERR_LIMIT, REASON_BUSY, "p", "text"), ERR_LIMIT);
}

TEST(a_refusal_has_a_reason_and_a_place)
{
    struct err err;

    assert_int_equal(
        err_refuse(&err, ERR_CONFLICT, REASON_DECIDED, "tools[0]", "no tool '%s'", "x"),
        ERR_CONFLICT);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(err.reason, REASON_DECIDED);
    assert_string_equal(err.place, "tools[0]");
    assert_string_equal(err.text, "no tool 'x'");
    err.word = "left over";
    assert_int_equal(err_refuse(&err, ERR_LIMIT, REASON_BUSY, NULL, "too much"), ERR_LIMIT);
    assert_string_equal(err.place, "");
    assert_null(err.word);
}

TEST(overlong_texts_are_cut_not_overrun)
{
    struct err err;
    char lots[4096];

    memset(lots, 'x', sizeof(lots) - 1);
    lots[sizeof(lots) - 1] = '\0';
    err_refuse(&err, ERR_INVALID, REASON_UNSET, lots, "%s", lots);
    assert_int_equal(strlen(err.place), sizeof(err.place) - 1);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

TEST(a_letter_that_a_precision_has_cut_goes)
{
    struct err err;

    err_set(&err, ERR_NOT_FOUND, "Variable '%.4s' not found.", "\u53d8\u53d8");
    assert_string_equal(err.text, "Variable '\u53d8' not found.");
    err_refuse(&err, ERR_INVALID, REASON_UNSET, "tools.\xE5\x8F.name", "%.5s|%.2s|",
               "a\u00e9\u00e9", "\xE5\x8F\x98");
    assert_string_equal(err.place, "tools..name");
    assert_string_equal(err.text, "a\u00e9\u00e9||");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_returns_the_code_and_fills_in_the_sentence),
        cmocka_unit_test(the_text_is_optional),
        cmocka_unit_test(a_refusal_has_a_reason_and_a_place),
        cmocka_unit_test(overlong_texts_are_cut_not_overrun),
        cmocka_unit_test(a_letter_that_a_precision_has_cut_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
