#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/permission.h"

/* ---- The vectors of the design ---- */

static void expect_policies(struct permission seen, const json_t *wanted)
{
    assert_string_equal(execution_policy_name(seen.execution),
                        json_string_value(json_array_get(wanted, 0)));
    assert_string_equal(result_policy_name(seen.result),
                        json_string_value(json_array_get(wanted, 1)));
}

/* What an unknown word comes to differs from the seed: there it opened the tool. */
static void test_F36_F38_vectors(void **state)
{
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, NULL);
    const json_t *vectors = json_object_get(json_object_get(all, "permission"), "vectors");
    size_t i;
    json_t *vector;

    (void)state;
    assert_int_equal(json_array_size(vectors), 12);
    json_array_foreach (vectors, i, vector) {
        const json_t *required = json_object_get(vector, "required");

        expect_policies(permission_resolve(json_object_get(vector, "tool"),
                                           json_object_get(vector, "override")),
                        required ? required : json_object_get(vector, "seed"));
    }
}

static void test_the_key_covers_name_and_all_arguments(void **state)
{
    json_auto_t *args = json_parse_own("{\"path\":\"a\",\"a\":1}");
    json_auto_t *same = json_parse_own("{\"a\":1,\"path\":\"a\"}");
    json_auto_t *other = json_parse_own("{\"a\":1,\"path\":\"b\"}");
    char key[PERMISSION_KEY_SIZE], again[PERMISSION_KEY_SIZE];

    (void)state;
    permission_key("fs-View", args, key);
    assert_string_equal(key,
                        "50e7e64ee28d9ae60286339e4ed42e83fef3591fe6c0da14e9eb5ee3e09dcdf9");
    permission_key("fs-View", same, again);
    assert_string_equal(again, key);
    permission_key("fs-View", other, again);
    assert_string_not_equal(again, key);
    permission_key("fs-Vie", same, again);
    assert_string_not_equal(again, key);
}

/* The vectors have no hash of their own, but arguments of all sizes. */
static void test_F35_keys_of_the_vectors_differ(void **state)
{
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, NULL);
    const json_t *vectors = json_object_get(json_object_get(all, "approval_key"), "vectors");
    char keys[8][PERMISSION_KEY_SIZE];
    size_t i;
    json_t *vector;

    (void)state;
    assert_int_equal(json_array_size(vectors), 3);
    json_array_foreach (vectors, i, vector) {
        permission_key(json_get_string(vector, "name", ""), json_object_get(vector, "args"),
                       keys[i]);
        assert_int_equal(strlen(keys[i]), PERMISSION_KEY_SIZE - 1);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(keys[i], keys[k]);
    }
}

/* ---- F34, F36, F39: words ---- */

static struct permission resolve(const char *tool_text, const char *override_text)
{
    json_auto_t *tool = json_parse_own(tool_text);
    json_auto_t *override = json_parse_own(override_text);

    return permission_resolve(tool, override);
}

static void expect(struct permission seen, enum execution_policy execution,
                   enum result_policy result)
{
    assert_int_equal(seen.execution, execution);
    assert_int_equal(seen.result, result);
}

static void test_F38_what_is_no_word_is_the_strictest(void **state)
{
    (void)state;
    expect(resolve("{\"executionPolicy\":\"Auto\"}", NULL), EXECUTION_ASK_ALWAYS, RESULT_NEVER);
    expect(resolve("{\"executionPolicy\":1}", NULL), EXECUTION_ASK_ALWAYS, RESULT_NEVER);
    expect(resolve("{\"resultApprovalPolicy\":\"none\"}", NULL), EXECUTION_AUTO, RESULT_ALWAYS);
    expect(resolve("{\"requireResultApproval\":\"no\"}", NULL), EXECUTION_AUTO, RESULT_ALWAYS);
    expect(resolve("{\"permissionLevel\":\"sensitive\",\"requireExecutionApproval\":0}", NULL),
           EXECUTION_ASK_ALWAYS, RESULT_NEVER);
}

static void test_both_names_of_a_key_are_understood(void **state)
{
    (void)state;
    expect(resolve(NULL, "{\"execution\":\"ask-once\",\"result\":\"on-error\"}"),
           EXECUTION_ASK_ONCE, RESULT_ON_ERROR);
}

static void test_F38_the_operator_may_loosen_and_a_request_only_tightens(void **state)
{
    struct permission strict = {EXECUTION_ASK_ALWAYS, RESULT_NEVER};
    struct permission lax = {EXECUTION_AUTO, RESULT_ON_ERROR};
    json_auto_t *level = json_parse_own("{\"permissionLevel\":\"public\"}");

    (void)state;
    expect(permission_override(strict, level), EXECUTION_AUTO, RESULT_NEVER);
    expect(permission_override(strict, NULL), EXECUTION_ASK_ALWAYS, RESULT_NEVER);
    expect(permission_stricter(strict, lax), EXECUTION_ASK_ALWAYS, RESULT_ON_ERROR);
    expect(permission_stricter(lax, strict), EXECUTION_ASK_ALWAYS, RESULT_ON_ERROR);
}

static void test_a_tools_own_line_comes_before_that_of_its_group(void **state)
{
    json_auto_t *set = json_parse_own("{\"files\":{\"execution\":\"auto\"},"
                                      "\"files/Write\":{\"execution\":\"ask-once\"}}");

    (void)state;
    assert_ptr_equal(permissions_find(set, "files", "Write"),
                     json_object_get(set, "files/Write"));
    assert_ptr_equal(permissions_find(set, "files", "Read"), json_object_get(set, "files"));
    assert_null(permissions_find(set, "file", "Write"));
}

static void test_F38_of_two_sets_the_stricter_counts(void **state)
{
    json_auto_t *wide = json_parse_own("{\"files\":{\"execution\":\"ask-always\"},"
                                       "\"web/Get\":{\"result\":\"always\"}}");
    json_auto_t *narrow = json_parse_own("{\"files/Read\":{\"execution\":\"auto\"},"
                                         "\"web\":{\"execution\":\"ask-once\"}}");
    json_auto_t *both = permissions_merge(wide, narrow);
    json_auto_t *again = permissions_merge(narrow, wide);

    (void)state;
    expect(permission_resolve(NULL, permissions_find(both, "files", "Read")),
           EXECUTION_ASK_ALWAYS, RESULT_NEVER);
    expect(permission_resolve(NULL, permissions_find(both, "web", "Get")), EXECUTION_ASK_ONCE,
           RESULT_ALWAYS);
    assert_true(json_equal(both, again));
    assert_null(permissions_merge(NULL, NULL));
}

/* ---- Checking ---- */

static void refuse(enum err_code (*check)(const json_t *, const char *, struct err *),
                   const char *text, const char *code, const char *param, const char *wanted)
{
    json_auto_t *value = json_parse_own(text);
    struct err err = {0};

    assert_int_equal(check(value, "p", &err), ERR_INVALID);
    assert_string_equal(err.api_code, code);
    assert_string_equal(err.param, param);
    assert_string_equal(err.text, wanted);
}

static void accept(enum err_code (*check)(const json_t *, const char *, struct err *),
                   const char *text)
{
    json_auto_t *value = json_parse_own(text);
    struct err err = {0};

    assert_int_equal(check(value, "p", &err), ERR_OK);
}

static void test_F38_typing_errors_are_refused(void **state)
{
    (void)state;
    refuse(permission_check, "\"auto\"", "invalid_type", "p",
           "Invalid type for 'p': expected an object.");
    refuse(permission_check, "{\"exection\":\"auto\"}", "unknown_parameter", "p.exection",
           "Unknown parameter: 'p.exection'.");
    refuse(permission_check, "{\"execution\":\"ask_once\"}", "invalid_value", "p.execution",
           "Invalid value for 'p.execution': expected one of 'auto', 'ask-once' and "
           "'ask-always'.");
    refuse(permission_check, "{\"requireResultApproval\":\"true\"}", "invalid_type",
           "p.requireResultApproval",
           "Invalid type for 'p.requireResultApproval': expected a boolean.");
    refuse(permission_check, "{\"result\":\"never\",\"resultApprovalPolicy\":\"always\"}",
           "invalid_value", "p.result",
           "Invalid 'p': 'resultApprovalPolicy' and 'result' are the same.");
    refuse(permissions_check, "{\"a/b\":{\"x\":1}}", "unknown_parameter", "p.a/b.x",
           "Unknown parameter: 'p.a/b.x'.");
    accept(permissions_check,
           "{\"a/b\":{\"permissionLevel\":\"moderate\","
           "\"requireExecutionApproval\":true},\"a\":{\"result\":\"never\"}}");
    accept(permissions_check, "{\"a\":{\"requireResultApproval\":true}}");
    refuse(permissions_check, "{\"a\":{\"result\":\"on-errors\"}}", "invalid_value",
           "p.a.result",
           "Invalid value for 'p.a.result': expected one of 'never', 'on-error' and 'always'.");
}

/* The field of the envelope has less room than its sentence; both end with whole characters. */
static void test_a_long_name_is_told_whole(void **state)
{
    char name[3 * 50 + 1] = "";
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < 50; i++)
        memcpy(name + 3 * i, "€", 4);

    json_auto_t *set = json_build("{s:{s:b}}", "a", name, 1);
    AUTO_FREE char *text = mem_printf("Unknown parameter: 'pp.a.%s'.", name);

    assert_int_equal(permissions_check(set, "pp", &err), ERR_INVALID);
    assert_string_equal(err.text, text);
    assert_int_equal(strlen(err.param), strlen("pp.a.") + 3 * 30);
    assert_memory_equal(err.param, text + strlen("Unknown parameter: '"), strlen(err.param));
}

static void test_forms_of_require_approval(void **state)
{
    (void)state;
    accept(permission_require_check, "\"always\"");
    accept(permission_require_check, "\"never\"");
    accept(permission_require_check, "{\"never\":{\"tool_names\":[\"a\"]}}");
    accept(permission_require_check, "{\"always\":{\"read_only\":false},\"never\":null}");
    refuse(permission_require_check, "\"allways\"", "invalid_value", "p",
           "Invalid value for 'p': expected one of 'always' and 'never'.");
    refuse(permission_require_check, "true", "invalid_type", "p",
           "Invalid type for 'p': expected one of a string or an object.");
    refuse(permission_require_check, "{}", "invalid_value", "p",
           "Invalid 'p': expected 'always', 'never' or both.");
    refuse(permission_require_check, "{\"alway\":{}}", "unknown_parameter", "p.alway",
           "Unknown parameter: 'p.alway'.");
    refuse(permission_require_check, "{\"never\":[\"a\"]}", "invalid_type", "p.never",
           "Invalid type for 'p.never': expected an object.");
    refuse(permission_require_check, "{\"never\":{\"tools\":[]}}", "unknown_parameter",
           "p.never.tools", "Unknown parameter: 'p.never.tools'.");
    refuse(permission_require_check, "{\"never\":{\"tool_names\":[1]}}", "invalid_type",
           "p.never.tool_names",
           "Invalid type for 'p.never.tool_names[0]': expected a string.");
    refuse(permission_require_check,
           "{\"never\":{\"tool_names\":[\"a\"]},\"always\":{\"tool_names\":[\"a\"]}}",
           "invalid_value", "p",
           "Invalid 'p': the tool 'a' is named in both 'always' and 'never'.");
}

static enum execution_policy required(const char *text, const char *tool, bool read_only)
{
    json_auto_t *require = text ? json_parse_own(text) : NULL;

    return permission_required(require, tool, read_only, EXECUTION_ASK_ONCE);
}

static void test_what_require_approval_says_of_a_tool(void **state)
{
    static const char both[] = "{\"never\":{\"tool_names\":[\"a\"],\"read_only\":true},"
                               "\"always\":{\"tool_names\":[\"b\"]}}";

    (void)state;
    assert_int_equal(required(NULL, "a", false), EXECUTION_ASK_ONCE);
    assert_int_equal(required("null", "a", false), EXECUTION_ASK_ONCE);
    assert_int_equal(required("\"always\"", "a", false), EXECUTION_ASK_ALWAYS);
    assert_int_equal(required("\"never\"", "a", false), EXECUTION_AUTO);
    assert_int_equal(required(both, "a", true), EXECUTION_AUTO);
    assert_int_equal(required(both, "a", false), EXECUTION_ASK_ONCE);
    assert_int_equal(required(both, "b", true), EXECUTION_ASK_ALWAYS);
    assert_int_equal(required(both, "c", true), EXECUTION_ASK_ONCE);
    assert_int_equal(required("{\"never\":{}}", "a", true), EXECUTION_ASK_ONCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_F36_F38_vectors),
        cmocka_unit_test(test_the_key_covers_name_and_all_arguments),
        cmocka_unit_test(test_F35_keys_of_the_vectors_differ),
        cmocka_unit_test(test_F38_what_is_no_word_is_the_strictest),
        cmocka_unit_test(test_both_names_of_a_key_are_understood),
        cmocka_unit_test(test_F38_the_operator_may_loosen_and_a_request_only_tightens),
        cmocka_unit_test(test_a_tools_own_line_comes_before_that_of_its_group),
        cmocka_unit_test(test_F38_of_two_sets_the_stricter_counts),
        cmocka_unit_test(test_F38_typing_errors_are_refused),
        cmocka_unit_test(test_a_long_name_is_told_whole),
        cmocka_unit_test(test_forms_of_require_approval),
        cmocka_unit_test(test_what_require_approval_says_of_a_tool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
