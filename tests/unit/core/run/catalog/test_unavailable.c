#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/catalog/tool_set.h"
#include "core/run/catalog/unavailable.h"
#include "core/tool/registry.h"
#include "handlers/handlers.h"
#include "tests/support/caught_stderr.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

/* This server has two types of tools. Nothing executes the type `hosted`. */
static const struct tool_handler *const all[] = {&function_handler, &shell_handler, NULL};

static const char *const mixed =
    "{'tools':[{'type':'function','name':'f'}, {'type':'hosted'},"
    "{'type':'shell','environment':{'type':'container_auto'}}, {'type':'shell'}]}";

static int set_up(void **state)
{
    (void)state;
    tool_registry_set(all);
    unavailable_tools_set(UNAVAILABLE_SKIP);
    return 0;
}

static void read_request(struct run_settings *ret_settings, const char *request)
{
    run_settings_read(ret_settings, quoted_json(request));
}

TEST(what_nothing_executes_is_left_out_of_the_set)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct tool_set set;

    read_request(&settings, mixed);
    assert_int_equal(unavailable_tools_check(&settings, settings.tools, NULL), ERR_OK);
    assert_int_equal(tool_set_init(&set, settings.tools, &settings, NULL), ERR_OK);
    assert_int_equal(set.count, 2);
    assert_string_equal(set.uses[0].name, "f");
    assert_string_equal(set.uses[1].name, "shell");
    tool_set_clear(&set);
}

TEST(what_was_left_out_is_noted_in_the_snapshot)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    CLEANUP(run_settings_clear) struct run_settings loaded = {0};
    AUTO_FREE char *stored = NULL;
    AUTO_FREE char *log = NULL;
    const json_t *list;

    read_request(&settings, mixed);
    stderr_begin();
    unavailable_tools_note(&settings, 0);
    log = stderr_end();
    stored = run_settings_store(&settings);
    run_settings_load(&loaded, stored);
    list = run_settings_unavailable(loaded.snapshot);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_get_string(json_array_get(list, 0), "type", ""), "hosted");
    assert_string_equal(json_get_string(json_array_get(list, 1), "type", ""), "shell");
    assert_string_equal(json_get_string(json_array_get(list, 1), "reason", ""),
                        unavailable_reason(NULL, json_array_get(settings.tools, 2)));
}

TEST(a_request_that_lacks_nothing_has_no_note)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};

    read_request(&settings, "{'tools':[{'type':'function','name':'f'}, {'type':'namespace'}]}");
    unavailable_tools_note(&settings, 0);
    assert_null(run_settings_unavailable(settings.snapshot));
}

TEST(a_client_cannot_write_the_note)
{
    json_auto_t *request = quoted_json("{'unavailable_tools':[{'type':'x','reason':'y'}]}");

    run_settings_drop_own(request);
    assert_null(run_settings_unavailable(request));
}

TEST(reject_refuses_the_first_of_them)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct err err = {0};

    read_request(&settings, mixed);
    unavailable_tools_set(UNAVAILABLE_REJECT);
    assert_int_equal(unavailable_tools_check(&settings, settings.tools, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_UNSUPPORTED);
    assert_string_equal(err.place, "tools[1]");
    assert_string_equal(err.text,
                        "Unsupported value: the tool 'hosted' is not available on this server: "
                        "this version does not execute it.");
    unavailable_tools_note(&settings, 0);
    assert_null(run_settings_unavailable(settings.snapshot));
    assert_int_equal(unavailable_tools_check(NULL, NULL, NULL), ERR_OK);
}

/* "" if the choice can be met, else the member that the refusal names. */
static void assert_refused_at(const char *tools, const char *choice, const char *place)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    AUTO_FREE char *request = mem_printf("{'tools':%s,'tool_choice':%s}", tools, choice);
    struct tool_set set;
    struct err err = {0};

    read_request(&settings, request);
    assert_int_equal(tool_set_init(&set, settings.tools, &settings, NULL), ERR_OK);
    assert_int_equal(tool_choice_check(&set, settings.tool_choice, &err),
                     *place ? ERR_INVALID : ERR_OK);
    assert_string_equal(err.place, place);
    tool_set_clear(&set);
}

TEST(a_choice_that_needs_one_is_refused)
{
    const char *both = "[{'type':'function','name':'f'}, {'type':'hosted'}]";
    const char *alone = "[{'type':'hosted'}]";
    const char *f = "{'type':'function','name':'f'}";
    AUTO_FREE char *either =
        mem_printf("{'type':'allowed_tools','mode':'auto','tools':[{'type':'hosted'}, %s]}", f);
    const char *only = "{'type':'allowed_tools','mode':'auto','tools':[{'type':'hosted'}]}";

    assert_refused_at(both, "{'type':'hosted'}", "tools[1]");
    assert_refused_at(alone, "'required'", "tools[0]");
    assert_refused_at(both, only, "tools[1]");
    assert_refused_at(alone, either, "tool_choice"); /* f is missing */
    assert_refused_at(both, "'required'", "");
    assert_refused_at(both, either, "");
    assert_refused_at(both, f, "");
    assert_refused_at(alone, "'none'", "");
    assert_refused_at(alone, "'auto'", "");
}

static bool warns(struct run_settings *settings, uint64_t now)
{
    AUTO_FREE char *log = NULL;

    stderr_begin();
    unavailable_tools_note(settings, now);
    log = stderr_end();
    return strstr(log, "'hosted'") != NULL;
}

TEST(the_operator_is_warned_once_a_minute)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    uint64_t hour = 3600 * NS_PER_SECOND;

    read_request(&settings, mixed);
    assert_true(warns(&settings, hour));
    assert_false(warns(&settings, hour));
    assert_false(warns(&settings, hour + 60 * NS_PER_SECOND - 1));
    assert_true(warns(&settings, hour + 60 * NS_PER_SECOND));
    assert_false(warns(&settings, hour + 60 * NS_PER_SECOND));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_nothing_executes_is_left_out_of_the_set, set_up),
        cmocka_unit_test_setup(what_was_left_out_is_noted_in_the_snapshot, set_up),
        cmocka_unit_test_setup(a_request_that_lacks_nothing_has_no_note, set_up),
        cmocka_unit_test_setup(a_client_cannot_write_the_note, set_up),
        cmocka_unit_test_setup(reject_refuses_the_first_of_them, set_up),
        cmocka_unit_test_setup(a_choice_that_needs_one_is_refused, set_up),
        cmocka_unit_test_setup(the_operator_is_warned_once_a_minute, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
