#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/arguments.h"
#include "tests/support/test.h"

static const char weather[] = "{\"type\":\"object\",\"required\":[\"city\"],\"properties\":{"
                              "\"city\":{\"type\":\"string\"},"
                              "\"unit\":{\"enum\":[\"C\",\"F\"],\"default\":\"C\"}}}";

/* The checked arguments, or the error. The caller frees. */
static char *read_text(const char *parameters, const char *text)
{
    json_auto_t *schema = json_parse_own(parameters);
    json_auto_t *args = NULL;
    struct err err;

    if (tool_arguments_read("weather", schema, text, NULL, &args, &err)) {
        assert_null(args);
        assert_int_equal(err.code, ERR_INVALID);
        return mem_strdup(err.text);
    }
    return json_text(args);
}

static void expect(const char *parameters, const char *text, const char *wanted)
{
    AUTO_FREE char *seen = read_text(parameters, text);

    assert_string_equal(seen, wanted);
}

/* F78. */
TEST(test_defaults_are_added_and_unknown_keys_dropped)
{
    expect(weather, "{\"city\":\"Bern\",\"colour\":1}", "{\"city\":\"Bern\",\"unit\":\"C\"}");
    expect(NULL, "{\"any\":[1]}", "{\"any\":[1]}");
}

/* F77. */
TEST(test_every_issue_is_reported)
{
    expect(weather, "{\"unit\":\"K\"}",
           "Invalid weather parameters:\n- city: is required\n"
           "- unit: expected one of [\"C\",\"F\"], received \"K\"");
    expect(weather, "[]", "The arguments must be a JSON object.");
}

TEST(test_invalid_json_is_reported)
{
    AUTO_FREE char *text = read_text(weather, "{\"city\":");

    assert_non_null(strstr(text, "The arguments are not valid JSON: "));
}

/* F04: every tool takes a limit, also one that declares none and is strict. */
TEST(test_limit_and_begin_are_accepted_by_every_tool)
{
    expect("{\"additionalProperties\":{\"type\":\"string\"}}", "{\"limit\":5,\"begin\":2}",
           "{}");
    expect("{\"properties\":{\"limit\":{\"type\":\"integer\"}}}", "{\"limit\":5,\"begin\":2}",
           "{\"limit\":5}");
}

/* Models in strict mode name every property. */
TEST(test_null_is_nothing_where_a_property_may_be_missing)
{
    expect("{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"integer\","
           "\"default\":3}}}",
           "{\"a\":null,\"b\":null}", "{\"b\":3}");
    expect(
        "{\"properties\":{\"a\":{\"type\":[\"string\",\"null\"]},\"b\":{\"anyOf\":[{\"type\":"
        "\"integer\"},{\"type\":\"null\"}]},\"c\":{\"enum\":[1,null]},\"d\":{}}}",
        "{\"a\":null,\"b\":null,\"c\":null,\"d\":null}",
        "{\"a\":null,\"b\":null,\"c\":null,\"d\":null}");
    expect("{\"$defs\":{\"t\":{\"type\":\"string\"}},\"properties\":{\"a\":{\"$ref\":\"#/$defs/"
           "t\"},"
           "\"b\":{\"anyOf\":[{\"type\":\"integer\"},{\"$ref\":\"#/$defs/"
           "t\"}]},\"c\":{\"enum\":[1]},"
           "\"o\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}}}",
           "{\"a\":null,\"b\":null,\"c\":null,\"o\":{\"x\":null}}", "{\"o\":{}}");
    expect("{\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"string\"}}}",
           "{\"a\":null}", "Invalid weather parameters:\n- a: expected string, received null");
}

TEST(test_long_reports_are_cut)
{
    AUTO_BUF text = {0};
    AUTO_FREE char *seen = NULL;

    buf_add_text(&text, "{\"city\":[");
    for (int i = 0; i < 5000; i++)
        buf_addf(&text, "%s\"%d\"", i ? "," : "", i);
    buf_add_text(&text, "]}");
    seen =
        read_text("{\"properties\":{\"city\":{\"items\":{\"type\":\"integer\"}}}}", text.data);
    assert_true(strlen(seen) < 800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_added_and_unknown_keys_dropped),
        cmocka_unit_test(test_every_issue_is_reported),
        cmocka_unit_test(test_invalid_json_is_reported),
        cmocka_unit_test(test_limit_and_begin_are_accepted_by_every_tool),
        cmocka_unit_test(test_null_is_nothing_where_a_property_may_be_missing),
        cmocka_unit_test(test_long_reports_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
