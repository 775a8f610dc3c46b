#include "tests/unit/handlers/tool_run.h"

static void expect_announced(const struct tool_handler *handler, const char *name,
                             const char *arguments, const char *item_type, const char *fields)
{
    struct tool_announcement announcement = {0};
    AUTO_FREE char *text = NULL;

    assert_int_equal(handler->announce(name, arguments, &announcement, NULL), ERR_OK);
    text = json_text(announcement.fields);
    assert_string_equal(handler->item->type, item_type);
    assert_string_equal(text, fields);
    json_decref(announcement.fields);
    json_decref(announcement.opening);
}

static void expect_refused(const struct tool_handler *handler, const char *arguments,
                           const char *text)
{
    struct tool_announcement announcement = {0};
    struct err err = {0};

    assert_int_equal(handler->announce(handler->name, arguments, &announcement, &err),
                     ERR_INVALID);
    assert_non_null(strstr(err.text, text));
    assert_null(announcement.fields);
    assert_null(announcement.opening);
}

TEST(function_calls_are_shown_as_they_are_written)
{
    assert_null(function_handler.run);
    assert_null(function_handler.announce);
}

static void expect_input(const char *arguments, const char *input)
{
    json_auto_t *fields = json_build("{s:s, s:s}", "name", "c", "input", input);
    AUTO_FREE char *text = json_text(fields);

    expect_announced(&custom_handler, "c", arguments, "custom_tool_call", text);
}

TEST(custom_shows_the_input)
{
    expect_input("{\"input\":\"SELECT \\\"x\\\"\\n\"}", "SELECT \"x\"\n");
    expect_input("{\"input\":\"\"}", "");
}

TEST(custom_takes_unwrapped_arguments_as_the_input)
{
    expect_input("SELECT 1", "SELECT 1");
    expect_input("\"SELECT 1\"", "SELECT 1");
    expect_input("{\"other\":1}", "{\"other\":1}");
    expect_input("{\"input\":{\"a\":[1]}}", "{\"a\":[1]}");
    expect_input("", "");
}

/* Peer fault B1: a custom call was shown under the name of another tool. */
TEST(definitions_bella_B1_calls_keep_their_name)
{
    expect_announced(&custom_handler, "my_sql", "{\"input\":\"x\"}", "custom_tool_call",
                     "{\"name\":\"my_sql\",\"input\":\"x\"}");
}

static void expect_action(const char *arguments, const char *action)
{
    AUTO_FREE char *fields = mem_printf("{\"action\":%s}", action);

    expect_announced(&local_shell_handler, "local_shell", arguments, "local_shell_call",
                     fields);
}

TEST(local_shell_shows_the_action)
{
    expect_action("{\"command\":[\"ls\",\"-l\"]}",
                  "{\"type\":\"exec\",\"command\":[\"ls\",\"-l\"],\"env\":{}}");
    expect_action("{\"command\":[\"env\"],\"env\":{\"A\":\"b\"},\"timeout_ms\":500,"
                  "\"user\":\"me\",\"working_directory\":\"/tmp\"}",
                  "{\"type\":\"exec\",\"command\":[\"env\"],\"env\":{\"A\":\"b\"},"
                  "\"timeout_ms\":500,\"user\":\"me\",\"working_directory\":\"/tmp\"}");
}

TEST(local_shell_repairs_clear_mistakes)
{
    expect_action("{\"command\":\"ls | wc\"}",
                  "{\"type\":\"exec\",\"command\":[\"sh\",\"-c\",\"ls | wc\"],\"env\":{}}");
    expect_action(
        "{\"command\":[\"head\",\"-n\",5],\"env\":{\"N\":1},\"timeout_ms\":1500.0}",
        "{\"type\":\"exec\",\"command\":[\"head\",\"-n\",\"5\"],\"env\":{\"N\":\"1\"},"
        "\"timeout_ms\":1500}");
}

TEST(local_shell_runs_nothing_unclear)
{
    const char *const nothing = "{\"type\":\"exec\",\"command\":[],\"env\":{}}";

    expect_action("{\"command\":[\"rm\",\"-rf\",\"/tm", nothing);
    expect_action("", nothing);
    expect_action("[]", nothing);
    expect_action("{}", nothing);
    expect_action("{\"command\":{},\"env\":[1],\"timeout_ms\":-1,\"user\":5}", nothing);
    expect_action("{\"command\":[],\"timeout_ms\":1e300}", nothing);
}

#define LOCAL "\"environment\":{\"type\":\"local\"}}"

TEST(shell_shows_its_commands)
{
    expect_announced(&shell_handler, "shell",
                     "{\"commands\":[\"ls\",\"pwd\"],\"timeout_ms\":1000}", "shell_call",
                     "{\"action\":{\"commands\":[\"ls\",\"pwd\"],\"timeout_ms\":1000,"
                     "\"max_output_length\":null}," LOCAL);
    expect_announced(&shell_handler, "shell", "{\"commands\":\"ls\",\"timeout_ms\":-1}",
                     "shell_call",
                     "{\"action\":{\"commands\":[\"ls\"],\"timeout_ms\":null,"
                     "\"max_output_length\":null}," LOCAL);
}

TEST(shell_opens_without_commands)
{
    struct tool_announcement shown = {0};
    AUTO_FREE char *text = NULL;

    assert_int_equal(shell_handler.announce("shell", "{\"commands\":[\"ls\"]}", &shown, NULL),
                     ERR_OK);
    text = json_text(json_object_get(json_object_get(shown.opening, "action"), "commands"));
    assert_string_equal(text, "[]");
    json_decref(shown.opening);
    json_decref(shown.fields);
}

TEST(shell_runs_nothing_unclear)
{
    expect_refused(&shell_handler, "{\"commands\":[\"rm -rf /tm", "not valid JSON");
    expect_refused(&shell_handler, "[\"ls\"]", "must be a JSON object");
    expect_refused(&shell_handler, "{\"commands\":[]}", "at least one");
    expect_refused(&shell_handler, "{\"commands\":[\"ls\",5]}", "must be a string");
}

TEST(apply_patch_shows_the_operation)
{
    expect_announced(&apply_patch_handler, "apply_patch",
                     "{\"type\":\"update_file\",\"path\":\"a.c\",\"diff\":\"@@\\n-a\\n+b\"}",
                     "apply_patch_call",
                     "{\"operation\":{\"type\":\"update_file\",\"path\":\"a.c\","
                     "\"diff\":\"@@\\n-a\\n+b\"}}");
    expect_announced(&apply_patch_handler, "apply_patch",
                     "{\"operation\":{\"type\":\"delete_file\",\"path\":\"a.c\","
                     "\"diff\":\"x\"}}",
                     "apply_patch_call",
                     "{\"operation\":{\"type\":\"delete_file\",\"path\":\"a.c\"}}");
}

TEST(apply_patch_never_shows_an_incomplete_operation)
{
    expect_refused(&apply_patch_handler, "{\"type\":\"create_file\",\"path\":\"a\"}", "'diff'");
    expect_refused(&apply_patch_handler, "{\"type\":\"delete_file\"}", "'path'");
    expect_refused(&apply_patch_handler, "{\"path\":\"a\",\"diff\":\"\"}", "'type'");
    expect_refused(&apply_patch_handler, "", "not valid JSON");
}

TEST(computer_shows_its_actions)
{
    expect_announced(&computer_handler, "computer",
                     "{\"actions\":[{\"type\":\"click\",\"x\":1,\"y\":2,\"text\":null},"
                     "{\"type\":\"wait\",\"x\":1}]}",
                     "computer_call",
                     "{\"actions\":[{\"type\":\"click\",\"x\":1,\"y\":2,\"button\":\"left\"},"
                     "{\"type\":\"wait\"}],\"pending_safety_checks\":[]}");
    expect_announced(&computer_use_preview_handler, "computer_use_preview",
                     "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":2}]}", "computer_call",
                     "{\"action\":{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":2}]},"
                     "\"pending_safety_checks\":[]}");
}

TEST(computer_moves_nothing_unclear)
{
    expect_refused(&computer_handler, "{\"actions\":[{\"type\":\"click\",\"x\":1}]}",
                   "'click' needs a proper 'y'");
    expect_refused(&computer_handler, "{\"actions\":[{\"type\":\"fly\"}]}", "'type'");
    expect_refused(&computer_handler, "{\"actions\":[]}", "at least one");
    expect_refused(&computer_handler,
                   "{\"actions\":[{\"type\":\"wait\"},{\"type\":\"keypress\",\"keys\":[1]}]}",
                   "'keys'");
    expect_refused(&computer_use_preview_handler, "{\"action\":5}", "'type'");
}

TEST(tool_search_shows_the_query)
{
    expect_announced(&tool_search_handler, "tool_search", "{\"query\":\"mail\"}",
                     "tool_search_call",
                     "{\"execution\":\"client\",\"arguments\":{\"query\":\"mail\"}}");
    expect_announced(&tool_search_handler, "tool_search", "", "tool_search_call",
                     "{\"execution\":\"client\",\"arguments\":{}}");
    expect_refused(&tool_search_handler, "mail", "not valid JSON");
}

TEST(custom_describes_the_grammar_to_the_model)
{
    json_auto_t *entry =
        json_build("{s:s, s:{s:s, s:s, s:s}}", "description", "Adds.", "format", "type",
                   "grammar", "syntax", "lark", "definition", "start: INT");
    json_auto_t *described = custom_handler.init(&(struct tool_context){.entry = entry});

    assert_string_equal(json_get_string(described, "description", ""),
                        "Adds.\n\nThe input must match this grammar (lark):\nstart: INT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(function_calls_are_shown_as_they_are_written),
        cmocka_unit_test(custom_shows_the_input),
        cmocka_unit_test(custom_takes_unwrapped_arguments_as_the_input),
        cmocka_unit_test(definitions_bella_B1_calls_keep_their_name),
        cmocka_unit_test(local_shell_shows_the_action),
        cmocka_unit_test(local_shell_repairs_clear_mistakes),
        cmocka_unit_test(local_shell_runs_nothing_unclear),
        cmocka_unit_test(shell_shows_its_commands),
        cmocka_unit_test(shell_opens_without_commands),
        cmocka_unit_test(shell_runs_nothing_unclear),
        cmocka_unit_test(apply_patch_shows_the_operation),
        cmocka_unit_test(apply_patch_never_shows_an_incomplete_operation),
        cmocka_unit_test(computer_shows_its_actions),
        cmocka_unit_test(computer_moves_nothing_unclear),
        cmocka_unit_test(tool_search_shows_the_query),
        cmocka_unit_test(custom_describes_the_grammar_to_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
