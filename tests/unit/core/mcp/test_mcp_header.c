#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_header.h"
#include "tests/support/test.h"

/* The examples of the specification, and what is beside them. */
TEST(a_value_is_sent_plain_where_http_allows_it_and_encoded_elsewhere)
{
    static const char *const cases[][2] = {
        {"us-west1", "us-west1"},
        {"", ""},
        {"two words", "two words"},
        {"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
        {" padded ", "=?base64?IHBhZGRlZCA=?="},
        {"a\tb", "=?base64?YQli?="},
        {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
        {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
        {"=?base64?=", "=?base64?="},
        {"=?BASE64?literal?=", "=?BASE64?literal?="},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *value = mcp_header_value(cases[i][0]);

        assert_string_equal(value, cases[i][1]);
    }
}

static bool fits(const char *text)
{
    json_auto_t *schema = json_parse_own(text);

    return mcp_marks_are_fit(schema);
}

#define MARKED(TYPE, NAME) "{\"type\":\"" TYPE "\",\"x-mcp-header\":" NAME "}"
#define WITH(MEMBERS)      "{\"type\":\"object\"," MEMBERS "}"

TEST(marks_obey_the_rules_of_the_specification)
{
    assert_true(fits("{}"));
    assert_true(fits(WITH("\"properties\":{\"a\":" MARKED("string", "\"Region\"") "}")));
    assert_true(fits(WITH("\"properties\":{\"o\":{\"properties\":{\"a\":" MARKED(
        "integer", "\"A\"") "}},\"b\":" MARKED("boolean", "\"B\"") "}")));

    assert_false(fits(WITH("\"properties\":{\"a\":" MARKED("string", "\"\"") "}")));
    assert_false(fits(WITH("\"properties\":{\"a\":" MARKED("string", "7") "}")));
    assert_false(fits(WITH("\"properties\":{\"a\":" MARKED("string", "\"A B\"") "}")));
    assert_false(fits(WITH("\"properties\":{\"a\":" MARKED("string", "\"A:\"") "}")));
    assert_false(fits(WITH("\"properties\":{\"a\":" MARKED("string", "\"A\\r\\n\"") "}")));
    assert_false(fits(WITH("\"properties\":{\"a\":" MARKED("number", "\"A\"") "}")));
    assert_false(fits(WITH("\"properties\":{\"a\":" MARKED("object", "\"A\"") "}")));
    assert_false(fits(WITH("\"properties\":{\"a\":{\"x-mcp-header\":\"A\"}}")));
    assert_false(fits(WITH("\"properties\":{\"a\":" MARKED(
        "string", "\"Same\"") ",\"b\":" MARKED("string", "\"sAME\"") "}")));
}

TEST(a_mark_that_no_chain_of_properties_reaches_is_refused)
{
    static const char *const places[] = {
        "\"items\":%s",
        "\"anyOf\":[%s]",
        "\"if\":%s",
        "\"$defs\":{\"a\":%s}",
        "\"properties\":{\"a\":{\"type\":\"array\",\"items\":%s}}",
        "\"anyOf\":[{\"properties\":{\"a\":%s}}]",
        "\"patternProperties\":{\"a\":{\"properties\":{\"b\":%s}}}",
    };

    for (size_t i = 0; i < COUNT_OF(places); i++) {
        AUTO_FREE char *place = mem_strdup(places[i]);
        char *at = strstr(place, "%s");
        AUTO_FREE char *text = NULL;

        *at = '\0';
        text = mem_printf("{%s" MARKED("string", "\"A\"") "%s}", place, at + 2);
        if (fits(text))
            fail_msg("%s", text);
    }
    assert_false(fits(MARKED("string", "\"A\"")));
}

TEST(what_only_looks_like_a_mark_is_none)
{
    assert_true(fits(WITH("\"properties\":{\"x-mcp-header\":{\"type\":\"object\"}}")));
    assert_true(fits(WITH("\"properties\":{\"a\":{\"const\":{\"x-mcp-header\":1}}}")));
    assert_true(fits(WITH("\"default\":{\"x-mcp-header\":\"a b\"}")));
}

TEST(there_are_no_more_marks_than_the_limit)
{
    for (size_t count = MCP_PARAM_LIMIT; count <= MCP_PARAM_LIMIT + 1; count++) {
        json_auto_t *schema = json_build("{s:{}}", "properties");
        json_t *properties = json_object_get(schema, "properties");

        for (size_t i = 0; i < count; i++) {
            AUTO_FREE char *name = mem_printf("P%zu", i);

            json_object_set_new(
                properties, name,
                json_build("{s:s, s:s}", "type", "string", "x-mcp-header", name));
        }
        assert_int_equal(mcp_marks_are_fit(schema), count == MCP_PARAM_LIMIT);
    }
}

static void check_lines(const char *schema, const char *arguments, const char *expected)
{
    json_auto_t *its_schema = json_parse_own(schema);
    json_auto_t *its_arguments = NULL;
    json_auto_t *lines = NULL;
    AUTO_FREE char *text = NULL;

    assert_int_equal(json_parse(arguments, strlen(arguments), &its_arguments, NULL), ERR_OK);
    lines = mcp_param_lines(its_schema, its_arguments);
    text = json_text(lines);
    assert_string_equal(text, expected);
}

TEST(marked_arguments_become_headers)
{
    static const char schema[] =
        WITH("\"properties\":{\"s\":" MARKED("string", "\"S\"") ",\"i\":" MARKED(
            "integer",
            "\"I\"") ",\"b\":" MARKED("boolean",
                                      "\"B\"") ",\"o\":{\"properties\":"
                                               "{\"s\":" MARKED(
                                                   "string",
                                                   "\"Deep\"") "}},\"plain\":{\"type\":"
                                                               "\"string\"}}");

    check_lines(schema,
                "{\"s\":\"x\",\"i\":-7,\"b\":false,\"o\":{\"s\":\"é\"},\"plain\":\"p\"}",
                "[\"Mcp-Param-S: x\",\"Mcp-Param-I: -7\",\"Mcp-Param-B: false\","
                "\"Mcp-Param-Deep: =?base64?w6k=?=\"]");
    check_lines(schema, "{\"s\":null,\"i\":42.0,\"o\":7}", "[\"Mcp-Param-I: 42\"]");
    check_lines(schema, "{\"i\":9007199254740992}", "[]");
    check_lines(schema, "{\"i\":99999999999999999999}", "[]");
    check_lines(schema, "{\"i\":1.5,\"s\":[]}", "[]");
    check_lines(schema, "{\"s\":\"a\\r\\nX: y\"}",
                "[\"Mcp-Param-S: =?base64?YQ0KWDogeQ==?=\"]");
}

/* A client may bring the schema, and then nobody has checked it before. */
TEST(a_mark_that_breaks_a_rule_makes_no_header)
{
    check_lines(WITH("\"properties\":{\"a\":" MARKED("string", "\"A: b\\r\\nX\"") "}"),
                "{\"a\":\"x\"}", "[]");
    check_lines(WITH("\"properties\":{\"a\":" MARKED("number", "\"A\"") "}"), "{\"a\":1}",
                "[]");
}

TEST(a_value_that_is_too_long_makes_no_header)
{
    static const char schema[] = WITH("\"properties\":{\"a\":" MARKED("string", "\"A\"") "}");
    json_auto_t *its_schema = json_parse_own(schema);

    for (size_t length = MCP_PARAM_VALUE_LIMIT; length <= MCP_PARAM_VALUE_LIMIT + 1; length++) {
        AUTO_FREE char *value = mem_new_array(char, length + 1);
        json_auto_t *arguments = NULL;
        json_auto_t *lines = NULL;

        memset(value, 'x', length);
        arguments = json_build("{s:s}", "a", value);
        lines = mcp_param_lines(its_schema, arguments);
        assert_int_equal(json_array_size(lines), length == MCP_PARAM_VALUE_LIMIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_sent_plain_where_http_allows_it_and_encoded_elsewhere),
        cmocka_unit_test(marks_obey_the_rules_of_the_specification),
        cmocka_unit_test(a_mark_that_no_chain_of_properties_reaches_is_refused),
        cmocka_unit_test(what_only_looks_like_a_mark_is_none),
        cmocka_unit_test(there_are_no_more_marks_than_the_limit),
        cmocka_unit_test(marked_arguments_become_headers),
        cmocka_unit_test(a_mark_that_breaks_a_rule_makes_no_header),
        cmocka_unit_test(a_value_that_is_too_long_makes_no_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
