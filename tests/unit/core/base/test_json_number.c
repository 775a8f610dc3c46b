#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

static json_t *parse(const char *text)
{
    json_t *value = NULL;

    assert_int_equal(json_parse(text, strlen(text), &value, NULL), ERR_OK);
    return value;
}

static json_t *parse_exact(const char *text)
{
    json_t *value = NULL;

    assert_int_equal(json_parse_exact(text, strlen(text), &value, NULL), ERR_OK);
    return value;
}

static void assert_text(const json_t *value, const char *expected)
{
    AUTO_FREE char *text = json_text(value);

    assert_string_equal(text, expected);
}

TEST(an_exact_tree_becomes_the_bytes_that_were_read)
{
    static const char *const texts[] = {
        "18446744073709551615",
        "-9223372036854775809",
        "9223372036854775807",
        "[0.10,1.50,1e2,1E400,-0,-1e-400,1.0,0.7,-0.0,100.0,0.00001]",
        "{\"maximum\":18446744073709551615,\"text\":\"18446744073709551615\"}",
        "[1.7976931348623157e308,0.12345678901234567,12345678901234567890.5]",
        "{\"a\":[\"\\\"\",1e+2,\"\\\\u0000\",2E-7]}",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        json_auto_t *value = parse_exact(texts[i]);
        json_auto_t *copy = json_deep_copy(value);
        AUTO_FREE char *stored = json_text(copy);
        json_auto_t *again = json_parse_own(stored);

        assert_text(value, texts[i]);
        assert_text(again, texts[i]);
    }
}

TEST(a_number_of_a_million_digits_is_kept)
{
    AUTO_BUF text = {0};
    json_auto_t *value = NULL;

    for (size_t i = 0; i < 1000000; i++)
        buf_add_char(&text, '7');
    value = parse_exact(text.data);
    assert_text(value, text.data);
}

TEST(schemas_arguments_and_results_keep_their_numbers)
{
    static const char *const keys[] = {"arguments",     "parameters",       "schema",
                                       "inputSchema",   "input_schema",     "outputSchema",
                                       "output_schema", "structuredContent"};

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        AUTO_FREE char *text =
            mem_printf("[{\"%s\":{\"a\":[18446744073709551615,0.10]}}]", keys[i]);
        json_auto_t *value = parse(text);

        assert_text(value, text);
    }
}

TEST(elsewhere_large_integers_become_reals)
{
    json_auto_t *value = parse("{\"seed\":18446744073709551615,\"list\":[-9223372036854775809],"
                               "\"low\":-9223372036854775808,\"arguments\":1e999,\"zero\":-0}");

    assert_true(json_is_real(json_object_get(value, "seed")));
    assert_text(value, "{\"seed\":1.84467440737096e19,\"list\":[-9.22337203685478e18],"
                       "\"low\":-9223372036854775808,\"arguments\":1.79769313486231e308,"
                       "\"zero\":0}");
}

TEST(a_large_number_alone_becomes_a_real)
{
    json_auto_t *value = parse("18446744073709551616");

    assert_true(json_is_real(value));
}

TEST(a_number_is_read_as_the_nearest_double)
{
    static const struct {
        const char *text;
        double number;
    } cases[] = {{"18446744073709551615", 18446744073709551616.0},
                 {"0.10", 0.1},
                 {"-1e400", -1.79769313486231e308},
                 {"5", 5},
                 {"\"5\"", 0}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_auto_t *value = parse_exact(cases[i].text);

        assert_true(json_double(value) == cases[i].number);
        assert_int_equal(json_is_numeric(value), *cases[i].text != '"');
    }
}

TEST(rounding_leaves_no_written_number)
{
    json_auto_t *value = json_round(parse_exact("{\"arguments\":{\"a\":[0.50,12e0]}}"));

    assert_text(value, "{\"arguments\":{\"a\":[0.5,12.0]}}");
    value = json_round((json_decref(value), parse_exact("99999999999999999999")));
    assert_true(json_is_real(value));
}

TEST(what_is_no_number_is_still_refused)
{
    static const char *const texts[] = {
        "[018446744073709551615]",
        "[18446744073709551615.]",
        "[1e]",
        "[1e400x]",
        "[-]",
        "{18446744073709551615:1}",
        "[1e400 \"]",
        "[1e400",
        "[+1e400]",
        "[1e400,\"\\u0000\"]",
        "[1e400,{\"\\u0000\":1}]",
        "[\"\\u000018446744073709551615\"]",
        "[.5e400]",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        json_t *value = NULL;

        assert_int_equal(json_parse(texts[i], strlen(texts[i]), &value, NULL), ERR_INVALID);
        assert_int_equal(json_parse_exact(texts[i], strlen(texts[i]), &value, NULL),
                         ERR_INVALID);
        assert_null(value);
    }
}

TEST(indented_text_has_the_same_numbers)
{
    json_auto_t *value = parse_exact("{\"id\":18446744073709551615}");
    AUTO_FREE char *text = json_text_indented(value, 2);

    assert_string_equal(text, "{\n  \"id\": 18446744073709551615\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exact_tree_becomes_the_bytes_that_were_read),
        cmocka_unit_test(a_number_of_a_million_digits_is_kept),
        cmocka_unit_test(schemas_arguments_and_results_keep_their_numbers),
        cmocka_unit_test(elsewhere_large_integers_become_reals),
        cmocka_unit_test(a_large_number_alone_becomes_a_real),
        cmocka_unit_test(a_number_is_read_as_the_nearest_double),
        cmocka_unit_test(rounding_leaves_no_written_number),
        cmocka_unit_test(what_is_no_number_is_still_refused),
        cmocka_unit_test(indented_text_has_the_same_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
