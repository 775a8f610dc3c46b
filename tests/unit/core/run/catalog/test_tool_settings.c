#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/catalog/tool_settings.h"
#include "tests/support/test.h"

static void expect_merged(const char *project, const char *user, const char *both)
{
    json_auto_t *a = json_loads(project, JSON_DECODE_ANY, NULL);
    json_auto_t *b = json_loads(user, JSON_DECODE_ANY, NULL);
    json_auto_t *wanted = json_loads(both, JSON_DECODE_ANY, NULL);
    json_auto_t *merged = tool_settings_merge(a, b);

    assert_true(json_equal(merged, wanted));
}

#define POLICY(execution, result) "{\"execution\":\"" execution "\",\"result\":\"" result "\"}"

/* F49. */
TEST(a_user_turns_tools_on_and_off_and_only_tightens_policies)
{
    expect_merged("{\"tool_groups\":{\"g\":false}}", "{\"tool_groups\":{\"g\":true}}",
                  "{\"tool_groups\":{\"g\":{\"enabled\":true}}}");
    expect_merged("{\"permissions\":{\"g\":" POLICY("ask-always", "never") "}}",
                  "{\"permissions\":{\"g/t\":" POLICY("auto", "always") "}}",
                  "{\"permissions\":{\"g\":" POLICY("ask-always", "never") ",\"g/t\":" POLICY(
                      "ask-always", "always") "}}");
}

/* F49. */
TEST(an_unknown_policy_counts_as_the_strictest)
{
    expect_merged("{\"permissions\":{\"g\":{\"execution\":\"whenever\"}}}", "{}",
                  "{\"permissions\":{\"g\":" POLICY("ask-always", "never") "}}");
}

TEST(no_settings_change_nothing)
{
    assert_null(tool_settings_merge(NULL, NULL));
    expect_merged("{}", "{}", "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_turns_tools_on_and_off_and_only_tightens_policies),
        cmocka_unit_test(an_unknown_policy_counts_as_the_strictest),
        cmocka_unit_test(no_settings_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
