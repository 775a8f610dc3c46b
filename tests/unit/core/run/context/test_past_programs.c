#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/context.h"
#include "core/run/context/past_programs.h"
#include "core/tool/registry.h"
#include "handlers/handlers.h"
#include "tests/support/test.h"

#define ITEMS_LIMIT 16
#define CALLER      "\"caller\":{\"type\":\"program\",\"caller_id\":\"P\"}"

static struct item_row rows[ITEMS_LIMIT];
static size_t count;

static struct item_row *add(const char *type, const char *call_id, const char *body)
{
    struct item_row *row = &rows[count++];

    *row = (struct item_row){.status = ITEM_COMPLETED};
    (void)snprintf(row->id, sizeof(row->id), "item_%zu", count);
    item_row_set_type(row, type);
    (void)snprintf(row->call_id, sizeof(row->call_id), "%s", call_id);
    row->body = mem_strdup(body);
    return row;
}

static int forget(void **state)
{
    (void)state;
    while (count)
        item_row_clear(&rows[--count]);
    return 0;
}

/* A program with two calls: the client's, and one of the server whose id is in its notes. */
static void add_program(void)
{
    add("program", "P", "{\"code\":\"text(1)\"}");
    add("function_call", "a", "{\"name\":\"f\",\"arguments\":\"{}\"," CALLER "}");
    add("mcp_call", "",
        "{\"name\":\"g\",\"server_label\":\"s\",\"arguments\":\"{}\",\"output\":\"2\"," CALLER
        ",\"runnel\":{\"call_id\":\"b\"}}");
    add("function_call_output", "a", "{\"output\":[{\"type\":\"input_text\",\"text\":\"1\"}]}");
}

/* The call as text; NULL: it is not known. The caller frees. */
static char *known(const char *call_id)
{
    json_auto_t *places = past_program_places(rows, count);
    json_auto_t *call = past_program_call(rows, places, call_id);

    return call ? json_text(call) : NULL;
}

TEST(a_program_without_an_output_waits)
{
    assert_int_equal(past_programs_next(rows, count, 0), 0);
    add_program();
    assert_int_equal(past_programs_next(rows, count, 0), 0);
    assert_int_equal(past_programs_next(rows, count, 1), count);
    add("program_output", "P", "{\"result\":\"1\"}");
    assert_int_equal(past_programs_next(rows, count, 0), count);
}

/* The output of an earlier program with the same id is not this one's. */
TEST(an_output_is_that_of_the_program_before_it)
{
    add("program", "P", "{\"code\":\"\"}");
    add("program_output", "P", "{\"result\":\"1\"}");
    add("program", "P", "{\"code\":\"\"}");
    assert_int_equal(past_programs_next(rows, count, 0), 2);
}

TEST(a_cut_output_is_none)
{
    add_program();
    add("program_output", "P", "{}")->hidden = true;
    assert_int_equal(past_programs_next(rows, count, 0), 0);
}

TEST(calls_are_known_by_their_ids)
{
    AUTO_FREE char *a = NULL;
    AUTO_FREE char *b = NULL;

    add_program();
    a = known("a");
    b = known("b");
    assert_string_equal(
        a, "{\"name\":\"f\",\"arguments\":\"{}\",\"output\":\"1\",\"failed\":false}");
    assert_string_equal(
        b, "{\"name\":\"g\",\"arguments\":\"{}\",\"output\":\"2\",\"failed\":false,"
           "\"label\":\"s\"}");
    assert_null(known("c"));
}

TEST(a_call_without_an_output_is_not_known)
{
    add("function_call", "a", "{\"name\":\"f\",\"arguments\":\"{}\"," CALLER "}");
    assert_null(known("a"));
}

TEST(a_failed_call_says_so)
{
    AUTO_FREE char *text = NULL;

    add("mcp_call", "b", "{\"name\":\"g\",\"arguments\":\"\",\"error\":{\"message\":\"no\"}}")
        ->status = ITEM_FAILED;
    text = known("b");
    assert_string_equal(
        text, "{\"name\":\"g\",\"arguments\":\"{}\",\"output\":\"no\",\"failed\":true}");
}

TEST(a_model_reads_the_program_and_its_output_alone)
{
    const struct item_row *items[ITEMS_LIMIT];
    json_auto_t *messages = NULL;
    AUTO_FREE char *text = NULL;

    add_program();
    add("program_output", "P", "{\"result\":\"1\"}");
    for (size_t i = 0; i < count; i++)
        items[i] = &rows[i];
    messages = context_messages(NULL, items, count);
    text = json_text(messages);
    assert_string_equal(text, "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{"
                              "\"id\":\"P\",\"type\":\"function\","
                              "\"function\":{\"name\":\"program\",\"arguments\":\"{"
                              "\\\"code\\\":\\\"text(1)\\\"}\"}}]},"
                              "{\"role\":\"tool\",\"tool_call_id\":\"P\",\"content\":\"1\"}]");
}

static int set_registry(void **state)
{
    static const struct tool_handler *const all[] = {&function_handler, &program_handler, NULL};

    (void)state;
    tool_registry_set(all);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_program_without_an_output_waits, forget),
        cmocka_unit_test_teardown(an_output_is_that_of_the_program_before_it, forget),
        cmocka_unit_test_teardown(a_cut_output_is_none, forget),
        cmocka_unit_test_teardown(calls_are_known_by_their_ids, forget),
        cmocka_unit_test_teardown(a_call_without_an_output_is_not_known, forget),
        cmocka_unit_test_teardown(a_failed_call_says_so, forget),
        cmocka_unit_test_teardown(a_model_reads_the_program_and_its_output_alone, forget),
    };

    return cmocka_run_group_tests(tests, set_registry, NULL);
}
