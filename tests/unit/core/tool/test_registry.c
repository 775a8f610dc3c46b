#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/registry.h"
#include "tests/support/caught_stderr.h"
#include "tests/support/test.h"

/* ---- Tools ---- */

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    (void)call;
    (void)ret_result;
    return err_set(err, ERR_INTERNAL, "never called");
}

static const struct tool_handler function = {.name = "function"};
static const struct tool_handler one = {.name = "one", .group = "a", .run = run};
static const struct tool_handler two = {.name = "two", .group = "a", .run = run};
static const struct tool_handler other_one = {.name = "one", .group = "a_b", .run = run};
static const struct tool_handler *const list[] = {&function, &one, &other_one, &two, NULL};

TEST(registry_is_empty_at_first)
{
    assert_null(tool_registry_find("a", "one"));
    assert_false(tool_registry_has_group("a"));
    assert_null(tool_registry_definition("function"));
}

TEST(registry_finds_by_group_and_name)
{
    tool_registry_set(list);
    assert_ptr_equal(tool_registry_find("a", "one"), &one);
    assert_ptr_equal(tool_registry_find("a_b", "one"), &other_one);
    assert_null(tool_registry_find("a_b", "two"));
    assert_true(tool_registry_has_group("a"));
    assert_false(tool_registry_has_group("b"));
}

TEST(registry_lists_a_group_in_order)
{
    tool_registry_set(list);
    assert_ptr_equal(tool_registry_member("a", 0), &one);
    assert_ptr_equal(tool_registry_member("a", 1), &two);
    assert_null(tool_registry_member("a", 2));
    assert_null(tool_registry_member("b", 0));
}

TEST(registry_separates_definitions_from_tools_of_groups)
{
    tool_registry_set(list);
    assert_ptr_equal(tool_registry_definition("function"), &function);
    assert_null(tool_registry_definition("one"));
    assert_null(tool_registry_find("a", "function"));
}

/* Peer fault B22: an invented name became a call for the client, and a group with an underscore in
 * its name was taken for group and tool. */
TEST(registry_bella_B22_an_invented_name_is_not_found)
{
    tool_registry_set(list);
    assert_null(tool_registry_find("a", "three"));
    assert_null(tool_registry_find("a", "b_one"));
    assert_null(tool_registry_find("", "one"));
    assert_null(tool_registry_definition("three"));
}

static const struct tool_handler another_one = {.name = "one", .group = "a", .run = run};

/* F01. */
TEST(the_second_of_two_tools_with_one_name_replaces_the_first)
{
    static const struct tool_handler *const twice[] = {&one, &two, &another_one, NULL};
    AUTO_FREE char *said = NULL;

    stderr_begin();
    tool_registry_set(twice);
    said = stderr_end();
    assert_ptr_equal(tool_registry_find("a", "one"), &another_one);
    assert_ptr_equal(tool_registry_member("a", 0), &another_one);
    assert_ptr_equal(tool_registry_member("a", 1), &two);
    assert_null(tool_registry_member("a", 2));
    assert_non_null(strstr(said, "the tool a/one is registered twice"));
}

TEST(a_hosted_tool_is_found_by_the_type_of_its_entries_and_not_by_its_name)
{
    static const struct tool_handler hosted = {
        .name = "python", .type = "code", .group = "hosted", .flags = TOOL_HOSTED, .run = run};
    static const struct tool_handler *const tools[] = {&hosted, NULL};

    tool_registry_set(tools);
    assert_ptr_equal(tool_registry_definition("code"), &hosted);
    assert_null(tool_registry_definition("python"));
}

static bool is_here(const json_t *entry)
{
    return json_is_true(json_object_get(entry, "here"));
}

TEST(two_tools_of_one_type_share_its_entries)
{
    static const struct tool_handler here = {.name = "shell", .serves = is_here};
    static const struct tool_handler elsewhere = {
        .name = "shell", .group = "hosted", .flags = TOOL_HOSTED, .run = run};
    static const struct tool_handler *const tools[] = {&here, &elsewhere, NULL};
    json_auto_t *entry = json_pack("{s:s, s:b}", "type", "shell", "here", 1);

    tool_registry_set(tools);
    assert_ptr_equal(tool_registry_serving(entry), &here);
    json_object_set_new(entry, "here", json_false());
    assert_ptr_equal(tool_registry_serving(entry), &elsewhere);
    json_object_set_new(entry, "type", json_string("python"));
    assert_null(tool_registry_serving(entry));
}

TEST(a_tool_that_comes_along_has_no_entries)
{
    static const struct tool_handler find = {
        .name = "find", .group = "hosted", .flags = TOOL_HOSTED, .run = run};
    static const struct tool_handler open = {.name = "open",
                                             .type = "find",
                                             .group = "hosted",
                                             .flags = TOOL_HOSTED | TOOL_ALONG,
                                             .serves = is_here,
                                             .run = run};
    static const struct tool_handler *const tools[] = {&open, &find, NULL};
    json_auto_t *entry = json_pack("{s:s, s:b}", "type", "find", "here", 1);

    tool_registry_set(tools);
    assert_ptr_equal(tool_registry_serving(entry), &find);
    assert_ptr_equal(tool_registry_along(&find, entry, 0), &open);
    assert_null(tool_registry_along(&find, entry, 1));
    assert_null(tool_registry_along(&one, entry, 0));
    assert_null(tool_registry_definition("open"));
    json_object_set_new(entry, "here", json_false());
    assert_null(tool_registry_along(&find, entry, 0));
}

TEST(what_needs_a_sandbox_is_lacking_until_there_is_one)
{
    static const struct tool_handler confined = {
        .name = "confined", .flags = TOOL_NEEDS_SANDBOX | TOOL_NEEDS_PYTHON};

    assert_non_null(tool_registry_lacks(&confined));
    tool_registry_lack(TOOL_NEEDS_SANDBOX, "the moon is full");
    assert_string_equal(tool_registry_lacks(&confined), "the moon is full");
    assert_null(tool_registry_lacks(&one));
    tool_registry_lack(TOOL_NEEDS_SANDBOX, NULL);
    assert_string_equal(tool_registry_lacks(&confined), "this server has no Python");
    tool_registry_lack(TOOL_NEEDS_PYTHON, NULL);
    assert_null(tool_registry_lacks(&confined));
}

/* F76. */
TEST(a_removed_tool_is_not_found)
{
    tool_registry_set(list);
    tool_registry_remove("a", "one");
    assert_null(tool_registry_find("a", "one"));
    assert_ptr_equal(tool_registry_find("a_b", "one"), &other_one);
    assert_ptr_equal(tool_registry_member("a", 0), &two);
    tool_registry_remove("a", NULL);
    assert_false(tool_registry_has_group("a"));
    assert_true(tool_registry_has_group("a_b"));
    assert_ptr_equal(tool_registry_definition("function"), &function);
}

/* F80. */
static void a_tool_without_a_policy_needs_an_approval_unless_its_group_runs_by_itself(
    void **state)
{
    static const struct tool_handler asks = {.name = "asks",
                                             .group = "a",
                                             .run = run,
                                             .permission = {.execution = EXECUTION_ASK_ALWAYS}};
    static const struct tool_group a = {.name = "a", .auto_execute = true};
    static const struct tool_group a_b = {.name = "a_b"};
    static const struct tool_group *const groups[] = {&a, &a_b, NULL};
    static const struct tool_handler *const tools[] = {&function, &one, &other_one, &asks,
                                                       NULL};

    (void)state;
    tool_registry_set(tools);
    assert_int_equal(tool_registry_permission(&one).execution, EXECUTION_ASK_ONCE);
    tool_registry_set_groups(groups);
    assert_int_equal(tool_registry_permission(&one).execution, EXECUTION_AUTO);
    assert_int_equal(tool_registry_permission(&other_one).execution, EXECUTION_ASK_ONCE);
    assert_int_equal(tool_registry_permission(&asks).execution, EXECUTION_ASK_ALWAYS);
    /* The client's, and those of other servers. */
    assert_int_equal(tool_registry_permission(&function).execution, EXECUTION_AUTO);
    assert_int_equal(tool_registry_permission(&two).execution, EXECUTION_AUTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry_is_empty_at_first),
        cmocka_unit_test(registry_finds_by_group_and_name),
        cmocka_unit_test(registry_lists_a_group_in_order),
        cmocka_unit_test(registry_separates_definitions_from_tools_of_groups),
        cmocka_unit_test(registry_bella_B22_an_invented_name_is_not_found),
        cmocka_unit_test(the_second_of_two_tools_with_one_name_replaces_the_first),
        cmocka_unit_test(a_hosted_tool_is_found_by_the_type_of_its_entries_and_not_by_its_name),
        cmocka_unit_test(two_tools_of_one_type_share_its_entries),
        cmocka_unit_test(a_tool_that_comes_along_has_no_entries),
        cmocka_unit_test(what_needs_a_sandbox_is_lacking_until_there_is_one),
        cmocka_unit_test(a_removed_tool_is_not_found),
        cmocka_unit_test(
            a_tool_without_a_policy_needs_an_approval_unless_its_group_runs_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
