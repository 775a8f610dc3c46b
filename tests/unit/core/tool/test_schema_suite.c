/*
 * The JSON Schema organisation's own tests of draft 7, as Debian packages them: every file of
 * supported keywords, except for references beyond the document.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/tool/schema.h"
#include "tests/support/test.h"

#define SUITE "/usr/share/json-schema-test-suite/tests/draft7/"

static const char *const files[] = {"additionalItems",
                                    "additionalProperties",
                                    "allOf",
                                    "anyOf",
                                    "boolean_schema",
                                    "const",
                                    "contains",
                                    "default",
                                    "dependencies",
                                    "enum",
                                    "exclusiveMaximum",
                                    "exclusiveMinimum",
                                    "if-then-else",
                                    "items",
                                    "maxItems",
                                    "maxLength",
                                    "maxProperties",
                                    "maximum",
                                    "minItems",
                                    "minLength",
                                    "minProperties",
                                    "minimum",
                                    "multipleOf",
                                    "not",
                                    "oneOf",
                                    "pattern",
                                    "patternProperties",
                                    "properties",
                                    "propertyNames",
                                    "ref",
                                    "required",
                                    "type",
                                    "uniqueItems",
                                    "optional/zeroTerminatedFloats"};

/* By the name of their case. */
static bool points_elsewhere(const char *name)
{
    return strcmp(name, "remote ref, containing refs itself") == 0 ||
           strcmp(name, "Recursive references between schemas") == 0;
}

/* The whole file is of draft 7, which is not written into each schema. */
static void mark_draft(json_t *schema)
{
    if (json_is_object(schema))
        json_set_string(schema, "$schema", "http://json-schema.org/draft-07/schema#");
}

static size_t run_case(const char *file, const json_t *one)
{
    json_t *schema = json_object_get(one, "schema"), *test;
    const char *name = json_get_string(one, "description", "");
    size_t i, count = 0;

    if (points_elsewhere(name))
        return 0;
    mark_draft(schema);
    json_array_foreach (json_object_get(one, "tests"), i, test) {
        bool valid = json_get_bool(test, "valid", false);
        AUTO_BUF issues = {0};

        if (schema_fits(schema, json_object_get(test, "data"), NULL, &issues) != valid)
            fail_msg("%s: %s: %s: valid is %d, issues: %s", file, name,
                     json_get_string(test, "description", ""), valid, issues.data);
        assert_int_equal(issues.length == 0, valid);
        count++;
    }
    return count;
}

static size_t run_file(const char *file)
{
    json_auto_t *cases = NULL;
    json_t *one;
    json_error_t error;
    char path[256];
    size_t i, count = 0;

    (void)snprintf(path, sizeof(path), SUITE "%s.json", file);
    cases = json_load_file(path, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!cases)
        fail_msg("%s: %s", path, error.text);
    json_array_foreach (cases, i, one)
        count += run_case(file, one);
    return count;
}

TEST(test_the_suite_of_draft_7)
{
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(files); i++)
        count += run_file(files[i]);
    print_message("%zu tests\n", count);
    assert_true(count > 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_suite_of_draft_7)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
