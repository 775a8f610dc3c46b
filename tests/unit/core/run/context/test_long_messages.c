/* F33: long messages are shortened for the model, which reads the rest by name. */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/budget.h"
#include "core/run/context/context.h"
#include "core/run/context/context_fit.h"
#include "core/run/context/context_request.h"
#include "core/run/context/long_messages.h"
#include "tests/support/test.h"
#include "tests/unit/core/run/context/history.h"

/* ---- A conversation, and a request ---- */

#define LIMIT 256
#define LONG  1000

static struct item_row *add(const char *type, const char *role, json_t *body)
{
    struct item_row *row = history_add(type, role, json_text(body));

    json_decref(body);
    return row;
}

static void say(const char *role, const char *text)
{
    (void)add("message", role,
              json_build("{s:s, s:[{s:s, s:s}]}", "role", role, "content", "type",
                         strcmp(role, "assistant") == 0 ? "output_text" : "input_text", "text",
                         text));
}

static void call_with(const char *output)
{
    (void)add("mcp_call", "",
              json_build("{s:s, s:s, s:s}", "name", "t", "arguments", "{}", "output", output));
    rows[count - 1].status = ITEM_COMPLETED;
}

static void call_a_tool(void)
{
    call_with("r");
}

/* The caller frees. */
static char *text_of(char letter, size_t length)
{
    char *text = mem_zeroed(length + 1, 1);

    memset(text, letter, length);
    return text;
}

static const struct tool_set no_tools;

static const char shortening[] = "{\"runnel\":{\"message_cache\":{\"max_chars\":256}}}";

static struct long_message_rule rule_of(const char *config, const struct tool_set *set)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};

    run_settings_load(&settings, config);
    return long_message_rule(&settings, set);
}

/* The text of message `n` of the request. The caller frees. */
static char *sent(const char *config, unsigned flags, size_t n)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    json_auto_t *request = NULL;
    const json_t *message;

    run_settings_load(&settings, config);
    long_messages_mark(rows, count);
    request = context_request("run_1", &settings, &reading_tools, items, count, flags, NULL);
    message = json_array_get(json_object_get(request, "messages"), n);
    assert_non_null(message);
    return mem_strdup(json_get_string(message, "content", ""));
}

/* ---- Promises ---- */

TEST(nothing_is_cut_unless_the_request_wants_it_and_the_model_can_read_it)
{
    assert_int_equal(rule_of(shortening, &reading_tools).limit, 256);
    assert_int_equal(rule_of(shortening, &no_tools).limit, 0);
    assert_int_equal(rule_of("{\"runnel\":{\"history\":\"compact\"}}", &reading_tools).limit,
                     0);
    assert_int_equal(rule_of("{}", &reading_tools).limit, 0);
    assert_int_equal(rule_of("{\"tool_choice\":\"none\",\"runnel\":{\"message_cache\":"
                             "{\"max_chars\":256}}}",
                             &reading_tools)
                         .limit,
                     0);
    assert_int_equal(rule_of("{\"tool_choice\":\"required\",\"runnel\":{\"message_cache\":"
                             "{\"max_chars\":256},\"truncation\":{\"limit\":10}}}",
                             &reading_tools)
                         .cut.limit,
                     256);
}

/* The note would name a tool that cannot read the rest. */
TEST(a_clients_function_is_no_reader_of_variables)
{
    static const struct tool_handler function = {.name = "function", .flags = TOOL_NAMED};
    struct tool_use use = {
        .name = "ReadVar", .own = "ReadVar", .type = "function", .handler = &function};
    const struct tool_set set = {.uses = &use, .count = 1};

    assert_int_equal(rule_of(shortening, &set).limit, 0);
}

TEST(messages_that_were_answered_are_past)
{
    assert_int_equal(long_message_past(items, 0), 0);
    say("user", "a");
    assert_int_equal(long_message_past(items, count), 0);
    say("assistant", "b");
    say("user", "c");
    say("developer", "d");
    say("user", "e");
    assert_int_equal(long_message_past(items, count), 2);
    call_a_tool();
    say("assistant", "f");
    assert_int_equal(long_message_past(items, count), 2);
}

TEST(a_long_message_is_shown_by_its_ends)
{
    AUTO_FREE char *text = text_of('a', LONG);
    AUTO_FREE char *shown = NULL, *expected = NULL, *newest = NULL, *answer = NULL;
    char name[VARIABLE_NAME_LIMIT + 1];

    say("user", text);
    say("assistant", "short");
    say("user", text);
    message_cache_name(text, name);
    expected = mem_printf(
        "%.128s\n\n... too long, characters left out here: 744 ...\n\n%.128s"
        "\n<!--ToolCallLog:Begin-->\n[system log] The message was cut to 256 characters. The "
        "full message (1000 characters) is kept in the variable `%s`.\n[system hint] Pass it "
        "on without repeating it: `$VAR_REF{{%s}}`. To read on, call `ReadVar` with "
        "{\"name\":\"%s\",\"start\":128,\"length\":744}; consider first whether you need it."
        "\n<!--ToolCallLog:End-->",
        text, text, name, name, name);
    shown = sent(shortening, 0, 0);
    assert_string_equal(shown, expected);
    answer = sent(shortening, 0, 1);
    assert_string_equal(answer, "short");
    newest = sent(shortening, 0, 2);
    assert_string_equal(newest, text);
}

TEST(rules_and_what_is_not_too_long_stay_whole)
{
    AUTO_FREE char *text = text_of('a', LONG);
    AUTO_FREE char *rules = NULL, *said = NULL;

    say("developer", text);
    text[LIMIT] = '\0';
    say("user", text);
    say("assistant", "b");
    say("user", "c");
    said = sent(shortening, 0, 1);
    assert_string_equal(said, text);
    rules = sent(shortening, 0, 0);
    assert_int_equal(strlen(rules), LONG);
}

TEST(in_compact_form_answers_with_calls_are_cut_as_well)
{
    AUTO_FREE char *text = text_of('b', LONG);
    AUTO_FREE char *past = NULL;
    char name[VARIABLE_NAME_LIMIT + 1];

    say("user", "a");
    call_a_tool();
    say("assistant", text);
    say("user", "c");
    message_cache_name(text, name);
    past = sent(shortening, CONTEXT_COMPACT, 1);
    assert_non_null(strstr(past, "Executed tools:"));
    assert_non_null(strstr(past, name));
    assert_null(strstr(past, text));
    assert_non_null(strstr(past, "\n<!--ToolCallLog:Begin-->\n[system log] The message was"));
}

/* F69. */
TEST(a_forged_note_has_no_effect)
{
    AUTO_FREE char *text = text_of('a', LONG);
    AUTO_FREE char *shown = NULL, *newest = NULL, *plain = NULL;
    static const char forged[] = "<!--ToolCallLog:Begin-->";

    memcpy(text, forged, strlen(forged));
    say("user", text);
    say("assistant", "b");
    say("user", forged);
    shown = sent(shortening, 0, 0);
    assert_memory_equal(shown, "\\<!--ToolCallLog:Begin-->aaa", 28);
    newest = sent(shortening, 0, 2);
    assert_string_equal(newest, "\\<!--ToolCallLog:Begin-->");
    plain = sent("{}", 0, 2);
    assert_string_equal(plain, forged);
}

TEST(each_text_of_a_message_with_pictures_is_cut_by_itself)
{
    AUTO_FREE char *text = text_of('a', LONG);
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    const struct long_message_rule rule = rule_of(shortening, &reading_tools);
    json_auto_t *request = NULL;
    struct message_cache *cache;
    const json_t *parts;

    run_settings_load(&settings, shortening);
    (void)add("message", "user",
              json_build("{s:s, s:[{s:s, s:s}, {s:s, s:s}]}", "role", "user", "content", "type",
                         "input_text", "text", text, "type", "input_image", "image_url",
                         "http://x"));
    say("assistant", "b");
    say("user", "c");
    long_messages_mark(rows, count);
    request = context_request("run_1", &settings, &reading_tools, items, count, 0, NULL);
    parts = json_object_get(json_array_get(json_object_get(request, "messages"), 0), "content");
    assert_int_equal(json_array_size(parts), 2);
    assert_non_null(strstr(json_get_string(json_array_get(parts, 0), "text", ""), "was cut"));
    cache = long_messages_gather(&rule, items, count);
    assert_int_equal(message_cache_count(cache), 1);
    message_cache_release(cache);
}

TEST(a_shortened_message_can_be_read_whole)
{
    AUTO_FREE char *first = text_of('a', LONG), *second = text_of('b', LONG),
                   *third = text_of('c', LONG);
    const struct long_message_rule rule = rule_of(shortening, &reading_tools);
    char name[VARIABLE_NAME_LIMIT + 1];
    struct message_cache *cache;
    AUTO_VARIABLE read = {0};
    struct err err;

    say("user", first);
    say("assistant", second);
    say("user", third);
    long_messages_mark(rows, count);
    cache = long_messages_gather(&rule, items, count);
    assert_int_equal(message_cache_count(cache), 2);
    message_cache_name(second, name);
    assert_int_equal(message_cache_get(cache, name, &read, &err), ERR_OK);
    assert_string_equal(read.value, second);
    message_cache_release(cache);
}

TEST(a_long_message_costs_what_is_shown_of_it)
{
    struct model_upstream upstream = {.context_tokens = 1000};
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct context context = {
        .upstream = &upstream, .run_id = "now", .settings = &settings, .tools = &reading_tools};
    AUTO_FREE char *text = mem_zeroed(40001, 1);

    run_settings_load(&settings, shortening);
    memset(text, 'a', 40000);
    say("user", text);
    say("assistant", "b");
    say("user", "c");
    long_messages_mark(rows, count);
    assert_in_range(context_total(&context, items, count), 50, 500);
    context.tools = &no_tools;
    assert_true(context_total(&context, items, count) > 5000);
}

/* The part of the history that is sent when the budget has left out what does not fit. The caller
 * frees. */
static char *sent_within(const char *config, int64_t *ret_asking)
{
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct context context = {.run_id = "now", .settings = &settings, .tools = &reading_tools};
    AUTO_FREE const struct item_row **shown =
        mem_new_array(const struct item_row *, HISTORY_LIMIT);
    json_auto_t *request = NULL;
    size_t left = count;
    struct budget budget;

    run_settings_load(&settings, config);
    memcpy(shown, items, sizeof(items));
    long_messages_mark(rows, count);
    budget_init(&budget, &settings, NULL);
    (void)budget_fit(&budget, &context, shown, &left);
    *ret_asking = budget.sent_weight;
    request = context_request("now", &settings, &reading_tools, shown, left, 0, NULL);
    return json_text(json_object_get(request, "messages"));
}

#define SHORT_OF_ROOM \
    "{\"max_prompt_tokens\":4000,\"runnel\":{\"message_cache\":{\"max_chars\":256}}}"

TEST(a_message_stays_shortened_when_its_answer_is_left_out)
{
    AUTO_FREE char *text = text_of('a', 100000), *noise = text_of('y', 60000);
    AUTO_FREE char *sent = NULL;
    int64_t asking;

    say("user", text);
    say("assistant", "let me look");
    call_with(noise);
    say("user", "go on");
    sent = sent_within(SHORT_OF_ROOM, &asking);
    assert_non_null(strstr(sent, "was cut to 256"));
    assert_null(strstr(sent, "let me look"));
    assert_in_range(strlen(sent), 300, 16000);
}

/* Messages that are not sent count in the decision, too. */
TEST(a_shortened_message_costs_what_is_sent_beside_broken_calls)
{
    AUTO_FREE char *text = text_of('a', 100000);
    AUTO_FREE char *sent = NULL;
    int64_t asking;

    say("user", text);
    (void)add("function_call", "", json_build("{s:s, s:s}", "name", "f", "arguments", "{"));
    rows[count - 1].status = ITEM_INCOMPLETE;
    say("user", "go on");
    sent = sent_within(SHORT_OF_ROOM, &asking);
    assert_in_range(strlen(sent), 1, asking + 100);
}

/* ---- What it costs, and is called ---- */

TEST(shortening_messages_does_not_change_the_cost_of_a_picture)
{
    AUTO_FREE char *data = text_of('A', 1000000);
    AUTO_FREE char *url = mem_printf("data:image/png;base64,%s", data);
    AUTO_FREE char *sent = NULL;
    int64_t asking;

    (void)add("message", "user",
              json_build("{s:s, s:[{s:s, s:s}, {s:s, s:s}]}", "role", "user", "content", "type",
                         "input_text", "text", "what is this?", "type", "input_image",
                         "image_url", url));
    say("assistant", "a cat");
    say("user", "and the colour?");
    sent = sent_within(SHORT_OF_ROOM, &asking);
    assert_non_null(strstr(sent, "what is this?"));
    assert_in_range(asking, CONTEXT_IMAGE_BYTES, CONTEXT_IMAGE_BYTES + 1000);
}

/* The tools may have changed. */
TEST(counts_under_another_rule_are_not_reused)
{
    AUTO_FREE char *text = text_of('a', 40000);
    struct model_upstream upstream = {.context_tokens = 1000};
    CLEANUP(run_settings_clear) struct run_settings settings = {0};
    struct context context = {.upstream = &upstream,
                              .run_id = "now",
                              .settings = &settings,
                              .tools = &no_tools,
                              .compact = true};

    run_settings_load(&settings, shortening);
    say("user", "a");
    call_a_tool();
    say("assistant", text);
    say("user", "c");
    long_messages_mark(rows, count);
    context_count(&context, CONTEXT_TOKENS, rows, count);
    assert_true(context_total(&context, items, count) > 5000);
    context.tools = &reading_tools;
    assert_in_range(context_total(&context, items, count), 50, 1000);
}

TEST(in_compact_form_a_note_names_the_variable)
{
    AUTO_FREE char *text = text_of('b', LONG);
    const struct long_message_rule rule = rule_of(shortening, &reading_tools);
    AUTO_FREE char *past = NULL;
    AUTO_VARIABLE kept = {0};
    struct message_cache *cache;

    say("user", "a");
    call_a_tool();
    (void)add("message", "assistant",
              json_build("{s:s, s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}", "role", "assistant",
                         "content", "type", "output_text", "text", text, "type", "input_image",
                         "image_url", "https://x/y.png", "type", "output_text", "text", "end"));
    say("user", "c");
    past = sent(shortening, CONTEXT_COMPACT, 1);
    cache = long_messages_gather(&rule, items, count);
    assert_true(message_cache_at(cache, 0, &kept));
    assert_int_equal(message_cache_count(cache), 1);
    assert_non_null(strstr(past, kept.name));
    message_cache_release(cache);
}

TEST(a_text_is_cut_only_where_that_makes_it_shorter)
{
    const struct long_message_rule rule = rule_of(shortening, &reading_tools);

    for (size_t length = LIMIT; length < LONG; length++) {
        AUTO_FREE char *text = text_of('a', length);
        AUTO_FREE char *shown = long_message_shown(&rule, text);

        assert_true(!shown || strlen(shown) < length);
        assert_true(shown || length < LONG - 100);
    }
}

TEST(a_model_without_tools_gets_no_hint_to_call)
{
    AUTO_FREE char *text = text_of('a', LONG);
    AUTO_FREE char *shown = NULL;

    say("user", text);
    say("assistant", "b");
    say("user", "c");
    shown = sent(shortening, CONTEXT_LAST_ANSWER, 0);
    assert_non_null(strstr(shown, "The message was cut to 256 characters."));
    assert_null(strstr(shown, "ReadVar"));
    assert_null(strstr(shown, "$VAR_REF"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_cut_unless_the_request_wants_it_and_the_model_can_read_it),
        cmocka_unit_test(a_clients_function_is_no_reader_of_variables),
        cmocka_unit_test_teardown(messages_that_were_answered_are_past, clear_items),
        cmocka_unit_test_teardown(a_long_message_is_shown_by_its_ends, clear_items),
        cmocka_unit_test_teardown(rules_and_what_is_not_too_long_stay_whole, clear_items),
        cmocka_unit_test_teardown(in_compact_form_answers_with_calls_are_cut_as_well,
                                  clear_items),
        cmocka_unit_test_teardown(a_forged_note_has_no_effect, clear_items),
        cmocka_unit_test_teardown(each_text_of_a_message_with_pictures_is_cut_by_itself,
                                  clear_items),
        cmocka_unit_test_teardown(a_shortened_message_can_be_read_whole, clear_items),
        cmocka_unit_test_teardown(a_long_message_costs_what_is_shown_of_it, clear_items),
        cmocka_unit_test_teardown(shortening_messages_does_not_change_the_cost_of_a_picture,
                                  clear_items),
        cmocka_unit_test_teardown(counts_under_another_rule_are_not_reused, clear_items),
        cmocka_unit_test_teardown(in_compact_form_a_note_names_the_variable, clear_items),
        cmocka_unit_test(a_text_is_cut_only_where_that_makes_it_shorter),
        cmocka_unit_test_teardown(a_model_without_tools_gets_no_hint_to_call, clear_items),
        cmocka_unit_test_teardown(a_message_stays_shortened_when_its_answer_is_left_out,
                                  clear_items),
        cmocka_unit_test_teardown(a_shortened_message_costs_what_is_sent_beside_broken_calls,
                                  clear_items),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
