#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/permission.h"
#include "tests/support/test.h"

/* ---- The vectors of the design ---- */

static void expect_policies(struct permission seen, const json_t *wanted)
{
    assert_string_equal(execution_policy_name(seen.execution),
                        json_string_value(json_array_get(wanted, 0)));
    assert_string_equal(result_policy_name(seen.result),
                        json_string_value(json_array_get(wanted, 1)));
}

/* F36, F38: an unknown value is stricter than in the seed, where it opened the tool. */
TEST(test_the_vectors_of_the_design_hold)
{
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, NULL);
    const json_t *vectors = json_object_get(json_object_get(all, "permission"), "vectors");
    size_t i;
    json_t *vector;

    assert_int_equal(json_array_size(vectors), 12);
    json_array_foreach (vectors, i, vector) {
        const json_t *required = json_object_get(vector, "required");

        expect_policies(
            permission_resolve(declared_permission_read(json_object_get(vector, "tool")),
                               declared_permission_read(json_object_get(vector, "override"))),
            required ? required : json_object_get(vector, "seed"));
    }
}

TEST(test_the_key_covers_name_and_all_arguments)
{
    json_auto_t *args = json_parse_own("{\"path\":\"a\",\"a\":1}");
    json_auto_t *same = json_parse_own("{\"a\":1,\"path\":\"a\"}");
    json_auto_t *other = json_parse_own("{\"a\":1,\"path\":\"b\"}");
    char key[PERMISSION_KEY_SIZE], again[PERMISSION_KEY_SIZE];

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

/* F35: the vectors have no hash of their own, but arguments of all sizes. */
TEST(test_keys_of_the_vectors_differ)
{
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, NULL);
    const json_t *vectors = json_object_get(json_object_get(all, "approval_key"), "vectors");
    char keys[8][PERMISSION_KEY_SIZE];
    size_t i;
    json_t *vector;

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

    return permission_resolve(declared_permission_read(tool),
                              declared_permission_read(override));
}

static void expect(struct permission seen, enum execution_policy execution,
                   enum result_policy result)
{
    assert_int_equal(seen.execution, execution);
    assert_int_equal(seen.result, result);
}

/* F38. */
TEST(test_an_unknown_value_is_the_strictest)
{
    expect(resolve("{\"executionPolicy\":\"Auto\"}", NULL), EXECUTION_ASK_ALWAYS, RESULT_NEVER);
    expect(resolve("{\"executionPolicy\":1}", NULL), EXECUTION_ASK_ALWAYS, RESULT_NEVER);
    expect(resolve("{\"resultApprovalPolicy\":\"none\"}", NULL), EXECUTION_AUTO, RESULT_ALWAYS);
    expect(resolve("{\"requireResultApproval\":\"no\"}", NULL), EXECUTION_AUTO, RESULT_ALWAYS);
    expect(resolve("{\"permissionLevel\":\"sensitive\",\"requireExecutionApproval\":0}", NULL),
           EXECUTION_ASK_ALWAYS, RESULT_NEVER);
}

TEST(test_both_names_of_a_key_are_understood)
{
    expect(resolve(NULL, "{\"execution\":\"ask-once\",\"result\":\"on-error\"}"),
           EXECUTION_ASK_ONCE, RESULT_ON_ERROR);
}

/* F38. */
TEST(test_the_operator_may_loosen_and_a_request_only_tightens)
{
    struct permission strict = {EXECUTION_ASK_ALWAYS, RESULT_NEVER};
    struct permission lax = {EXECUTION_AUTO, RESULT_ON_ERROR};
    json_auto_t *level = json_parse_own("{\"permissionLevel\":\"public\"}");

    expect(permission_override(strict, declared_permission_read(level)), EXECUTION_AUTO,
           RESULT_NEVER);
    expect(permission_override(strict, declared_permission_read(NULL)), EXECUTION_ASK_ALWAYS,
           RESULT_NEVER);
    expect(permission_stricter(strict, lax), EXECUTION_ASK_ALWAYS, RESULT_ON_ERROR);
    expect(permission_stricter(lax, strict), EXECUTION_ASK_ALWAYS, RESULT_ON_ERROR);
}

/* What a set says of a tool, over nothing. */
static struct permission found(const json_t *declared, const char *group, const char *tool)
{
    struct permission lax = {EXECUTION_AUTO, RESULT_NEVER};
    CLEANUP(permission_set_clear) struct permission_set set = {0};

    permission_set_read(&set, declared);
    return permission_override(lax, permission_set_find(&set, group, tool));
}

TEST(test_a_line_for_a_tool_wins_over_that_of_its_group)
{
    json_auto_t *set = json_parse_own("{\"files\":{\"execution\":\"ask-always\"},"
                                      "\"files/Write\":{\"execution\":\"ask-once\"}}");

    expect(found(set, "files", "Write"), EXECUTION_ASK_ONCE, RESULT_NEVER);
    expect(found(set, "files", "Read"), EXECUTION_ASK_ALWAYS, RESULT_NEVER);
    expect(found(set, "file", "Write"), EXECUTION_AUTO, RESULT_NEVER);
    assert_int_equal(permission_set_find(NULL, "files", "Write").execution_source,
                     PERMISSION_UNSET);
}

/* Looked up by halves, and kept in the order in which they were written. */
TEST(test_each_line_of_a_large_set_is_found)
{
    json_auto_t *declared = json_object();
    CLEANUP(permission_set_clear) struct permission_set set = {0};

    for (int i = 99; i >= 0; i--) {
        AUTO_FREE char *key = mem_printf("g/t%d", i);

        json_set(declared, key,
                 json_build("{s:s}", "execution", i % 2 ? "ask-once" : "ask-always"));
    }
    permission_set_read(&set, declared);
    assert_int_equal(set.count, 100);
    assert_string_equal(set.lines[0].key, "g/t99");
    for (int i = 0; i < 100; i++) {
        AUTO_FREE char *tool = mem_printf("t%d", i);

        assert_int_equal(permission_set_find(&set, "g", tool).execution,
                         i % 2 ? EXECUTION_ASK_ONCE : EXECUTION_ASK_ALWAYS);
    }
    assert_int_equal(permission_set_find(&set, "g", "t100").execution_source, PERMISSION_UNSET);
}

/* F38. */
TEST(test_the_stricter_of_two_sets_counts)
{
    json_auto_t *wide = json_parse_own("{\"files\":{\"execution\":\"ask-always\"},"
                                       "\"web/Get\":{\"result\":\"always\"}}");
    json_auto_t *narrow = json_parse_own("{\"files/Read\":{\"execution\":\"auto\"},"
                                         "\"web\":{\"execution\":\"ask-once\"}}");
    json_auto_t *both = permissions_merge(wide, narrow);
    json_auto_t *again = permissions_merge(narrow, wide);

    expect(found(both, "files", "Read"), EXECUTION_ASK_ALWAYS, RESULT_NEVER);
    expect(found(both, "web", "Get"), EXECUTION_ASK_ONCE, RESULT_ALWAYS);
    assert_true(json_equal(both, again));
    assert_null(permissions_merge(NULL, NULL));
}

/* ---- require_approval ---- */

static enum execution_policy required(const char *text, const char *tool, bool read_only)
{
    json_auto_t *require = text ? json_parse_own(text) : NULL;

    return permission_required(require, tool, read_only, EXECUTION_ASK_ONCE);
}

TEST(test_require_approval_decides_for_each_tool)
{
    static const char both[] = "{\"never\":{\"tool_names\":[\"a\"],\"read_only\":true},"
                               "\"always\":{\"tool_names\":[\"b\"]}}";

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
        cmocka_unit_test(test_the_vectors_of_the_design_hold),
        cmocka_unit_test(test_the_key_covers_name_and_all_arguments),
        cmocka_unit_test(test_keys_of_the_vectors_differ),
        cmocka_unit_test(test_an_unknown_value_is_the_strictest),
        cmocka_unit_test(test_both_names_of_a_key_are_understood),
        cmocka_unit_test(test_the_operator_may_loosen_and_a_request_only_tightens),
        cmocka_unit_test(test_a_line_for_a_tool_wins_over_that_of_its_group),
        cmocka_unit_test(test_each_line_of_a_large_set_is_found),
        cmocka_unit_test(test_the_stricter_of_two_sets_counts),
        cmocka_unit_test(test_require_approval_decides_for_each_tool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
