#include <string.h>

#include "core/base/mem.h"
#include "core/tool/registry.h"
#include "core/tool/rules.h"
#include "tests/support/test.h"

/* ---- A registry of our own ---- */

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    (void)call;
    (void)ret_result;
    return err_set(err, ERR_INTERNAL, "never called");
}

static const struct tool_handler a_one = {.name = "one", .group = "a", .run = run};
static const struct tool_handler b_one = {.name = "three", .group = "b", .run = run};
static const struct tool_handler a_two = {.name = "two", .group = "a", .run = run};
static const struct tool_handler *const handlers[] = {&a_one, &b_one, &a_two, NULL};

static const struct skill_rule a_rules[] = {
    {.name = "first",
     .description = {"The first", "第一"},
     .when = {"Before one", NULL},
     .prompt = {"Do one.", NULL}},
    {.name = "second", .description = {"The second", NULL}, .prompt = {"Do two.", NULL}},
    {.name = "fixed",
     .description = {"The fixed", NULL},
     .prompt = {"\nNever three.\n", NULL},
     .pinned = true},
    {0},
};

static const struct tool_group group_a = {
    .name = "a", .prompt = {"  About a.\n\n", "关于 a。"}, .rules = a_rules};
static const struct group_line b_lines[] = {
    {"unknown", {"Never said.", NULL}}, {"three", {"Use three.", "用 three。"}}, {0}};
static const struct tool_group group_b = {.name = "b", .lines = b_lines};
static const struct tool_group vars = {
    .name = "vars",
    .reader = "ReadVar",
    .about_variables = {"\n## Variables\n\nRead `Rule/Agent/VarRef` and `Rule/Agent/TODO`.\n",
                        "\n## 变量\n"}};
static const struct tool_group blank_a = {
    .name = "a", .prompt = {" \n", NULL}, .rules = a_rules};
static const struct tool_group *const groups[] = {&group_a, &group_b, &vars, NULL};
static const struct tool_group *const blank[] = {&blank_a, &vars, NULL};

static int set_registry(void **state)
{
    (void)state;
    tool_registry_set(handlers);
    tool_registry_set_groups(groups);
    return 0;
}

static const char *const one[] = {"one", NULL};
static const char *const one_two[] = {"one", "two", NULL};
static const char *const three[] = {"three", NULL};
static const char *const reader[] = {"ReadVar", NULL};

/* ---- F17: the order of things ---- */

TEST(rules_are_empty_without_groups)
{
    AUTO_FREE char *text = tool_rules_text(NULL, 0, LANGUAGE_ENGLISH);

    assert_string_equal(text, "");
}

TEST(rules_begin_with_the_fixed_block_and_continue_with_groups)
{
    const struct rules_group enabled[] = {
        {"a", one_two, NULL}, {"b", three, NULL}, {"vars", reader, NULL}};
    AUTO_FREE char *text = tool_rules_text(enabled, 3, LANGUAGE_ENGLISH);
    static const char expected[] = "</tool-rules>\n\n"
                                   "<tool-group-rule group=\"a\">\n\n"
                                   "Group \"a\" contains following tools: one, two.\n\n"
                                   "About a.\n\n"
                                   "**Pinned Rules:**\n\n"
                                   "**The fixed:**\nNever three.\n\n"
                                   "**On-Demand Documentation (Stored as Variables):**\n\n"
                                   "| Var | Description | When to Use |\n| --- | --- | --- |\n"
                                   "| `Rule/a/first` | The first | Before one |\n"
                                   "| `Rule/a/second` | The second | As needed |\n\n"
                                   "*Access via: ReadVar({\"name\": \"<VarName>\"})*\n"
                                   "</tool-group-rule>\n\n"
                                   "<tool-group-rule group=\"b\">\n\n"
                                   "Group \"b\" contains following tools: three.\n\n"
                                   "- Use three.\n"
                                   "</tool-group-rule>";

    assert_memory_equal(text, "<tool-rules>\n", 13);
    assert_non_null(strstr(text, "`limit`"));
    assert_string_equal(strstr(text, "</tool-rules>"), expected);
}

/* F18. */
TEST(rules_are_the_same_bytes_every_time)
{
    const struct rules_group enabled[] = {
        {"a", one_two, NULL}, {"b", three, NULL}, {"vars", reader, NULL}};
    AUTO_FREE char *first = tool_rules_text(enabled, 3, LANGUAGE_CHINESE);
    AUTO_FREE char *second = tool_rules_text(enabled, 3, LANGUAGE_CHINESE);

    assert_string_equal(first, second);
    assert_non_null(strstr(first, "关于 a。"));
    assert_non_null(strstr(first, "第一"));
    assert_non_null(strstr(first, "The second")); /* where a language is missing */
}

/* ---- F16, F20 ---- */

TEST(rules_name_only_tools_that_are_enabled)
{
    const struct rules_group enabled[] = {{"a", one, NULL}};
    AUTO_FREE char *text = tool_rules_text(enabled, 1, LANGUAGE_ENGLISH);

    assert_non_null(strstr(text, "following tools: one.\n"));
    assert_null(strstr(text, "group=\"b\""));
}

TEST(rules_of_a_group_without_text_are_left_out)
{
    const struct rules_group enabled[] = {{"a", one, NULL}};
    AUTO_FREE char *text = NULL;

    tool_registry_set_groups(blank);
    text = tool_rules_text(enabled, 1, LANGUAGE_ENGLISH);
    tool_registry_set_groups(groups);
    assert_null(strstr(text, "<tool-group-rule"));
    assert_null(strstr(text, "Never three."));
    assert_memory_equal(text, "<tool-rules>\n", 13);
}

TEST(pinned_rules_are_not_in_the_table)
{
    const struct rules_group enabled[] = {{"a", one, NULL}};
    AUTO_FREE char *text = tool_rules_text(enabled, 1, LANGUAGE_ENGLISH);

    assert_non_null(strstr(text, "Never three."));
    assert_null(strstr(text, "Rule/a/fixed"));
    assert_null(strstr(text, "Do one."));
}

TEST(rules_mention_variables_only_where_they_can_be_read)
{
    const struct rules_group enabled[] = {{"a", one, NULL}, {"vars", reader, NULL}};
    AUTO_FREE char *without = tool_rules_text(enabled, 1, LANGUAGE_ENGLISH);
    AUTO_FREE char *with = tool_rules_text(enabled, 2, LANGUAGE_ENGLISH);

    assert_null(strstr(without, "Rule/"));
    assert_non_null(strstr(with, "Rule/Agent/VarRef"));
    assert_non_null(strstr(with, "Rule/Agent/TODO"));
    assert_non_null(strstr(with, "Rule/a/first"));
}

/* ---- F19, F22: rules by name ---- */

TEST(rules_are_found_by_their_variable)
{
    struct rule_ref ref;
    AUTO_FREE char *about = NULL;

    assert_true(tool_rule_find("Rule/a/first", &ref));
    assert_ptr_equal(ref.rule, &a_rules[0]);
    about = tool_rule_about(&ref, LANGUAGE_ENGLISH);
    assert_string_equal(about, "Skill rule for a: The first");
    assert_true(tool_rule_find("Rule/Agent/VarRef", &ref));
    assert_non_null(strstr(ref.rule->prompt.en, "$VAR_REF{{name:start:length}}"));
    assert_true(tool_rule_find("Rule/Agent/TODO", &ref));
    assert_false(tool_rule_find("Rule/a/third", &ref));
    assert_false(tool_rule_find("Rule/a", &ref));
}

TEST(rules_are_numbered_without_gaps)
{
    struct rule_ref ref;
    size_t count = 0;

    while (tool_rule_at(count, &ref)) {
        AUTO_FREE char *variable = tool_rule_variable(&ref);
        struct rule_ref found;

        assert_true(tool_rule_find(variable, &found));
        assert_ptr_equal(found.rule, ref.rule);
        count++;
    }
    assert_int_equal(count, 2 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_empty_without_groups),
        cmocka_unit_test(rules_begin_with_the_fixed_block_and_continue_with_groups),
        cmocka_unit_test(rules_are_the_same_bytes_every_time),
        cmocka_unit_test(rules_name_only_tools_that_are_enabled),
        cmocka_unit_test(rules_of_a_group_without_text_are_left_out),
        cmocka_unit_test(pinned_rules_are_not_in_the_table),
        cmocka_unit_test(rules_mention_variables_only_where_they_can_be_read),
        cmocka_unit_test(rules_are_found_by_their_variable),
        cmocka_unit_test(rules_are_numbered_without_gaps),
    };

    return cmocka_run_group_tests(tests, set_registry, NULL);
}
