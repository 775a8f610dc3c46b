#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <string.h>

#include "core/base/err.h"

static void err_set_returns_the_code_and_fills_in_the_text(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(err_set(&err, ERR_NOT_FOUND, "no such %s: %d", "thing", 5), ERR_NOT_FOUND);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.text, "no such thing: 5");
    assert_string_equal(err.param, "");
    assert_null(err.api_code);
}

static void a_caller_may_pass_null_instead_of_an_err(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_STORE, "away"), ERR_STORE);
    assert_int_equal(err_invalid(NULL, "c", "p", "text"), ERR_INVALID);
    assert_int_equal(err_set_api(NULL, ERR_LIMIT, "c", NULL, "text"), ERR_LIMIT);
}

static void an_invalid_request_names_the_field(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(err_invalid(&err, "invalid_value", "model", "no model '%s'", "x"),
                     ERR_INVALID);
    assert_string_equal(err.api_code, "invalid_value");
    assert_string_equal(err.param, "model");
    assert_string_equal(err.text, "no model 'x'");
    assert_int_equal(err_set_api(&err, ERR_TOO_LARGE, "too_big", NULL, "too big"),
                     ERR_TOO_LARGE);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_string_equal(err.api_code, "too_big");
    assert_string_equal(err.param, "");
}

static void long_texts_are_cut(void **state)
{
    struct err err;
    char lots[4096];

    (void)state;
    memset(lots, 'x', sizeof(lots) - 1);
    lots[sizeof(lots) - 1] = '\0';
    err_invalid(&err, NULL, lots, "%s", lots);
    assert_int_equal(strlen(err.param), sizeof(err.param) - 1);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void a_character_cut_by_a_precision_is_removed(void **state)
{
    struct err err;

    (void)state;
    err_set(&err, ERR_NOT_FOUND, "Variable '%.4s' not found.", "\u53d8\u53d8");
    assert_string_equal(err.text, "Variable '\u53d8' not found.");
    err_invalid(&err, NULL, "tools.\xE5\x8F.name", "%.5s|%.2s|", "a\u00e9\u00e9",
                "\xE5\x8F\x98");
    assert_string_equal(err.param, "tools..name");
    assert_string_equal(err.text, "a\u00e9\u00e9||");
}

static void every_code_has_a_status_and_a_type(void **state)
{
    (void)state;
    for (int code = ERR_OK + 1; code < ERR_CODE_COUNT; code++) {
        assert_in_range(err_http_status((enum err_code)code), 400, 599);
        assert_true(strlen(err_api_type((enum err_code)code)) > 0);
    }
    assert_int_equal(err_http_status(ERR_LIMIT), 429);
    assert_int_equal(err_http_status(ERR_STORE), 503);
    assert_int_equal(err_http_status(ERR_CONFLICT), 400);
    assert_string_equal(err_api_type(ERR_INVALID), "invalid_request_error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_set_returns_the_code_and_fills_in_the_text),
        cmocka_unit_test(a_caller_may_pass_null_instead_of_an_err),
        cmocka_unit_test(an_invalid_request_names_the_field),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(a_character_cut_by_a_precision_is_removed),
        cmocka_unit_test(every_code_has_a_status_and_a_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
