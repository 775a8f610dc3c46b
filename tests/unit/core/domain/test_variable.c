#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/variable.h"
#include "tests/support/test.h"

static void expect_slice(const char *text, size_t start, size_t length, const char *wanted)
{
    AUTO_FREE char *seen = variable_slice(text, start, length);

    assert_string_equal(seen, wanted);
}

TEST(test_slices_are_clamped)
{
    expect_slice("0123456789", 3, 2, "34");
    expect_slice("0123456789", 3, SIZE_MAX, "3456789");
    expect_slice("0123456789", 20, 1, "");
    expect_slice("0123456789", 3, 0, "");
    expect_slice("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 1, 1, "\xE2\x82\xAC");
    assert_int_equal(variable_length("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), 3);
}

TEST(test_which_names_can_be_referred_to)
{
    char longest[VARIABLE_NAME_LIMIT + 2] = {0};

    assert_true(variable_name_fits("NOTE_1_a-b"));
    assert_false(variable_name_fits(""));
    assert_false(variable_name_fits("Rule/Agent/VarRef"));
    assert_false(variable_name_fits("a b"));
    memset(longest, 'x', VARIABLE_NAME_LIMIT);
    assert_true(variable_name_fits(longest));
    longest[VARIABLE_NAME_LIMIT] = 'x';
    assert_false(variable_name_fits(longest));
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* F27: <tool>_<14 digits>-<7 of 0-9a-z>_result. */
TEST(test_names_of_results)
{
    struct variable_names names, others;
    const char *at;

    variable_names_make(&names, "fs-View");
    variable_names_make(&others, "fs-View");
    assert_string_not_equal(names.result, others.result);
    assert_true(strncmp(names.result, "fs-View_", 8) == 0);
    assert_int_equal(strspn(names.result + 8, "0123456789"), 14);
    at = names.result + 8 + 14;
    assert_int_equal(*at, '-');
    assert_int_equal(strspn(at + 1, "0123456789abcdefghijklmnopqrstuvwxyz"), 7);
    assert_string_equal(at + 8, "_result");
    assert_true(ends_in(names.args, "_args"));
    assert_true(strncmp(names.args, names.result, 8 + 14 + 8) == 0);

    variable_names_make(&names, "a.b/\xC3\xA4");
    assert_true(strncmp(names.result, "a-b---_", 7) == 0);
    assert_true(variable_name_fits(names.result));
}

/* F27. */
TEST(test_the_description_of_a_result_names_its_call)
{
    json_auto_t *args = json_parse_own("{\"url\":\"https://example.com/page\",\"n\":5,"
                                       "\"list\":[\"a\",\"b\"]}");
    AUTO_FREE char *seen = variable_describe_call("Fetch", args);

    assert_string_equal(
        seen, "Call Fetch with args: url=https://example.com/..., n=5, list=[\"a\",\"b\"]");
}

TEST(test_long_names_of_arguments_are_cut_between_characters)
{
    json_auto_t *args = json_build(
        "{s:i}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\u53d8", 1);
    AUTO_FREE char *seen = variable_describe_call("Fetch", args);

    assert_true(json_valid_utf8(seen, strlen(seen)));
}

TEST(test_too_long_values_are_cut_with_a_note)
{
    AUTO_FREE char *large = mem_new_array(char, VARIABLE_VALUE_LIMIT + 3);
    AUTO_FREE char *fitting = NULL;
    AUTO_FREE char *whole = NULL;

    for (size_t i = 0; i + 1 < VARIABLE_VALUE_LIMIT + 2; i += 2)
        memcpy(large + i, "\xC3\xA4", 2);
    fitting = variable_fit(large);
    assert_true(strlen(fitting) <= VARIABLE_VALUE_LIMIT);
    assert_true(json_valid_utf8(fitting, strlen(fitting)));
    assert_true(ends_in(fitting, "... too long to be kept whole ..."));
    assert_int_equal(variable_lost(large), variable_length(large) - variable_length(fitting) +
                                               strlen("\n\n... too long to be kept whole ..."));
    large[VARIABLE_VALUE_LIMIT] = '\0';
    whole = variable_fit(large);
    assert_string_equal(whole, large);
    assert_int_equal(variable_lost(large), 0);
}

/* F28: both forms, to the byte. */
TEST(test_both_forms_of_the_hint)
{
    struct variable_hint hint = {.name = "v_result", .length = 20};
    AUTO_FREE char *complete = variable_hint_text(&hint);
    AUTO_FREE char *cut = NULL;
    AUTO_FREE char *much = NULL;
    AUTO_FREE char *part = NULL;
    AUTO_FREE char *chinese = NULL;

    assert_string_equal(complete,
                        "\n<!--ToolCallLog:Begin-->\n"
                        "[system log] This is the complete result (20 characters). It is also "
                        "kept in the variable `v_result`.\n"
                        "[system hint] Pass it on without repeating it: `$VAR_REF{{v_result}}`."
                        "\n<!--ToolCallLog:End-->");
    hint.truncated = true;
    hint.shown = hint.start = 8;
    cut = variable_hint_text(&hint);
    assert_string_equal(cut,
                        "\n<!--ToolCallLog:Begin-->\n"
                        "[system log] The result was cut to 8 characters. The full result "
                        "(20 characters) is kept in the variable `v_result`.\n"
                        "[system hint] Pass it on without repeating it: "
                        "`$VAR_REF{{v_result}}`. To read on, call `ReadVar` with "
                        "{\"name\":\"v_result\",\"start\":8,\"length\":12}; consider first "
                        "whether you need it."
                        "\n<!--ToolCallLog:End-->");
    hint.lost = 5;
    part = variable_hint_text(&hint);
    assert_non_null(strstr(part,
                           "] The result was cut to 8 characters. Of the full result (20 "
                           "characters) the first 15 are kept in the variable `v_result`.\n"));
    assert_non_null(strstr(part, "\"start\":8,\"length\":7}"));
    hint.truncated = false;
    free(part);
    part = variable_hint_text(&hint);
    assert_non_null(strstr(part,
                           "] This is the complete result (20 characters). Its first 15 are "
                           "also kept in the variable `v_result`.\n"));
    hint.truncated = true;
    hint.lost = 0;
    hint.length = 20000;
    much = variable_hint_text(&hint);
    assert_non_null(strstr(much, "\"length\":2000}"));
    hint.language = LANGUAGE_CHINESE;
    chinese = variable_hint_text(&hint);
    assert_non_null(strstr(chinese, "{\"name\":\"v_result\",\"start\":8,\"length\":2000}"));
    assert_non_null(strstr(chinese, "`$VAR_REF{{v_result}}`"));
}

/* F33. */
TEST(test_types_have_names)
{
    enum variable_type type;

    for (int i = 0; i < VARIABLE_TYPE_COUNT; i++) {
        assert_true(variable_type_parse(variable_type_name((enum variable_type)i), &type));
        assert_int_equal(type, i);
    }
    assert_false(variable_type_parse("rule", &type));
    assert_null(variable_type_names[VARIABLE_TYPE_COUNT]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_are_clamped),
        cmocka_unit_test(test_which_names_can_be_referred_to),
        cmocka_unit_test(test_names_of_results),
        cmocka_unit_test(test_the_description_of_a_result_names_its_call),
        cmocka_unit_test(test_long_names_of_arguments_are_cut_between_characters),
        cmocka_unit_test(test_too_long_values_are_cut_with_a_note),
        cmocka_unit_test(test_both_forms_of_the_hint),
        cmocka_unit_test(test_types_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
