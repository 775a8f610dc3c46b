#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/memory/var_ref.h"
#include "tests/support/test.h"

/* Variables of one type, and how often they were read. */
struct known {
    json_t *values; /* name -> value */
    enum variable_type type;
    unsigned asked;
};

static enum err_code find(void *arg, const char *name, struct variable *ret_variable,
                          struct err *err)
{
    struct known *known = arg;
    const char *value = json_get_string(known->values, name, NULL);

    known->asked++;
    if (!value)
        return err_set(err, ERR_NOT_FOUND, "Variable '%s' not found.", name);
    *ret_variable = (struct variable){.type = known->type, .value = mem_strdup(value)};
    return ERR_OK;
}

static void expect_json(json_t *seen, json_t *wanted)
{
    AUTO_FREE char *seen_text = json_text(seen);
    AUTO_FREE char *wanted_text = json_text(wanted);

    assert_string_equal(seen_text, wanted_text);
}

/* ---- F23, F24, F26: the vectors of the design ---- */

static void expect_error(json_t *args, struct known *known, const char *kind)
{
    json_t *seen = NULL;
    struct err err;
    enum err_code rc = var_ref_resolve(args, find, known, &seen, NULL, &err);

    assert_null(seen);
    if (strcmp(kind, "not_found") == 0) {
        assert_int_equal(rc, ERR_NOT_FOUND);
    } else {
        assert_int_equal(rc, ERR_INVALID);
        assert_string_equal(err.text, "Circular variable reference: a -> b -> a");
    }
}

static void expect_resolved(json_t *args, struct known *known, json_t *wanted)
{
    json_auto_t *seen = NULL;
    struct err err;

    assert_int_equal(var_ref_resolve(args, find, known, &seen, NULL, &err), ERR_OK);
    expect_json(seen, wanted);
}

static void run_vector(json_t *vector)
{
    json_t *args = json_object_get(vector, "args");
    json_t *wanted = json_object_get(vector, "seed");
    json_t *of_tools = json_object_get(vector, "required_if_a_is_tool_result");
    struct known known = {.values = json_object_get(vector, "vars"), .type = VARIABLE_USER_ADD};

    if (json_get_string(wanted, "error", NULL)) {
        expect_error(args, &known, json_get_string(wanted, "error", ""));
        return;
    }
    expect_resolved(args, &known, json_is_string(wanted) ? args : wanted);
    known.type = VARIABLE_TOOL_CALL_RESULT;
    if (of_tools)
        expect_resolved(args, &known, of_tools);
}

TEST(test_the_vectors_of_the_design_hold)
{
    json_error_t error;
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, &error);
    json_t *vectors = json_object_get(json_object_get(all, "var_ref"), "vectors"), *vector;
    size_t i;

    assert_int_equal(json_array_size(vectors), 8);
    json_array_foreach (vectors, i, vector)
        run_vector(vector);
}

/* ---- Beyond the vectors ---- */

static enum err_code resolve(const char *values, enum variable_type type, const char *args_text,
                             char **ret_text, struct err *err)
{
    json_auto_t *args = json_parse_own(args_text);
    json_auto_t *parsed = json_parse_own(values);
    struct known known = {.values = parsed, .type = type};
    json_auto_t *seen = NULL;
    enum err_code rc = var_ref_resolve(args, find, &known, &seen, NULL, err);

    if (!rc)
        *ret_text = json_text(seen);
    return rc;
}

/* F23. */
TEST(test_numbers_of_any_size_stay_beside_references)
{
    json_auto_t *values = json_build("{ss}", "a", "x");
    struct known known = {.values = values, .type = VARIABLE_TOOL_CALL_RESULT};
    json_auto_t *args = json_parse_own("{\"id\":18446744073709551615,\"v\":\"$VAR_REF{{a}}\"}");
    json_auto_t *wanted = json_parse_own("{\"id\":18446744073709551615,\"v\":\"x\"}");

    expect_resolved(args, &known, wanted);
}

TEST(test_slices_count_characters)
{
    AUTO_FREE char *seen = NULL;

    assert_int_equal(resolve("{\"a\":\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z\"}",
                             VARIABLE_USER_ADD,
                             "{\"x\":\"$VAR_REF{{a:1:2}}\","
                             "\"y\":\"$VAR_REF{{a:0:99999999999999999999999999}}\"}",
                             &seen, NULL),
                     ERR_OK);
    assert_string_equal(seen, "{\"x\":\"\xE2\x82\xAC\xF0\x9F\x98\x80\","
                              "\"y\":\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z\"}");
}

/* F26: the result of a tool is data, also when the model's own text refers to it. */
TEST(test_results_are_never_followed)
{
    AUTO_FREE char *seen = NULL;

    assert_int_equal(resolve("{\"a\":\"$VAR_REF{{secret}}\",\"secret\":\"s\"}",
                             VARIABLE_MESSAGE_CACHE, "{\"x\":\"$VAR_REF{{a}}\"}", &seen, NULL),
                     ERR_OK);
    assert_string_equal(seen, "{\"x\":\"$VAR_REF{{secret}}\"}");
}

/* F26: two values that make a reference only together are no reference. */
TEST(test_a_reference_cannot_be_joined_from_two_values)
{
    AUTO_FREE char *seen = NULL;

    assert_int_equal(resolve("{\"a\":\"$VAR_REF{{\",\"b\":\"}}\",\"s\":\"no\"}",
                             VARIABLE_LLM_ADD, "{\"x\":\"$VAR_REF{{a}}s$VAR_REF{{b}}\"}", &seen,
                             NULL),
                     ERR_OK);
    assert_string_equal(seen, "{\"x\":\"$VAR_REF{{s}}\"}");
}

/* F26. */
TEST(test_depth_and_number_of_references_are_limited)
{
    AUTO_BUF values = {0}, args = {0};
    AUTO_FREE char *seen = NULL;
    struct err err;

    buf_add_text(&values, "{\"a9\":\"end\"");
    for (int i = 1; i < 9; i++)
        buf_addf(&values, ",\"a%d\":\"$VAR_REF{{a%d}}\"", i, i + 1);
    buf_add_text(&values, "}");
    assert_int_equal(
        resolve(values.data, VARIABLE_LLM_ADD, "{\"x\":\"$VAR_REF{{a2}}\"}", &seen, &err),
        ERR_OK);
    assert_string_equal(seen, "{\"x\":\"end\"}");
    free(TAKE(seen));
    assert_int_equal(
        resolve(values.data, VARIABLE_LLM_ADD, "{\"x\":\"$VAR_REF{{a1}}\"}", &seen, &err),
        ERR_INVALID);
    assert_non_null(strstr(err.text, "8 deep"));

    buf_add_text(&args, "{\"x\":\"");
    for (int i = 0; i < VAR_REF_COUNT_LIMIT; i++)
        buf_add_text(&args, "$VAR_REF{{a9}}");
    buf_add_text(&args, "\"}");
    assert_int_equal(resolve(values.data, VARIABLE_LLM_ADD, args.data, &seen, &err), ERR_OK);
    free(TAKE(seen));
    args.data[args.length - 2] = ' ';
    args.data[args.length - 1] = '$';
    buf_add_text(&args, "VAR_REF{{a9}}\"}");
    assert_int_equal(resolve(values.data, VARIABLE_LLM_ADD, args.data, &seen, &err),
                     ERR_INVALID);
    assert_non_null(strstr(err.text, "at most 64 variable references"));
}

/* F26: a value is read once, and 8 MiB may be inserted in all. */
TEST(test_the_size_of_the_result_is_limited)
{
    AUTO_FREE char *large = mem_new_array(char, VARIABLE_VALUE_LIMIT + 1);
    AUTO_BUF args = {0};
    struct known known = {.type = VARIABLE_TOOL_CALL_RESULT};
    json_auto_t *tree = NULL;
    json_t *seen = NULL;
    struct err err;

    memset(large, 'x', VARIABLE_VALUE_LIMIT);
    known.values = json_build("{s:s}", "a", large);
    buf_add_text(&args, "[");
    for (int i = 0; i < 8; i++)
        buf_addf(&args, "%s\"$VAR_REF{{a}}\"", i ? "," : "");
    buf_add_text(&args, "]");
    tree = json_parse_own(args.data);
    assert_int_equal(var_ref_resolve(tree, find, &known, &seen, NULL, &err), ERR_OK);
    assert_int_equal(known.asked, 1);
    json_decref(seen);
    seen = NULL;
    json_array_append_new(tree, json_string("$VAR_REF{{a:0:1}}"));
    assert_int_equal(var_ref_resolve(tree, find, &known, &seen, NULL, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "too long"));
    assert_null(seen);
    json_decref(known.values);
}

/* F25. */
TEST(test_the_names_of_used_variables_are_reported)
{
    json_auto_t *args =
        json_parse_own("{\"x\":[\"$VAR_REF{{b}} $VAR_REF{{a:1}}$VAR_REF{{b}}\"]}");
    json_auto_t *values = json_parse_own("{\"a\":\"1\",\"b\":\"$VAR_REF{{c}}\",\"c\":\"2\"}");
    json_auto_t *wanted = json_parse_own("[\"b\",\"c\",\"a\"]");
    struct known known = {.values = values, .type = VARIABLE_LLM_ADD};
    json_auto_t *seen = NULL;
    json_auto_t *names = NULL;

    assert_int_equal(var_ref_resolve(args, find, &known, &seen, &names, NULL), ERR_OK);
    expect_json(names, wanted);
}

static bool is_in(const char *text)
{
    json_auto_t *args = json_parse_own(text);
    bool found = var_ref_is_in(args);

    assert_true(!found || var_ref_may_be_in(text));
    return found;
}

TEST(test_references_are_detected)
{
    assert_true(is_in("{\"x\":[1,{\"y\":\"a$VAR_REF{{b}}\"}]}"));
    assert_true(is_in("{\"x\":\"\\u0024VAR_REF{{b}}\"}"));
    assert_true(is_in("{\"x\":\"$VAR_REF{{$VAR_REF{{b}}\"}"));
    assert_false(is_in("{\"$VAR_REF{{b}}\":\"$VAR_REF{{b.c}}\"}"));
    assert_false(is_in("{}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_vectors_of_the_design_hold),
        cmocka_unit_test(test_numbers_of_any_size_stay_beside_references),
        cmocka_unit_test(test_slices_count_characters),
        cmocka_unit_test(test_results_are_never_followed),
        cmocka_unit_test(test_a_reference_cannot_be_joined_from_two_values),
        cmocka_unit_test(test_depth_and_number_of_references_are_limited),
        cmocka_unit_test(test_the_size_of_the_result_is_limited),
        cmocka_unit_test(test_the_names_of_used_variables_are_reported),
        cmocka_unit_test(test_references_are_detected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
