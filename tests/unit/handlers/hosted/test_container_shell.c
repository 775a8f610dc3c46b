#include <string.h>

#include "core/base/utf8.h"
#include "tests/unit/handlers/code/boxed_run.h"

/* The shell in a real box. What clients see of it: tests/e2e/python/test_shell.py. */

static struct outcome run_shell(const char *args)
{
    return call_in_workspace(&container_shell_handler, args, false, test_box);
}

/* The entry of a command in the item. */
static json_t *entry_at(const struct outcome *outcome, size_t index)
{
    return json_array_get(json_object_get(outcome->end.result.data, "output"), index);
}

static void expect_entry(const struct outcome *outcome, size_t index, const char *output,
                         const char *outcome_type)
{
    const json_t *entry = entry_at(outcome, index);

    assert_string_equal(json_get_string(entry, "stdout", ""), output);
    assert_string_equal(json_get_string(json_object_get(entry, "outcome"), "type", ""),
                        outcome_type);
}

TEST(each_command_has_an_entry_and_an_end)
{
    AUTO_OUTCOME outcome = run_shell("{'commands':['echo a; echo b >&2','exit 7']}");
    const char *const names[] = {"in_progress", "delta", "delta", "done", "done"};

    assert_int_equal(outcome.end.rc, ERR_OK);
    assert_int_equal(outcome.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(outcome.said[i].name, names[i]);
    expect_entry(&outcome, 0, "a\n", "exit");
    assert_string_equal(json_get_string(entry_at(&outcome, 0), "stderr", ""), "b\n");
    assert_int_equal(
        json_get_int(json_object_get(entry_at(&outcome, 1), "outcome"), "exit_code", 0), 7);
    assert_non_null(outcome.end.result.files);
}

TEST(pieces_are_limited_and_the_item_has_head_and_tail)
{
    AUTO_OUTCOME outcome = run_shell(
        "{'commands':['yes x | head -c 3000000','echo next'],'max_output_length':10}");
    size_t most = 0;

    for (size_t i = 0; i < outcome.count; i++) {
        const json_t *delta = json_object_get(outcome.said[i].fields, "delta");
        size_t length = json_string_length(json_object_get(delta, "stdout"));

        most = length > most ? length : most;
    }
    assert_int_equal(most, 16 << 10);
    expect_entry(&outcome, 0, "x\nx\nx[… 2999990 characters omitted …]\nx\nx\n", "exit");
    expect_entry(&outcome, 1, "next\n", "exit");
}

TEST(output_that_begins_with_nul_is_shown)
{
    AUTO_OUTCOME outcome = run_shell("{'commands':['head -c 100000 /dev/zero; echo end']}");
    size_t shown = 0;

    for (size_t i = 0; i < outcome.count; i++) {
        const json_t *delta = json_object_get(outcome.said[i].fields, "delta");

        shown += json_string_length(json_object_get(delta, "stdout"));
    }
    assert_int_equal(shown, 100000 * strlen(UTF8_REPLACEMENT) + strlen("end\n"));
}

TEST(commands_share_the_time_of_their_call)
{
    run_seconds = 1;

    AUTO_OUTCOME outcome =
        run_shell("{'commands':['echo a; sleep 600','echo b'],'timeout_ms':600000}");

    run_seconds = 0;
    expect_entry(&outcome, 0, "a\n", "timeout");
    expect_entry(&outcome, 1, "", "timeout");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOXED(each_command_has_an_entry_and_an_end),
        BOXED(pieces_are_limited_and_the_item_has_head_and_tail),
        BOXED(output_that_begins_with_nul_is_shown),
        BOXED(commands_share_the_time_of_their_call),
    };

    return run_in_boxes(tests, COUNT_OF(tests), start_boxed, boxes_stop);
}
