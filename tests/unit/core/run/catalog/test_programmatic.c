#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/catalog/programmatic.h"
#include "core/run/catalog/tool_choice.h"
#include "core/tool/registry.h"
#include "handlers/handlers.h"
#include "tests/support/test.h"

static const char tools_text[] =
    "[{\"type\":\"programmatic_tool_calling\",\"allowed_callers\":[\"direct\",\"programmatic\"]"
    "},"
    " {\"type\":\"function\",\"name\":\"direct\"},"
    " {\"type\":\"function\",\"name\":\"only\",\"description\":\"Counts.\","
    "  \"parameters\":{\"type\":\"object\"},\"output_schema\":{\"type\":\"integer\"},"
    "  \"allowed_callers\":[\"programmatic\"]},"
    " {\"type\":\"custom\",\"name\":\"both\",\"allowed_callers\":[\"programmatic\",\"direct\"]}"
    "]";

static json_t *tools;
static struct run_settings settings;
static struct tool_set set;

static int make_set(void **state)
{
    static const struct tool_handler *const all[] = {&function_handler, &custom_handler,
                                                     &program_handler, NULL};
    struct err err;

    (void)state;
    tool_registry_set(all);
    tool_registry_lack(TOOL_NEEDS_SANDBOX, NULL);
    tool_registry_lack(TOOL_NEEDS_NODE, NULL);
    run_settings_load(&settings, NULL);
    tools = json_parse_own(tools_text);
    return tool_set_init(&set, tools, &settings, &err) == ERR_OK ? 0 : -1;
}

static int clear_set(void **state)
{
    (void)state;
    tool_set_clear(&set);
    run_settings_clear(&settings);
    json_decref(tools);
    return 0;
}

static bool offers(const char *name)
{
    return tool_choice_offers(&set, NULL, tool_set_find(&set, name));
}

TEST(the_model_calls_what_is_direct)
{
    assert_true(offers("direct"));
    assert_true(offers("both"));
    assert_true(offers("program"));
    assert_false(offers("only"));
}

TEST(programs_call_what_is_programmatic_and_no_programs)
{
    json_auto_t *list = tool_set_programmatic(&set, NULL);
    AUTO_FREE char *text = json_text(list);

    assert_string_equal(text, "[[\"only\",false],[\"both\",true]]");
    assert_null(tool_set_find_programmatic(&set, NULL, "direct"));
    assert_null(tool_set_find_programmatic(&set, NULL, "program"));
    assert_null(tool_set_find_programmatic(&set, NULL, "missing"));
    assert_non_null(tool_set_find_programmatic(&set, NULL, "only"));
    assert_ptr_equal(tool_set_find_program(&set), tool_set_find(&set, "program"));
}

TEST(the_model_reads_what_programs_may_call)
{
    json_auto_t *offered = tool_set_offer(&set, NULL);
    const json_t *function = json_object_get(json_array_get(offered, 0), "function");
    const char *text = json_get_string(function, "description", "");
    const char *list = strstr(text, "A program may call:");

    assert_int_equal(json_array_size(offered), 3);
    assert_string_equal(json_get_string(function, "name", ""), "program");
    assert_non_null(list);
    assert_non_null(strstr(list,
                           "\n\ntools[\"only\"]: Counts.\n  Arguments: {\"type\":\"object\"}\n"
                           "  Output: {\"type\":\"integer\"}\n\ntools[\"both\"]"));
    assert_null(strstr(list, "direct"));
}

TEST(what_a_choice_does_not_allow_no_program_calls)
{
    json_auto_t *choice =
        json_parse_own("{\"type\":\"allowed_tools\",\"mode\":\"auto\","
                       "\"tools\":[{\"type\":\"programmatic_tool_calling\"}]}");
    json_auto_t *list = tool_set_programmatic(&set, choice);
    json_auto_t *offered = tool_set_offer(&set, choice);
    AUTO_FREE char *text = json_text(list);
    AUTO_FREE char *read = json_text(offered);

    assert_string_equal(text, "[[\"only\",false]]");
    assert_null(tool_set_find_programmatic(&set, choice, "both"));
    assert_non_null(tool_set_find_programmatic(&set, choice, "only"));
    assert_non_null(strstr(read, "tools[\\\"only\\\"]"));
    assert_null(strstr(read, "tools[\\\"both\\\"]"));
}

TEST(a_tool_of_programs_cannot_be_chosen)
{
    json_auto_t *only = json_parse_own("{\"type\":\"function\",\"name\":\"only\"}");
    json_auto_t *program = json_parse_own("{\"type\":\"programmatic_tool_calling\"}");
    struct err err;

    assert_int_equal(tool_choice_check(&set, only, &err), ERR_INVALID);
    assert_string_equal(err.text, "Tool choice 'only' not found in 'tools' parameter.");
    assert_int_equal(tool_choice_check(&set, program, &err), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_calls_what_is_direct),
        cmocka_unit_test(programs_call_what_is_programmatic_and_no_programs),
        cmocka_unit_test(the_model_reads_what_programs_may_call),
        cmocka_unit_test(what_a_choice_does_not_allow_no_program_calls),
        cmocka_unit_test(a_tool_of_programs_cannot_be_chosen),
    };

    return cmocka_run_group_tests(tests, make_set, clear_set);
}
