#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/schema.h"
#include "tests/support/test.h"

/* No simple pattern takes so long to match it. */
#define SLOW "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"

/* The issues, "" when it fits. The caller frees. */
static char *issues_of(const char *schema_text, const char *value_text)
{
    json_auto_t *schema = json_parse_own(schema_text);
    json_auto_t *value = json_parse_own(value_text);
    struct buf issues = {0};
    bool ok = schema_fits(schema, value, NULL, &issues);
    char *text = buf_take(&issues);

    assert_int_equal(ok, *text == '\0');
    assert_int_equal(ok, schema_fits(schema, value, NULL, NULL));
    return text;
}

static void expect(const char *schema, const char *value, const char *issues)
{
    AUTO_FREE char *text = issues_of(schema, value);

    assert_string_equal(text, issues);
}

static void expect_completed(const char *schema_text, const char *value_text,
                             const char *wanted)
{
    json_auto_t *schema = json_parse_own(schema_text);
    json_auto_t *value = json_parse_own(value_text);
    AUTO_FREE char *text = NULL;

    assert_true(schema_complete(schema, value, NULL));
    text = json_text(value);
    assert_string_equal(text, wanted);
}

/* ---- F78: enum and type errors with their path ---- */

TEST(test_issues_name_the_path)
{
    expect(
        "{\"properties\":{\"a\":{\"items\":{\"properties\":{\"b\":{\"type\":\"string\"}}}}}}",
        "{\"a\":[{\"b\":\"x\"},{\"b\":1}]}", "- a.1.b: expected string, received integer");
    expect("{\"required\":[\"name\",\"age\"],\"properties\":{\"age\":{\"minimum\":0}}}",
           "{\"age\":-1}", "- name: is required\n- age: must be at least 0");
    expect("{\"type\":\"object\"}", "[]", "- expected object, received array");
    expect("{\"properties\":{\"unit\":{\"enum\":[\"C\",\"F\"]}}}", "{\"unit\":\"K\"}",
           "- unit: expected one of [\"C\",\"F\"], received \"K\"");
    expect("{\"type\":[\"string\",\"null\"]}", "1.5",
           "- expected one of [\"string\",\"null\"], received number");
}

TEST(test_size_issues_name_the_limit)
{
    expect("{\"minLength\":3}", "\"\xC3\xA4\xC3\xB6\"", "- must have at least 3 characters");
    expect("{\"maxLength\":2}", "\"\xC3\xA4\xC3\xB6\"", "");
    expect("{\"maxItems\":1}", "[1,2]", "- must have at most 1 elements");
    expect("{\"additionalProperties\":false}", "{\"a\":1}", "- has no property a");
    expect("{\"pattern\":\"^a+$\"}", "\"b\"", "- must match ^a+$");
    expect("{\"exclusiveMaximum\":10}", "10", "- must be less than 10");
    expect("{\"multipleOf\":0.1}", "0.3", "");
    expect("{\"multipleOf\":5}", "12", "- must be a multiple of 5");
}

TEST(test_keywords_of_draft_2020_beyond_draft_7)
{
    expect("{\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"type\":\"integer\"}}",
           "[\"a\",1,2]", "");
    expect("{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", "[\"a\",1]",
           "- 1: is not allowed");
    expect("{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", "- b: is required");
    expect("{\"dependentSchemas\":{\"a\":{\"minProperties\":2}}}", "{\"a\":1}",
           "- must have at least 2 properties");
    expect("{\"contains\":{\"const\":1},\"minContains\":2}", "[1,2]",
           "- must contain at least 2 of what is asked for");
    expect("{\"contains\":{\"const\":1},\"maxContains\":1}", "[1,1.0]",
           "- must contain at most 1 of what is asked for");
    expect("{\"contains\":{\"const\":1},\"minContains\":0}", "[]", "");
    expect("{\"$ref\":\"#/$defs/s\",\"maxLength\":1,\"$defs\":{\"s\":{\"type\":\"string\"}}}",
           "\"ab\"", "- must have at most 1 characters");
    expect(
        "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$ref\":\"#/definitions/s\","
        "\"maxLength\":1,\"definitions\":{\"s\":{\"type\":\"string\"}}}",
        "\"ab\"", "");
}

/* Every schema, however hostile, is checked safely. */
TEST(test_numbers_of_any_size_are_checked)
{
    expect("{\"type\":\"integer\",\"maximum\":18446744073709551615}", "18446744073709551615",
           "");
    expect("{\"type\":\"integer\",\"maximum\":9}", "18446744073709551615",
           "- must be at most 9");
    expect("{\"type\":\"string\"}", "18446744073709551615",
           "- expected string, received integer");
    expect("{\"type\":\"integer\"}", "0.50", "- expected integer, received number");
    expect("{\"type\":\"number\",\"minimum\":0.10}", "0.05", "- must be at least 0.10");
    expect("{\"enum\":[18446744073709551615,1.50]}", "18446744073709551616",
           "- expected one of [18446744073709551615,1.50], received 18446744073709551616");
    expect("{\"enum\":[18446744073709551615,1.50]}", "1.5", "");
    expect("{\"uniqueItems\":true}", "[18446744073709551615,18446744073709551616,1e2]", "");
    expect("{\"const\":100}", "1e2", "");
}

TEST(test_a_schema_cannot_hurt)
{
    AUTO_BUF deep = {0};

    expect("{\"$ref\":\"#\"}", "1", "- is too much to check");
    expect("{\"not\":{\"$ref\":\"#/not\"}}", "1", "- is too much to check");
    expect(
        "{\"$ref\":\"https://example.org/x\"}", "1",
        "- cannot be checked: the schema refers to https://example.org/x, which is not in it");
    expect("{\"type\":17,\"enum\":3,\"required\":\"x\",\"allOf\":{},\"properties\":[]}", "{}",
           "- expected one of 17, received object\n- expected one of 3, received {}");
    expect("{\"multipleOf\":0}", "5", "");
    expect("{\"pattern\":\"(\"}", "\"x\"", "- cannot be checked against (");
    /* 2 to the 40th ways to search. */
    for (int i = 0; i < 40; i++)
        buf_add_text(&deep, "{\"anyOf\":[false,");
    buf_add_text(&deep, "false");
    for (int i = 0; i < 40; i++)
        buf_add_text(&deep, "]}");
    expect(deep.data, "1", "- fits none of what is allowed");
}

/* Each of its patterns would take seconds: the second one is not tried. */
TEST(test_after_one_pattern_exceeds_its_limit_no_other_is_tried)
{
    json_auto_t *schema = json_parse_own("{\"properties\":{"
                                         "\"a\":{\"pattern\":\"^(a|a)*$\"},"
                                         "\"b\":{\"pattern\":\"^(a|a)*$\"},"
                                         "\"c\":{\"pattern\":\"^(a|a)*$\"}}}");
    AUTO_FREE char *text =
        mem_printf("{\"a\":\"%s\",\"b\":\"%s\",\"c\":\"%s\"}", SLOW, SLOW, SLOW);
    json_auto_t *value = json_parse_own(text);
    json_auto_t *first = json_parse_own("{\"a\":\"" SLOW "\"}");
    uint64_t began = clock_thread_ns();
    uint64_t alone;

    assert_false(schema_fits(schema, first, NULL, NULL));
    alone = clock_thread_ns() - began;
    began = clock_thread_ns();
    assert_false(schema_fits(schema, value, NULL, NULL));
    assert_true(clock_thread_ns() - began < 2 * alone);
}

/* The caller gives all checks together little time. */
TEST(test_one_budget_covers_all_checks)
{
    struct schema_budget budget = {20 * NS_PER_MS};
    json_auto_t *slow = json_parse_own("{\"pattern\":\"^(a|a)*$\"}");
    json_auto_t *easy = json_parse_own("{\"type\":\"integer\"}");
    json_auto_t *text = json_parse_own("\"" SLOW "\"");
    json_auto_t *number = json_integer(1);
    struct buf issues = {0};
    uint64_t began = clock_thread_ns();

    assert_true(schema_fits(easy, number, &budget, NULL));
    assert_true(budget.left_ns > 0);
    assert_false(schema_fits(slow, text, &budget, NULL));
    assert_true(clock_thread_ns() - began < 1000 * NS_PER_MS);
    assert_int_equal(budget.left_ns, 0);
    assert_false(schema_fits(easy, number, &budget, &issues));
    assert_string_equal(issues.data, "- is too much to check");
    buf_clear(&issues);
}

/* Comparing enum values and copying defaults cost steps, too. */
TEST(test_the_budget_covers_enums_and_defaults)
{
    struct schema_budget budget = {10 * NS_PER_MS};
    json_auto_t *schema = json_parse_own("{\"items\":{\"properties\":{}}}");
    json_auto_t *words = json_array();
    json_auto_t *array = json_array();
    json_t *own = json_object();

    for (int i = 0; i < 2000; i++)
        json_array_append_new(words, json_integer(i));
    for (int i = 0; i < 100000; i++)
        json_array_append_new(array, json_object());
    json_object_set(own, "default", words);
    json_object_set_new(json_object_get(json_object_get(schema, "items"), "properties"), "x",
                        own);
    assert_false(schema_complete(schema, array, &budget));
    assert_int_equal(budget.left_ns, 0);

    budget.left_ns = 10 * NS_PER_MS;
    json_object_clear(schema);
    json_object_set(schema, "enum", words);
    assert_false(schema_fits(schema, array, &budget, NULL));
    assert_int_equal(budget.left_ns, 0);
}

TEST(test_exponential_schemas_end)
{
    AUTO_BUF text = {0};
    AUTO_FREE char *issues = NULL;

    buf_add_text(&text, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 40; i++)
        buf_addf(&text,
                 "\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},",
                 i, i + 1, i + 1);
    buf_add_text(&text, "\"d40\":false}}");
    issues = issues_of(text.data, "1");
    assert_string_equal(issues, "- fits none of what is allowed");
}

TEST(test_many_elements_are_compared_quickly)
{
    json_auto_t *schema = json_parse_own("{\"uniqueItems\":true}");
    json_auto_t *array = json_array();

    for (int i = 0; i < 100000; i++)
        json_array_append_new(array, json_integer(i));
    assert_true(schema_fits(schema, array, NULL, NULL));
    json_array_append_new(array, json_real(7.0));
    assert_false(schema_fits(schema, array, NULL, NULL));
}

TEST(test_issues_are_limited)
{
    json_auto_t *schema = json_parse_own("{\"items\":{\"type\":\"string\"}}");
    json_auto_t *array = json_array();
    AUTO_BUF issues = {0};
    size_t lines = 1;

    for (int i = 0; i < 1000; i++)
        json_array_append_new(array, json_integer(i));
    assert_false(schema_fits(schema, array, NULL, &issues));
    for (const char *at = issues.data; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, SCHEMA_ISSUE_LIMIT);
}

/* ---- F78: defaults applied, unknown keys dropped ---- */

TEST(test_defaults_are_applied)
{
    expect_completed("{\"properties\":{\"a\":{\"default\":1},\"b\":{\"default\":[2]}}}",
                     "{\"a\":5}", "{\"a\":5,\"b\":[2]}");
    expect_completed(
        "{\"properties\":{\"o\":{\"default\":{},\"properties\":{\"x\":{\"default\":true}}}}}",
        "{}", "{\"o\":{\"x\":true}}");
    expect_completed("{\"items\":{\"properties\":{\"x\":{\"default\":0}}}}", "[{},{\"x\":1}]",
                     "[{\"x\":0},{\"x\":1}]");
    expect_completed("{\"$ref\":\"#/$defs/"
                     "d\",\"$defs\":{\"d\":{\"properties\":{\"x\":{\"default\":null}}}}}",
                     "{}", "{\"x\":null}");
}

TEST(test_unknown_keys_are_dropped)
{
    expect_completed("{\"properties\":{\"a\":{}}}", "{\"a\":1,\"b\":2}", "{\"a\":1}");
    expect_completed("{\"properties\":{\"a\":{}},\"additionalProperties\":false}",
                     "{\"a\":1,\"b\":2}", "{\"a\":1}");
    expect_completed(
        "{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"string\"}}",
        "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}");
    expect_completed("{\"properties\":{\"a\":{}},\"patternProperties\":{\"^b\":{}}}",
                     "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}");
    expect_completed("{\"type\":\"object\"}", "{\"b\":2}", "{\"b\":2}");
    expect_completed("{\"anyOf\":[{\"properties\":{\"a\":{}}},{\"properties\":{\"b\":{}}}]}",
                     "{\"b\":2,\"c\":3}", "{\"b\":2,\"c\":3}");
}

TEST(test_circular_defaults_end)
{
    json_auto_t *schema =
        json_parse_own("{\"properties\":{\"next\":{\"default\":{},\"$ref\":\"#\"}}}");
    json_auto_t *value = json_object();

    assert_true(schema_complete(schema, value, NULL));
    assert_non_null(json_object_get(value, "next"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_issues_name_the_path),
        cmocka_unit_test(test_size_issues_name_the_limit),
        cmocka_unit_test(test_keywords_of_draft_2020_beyond_draft_7),
        cmocka_unit_test(test_numbers_of_any_size_are_checked),
        cmocka_unit_test(test_a_schema_cannot_hurt),
        cmocka_unit_test(test_after_one_pattern_exceeds_its_limit_no_other_is_tried),
        cmocka_unit_test(test_one_budget_covers_all_checks),
        cmocka_unit_test(test_the_budget_covers_enums_and_defaults),
        cmocka_unit_test(test_exponential_schemas_end),
        cmocka_unit_test(test_many_elements_are_compared_quickly),
        cmocka_unit_test(test_issues_are_limited),
        cmocka_unit_test(test_defaults_are_applied),
        cmocka_unit_test(test_unknown_keys_are_dropped),
        cmocka_unit_test(test_circular_defaults_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
