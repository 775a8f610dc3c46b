#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/fakemodel/prompt.h"
#include "server/fakemodel/reply.h"
#include "server/fakemodel/rules.h"
#include "server/fakemodel/script.h"
#include "tests/support/test.h"

/* The answer of a script to POST /v1/responses. Its events are written without "response.", several
 * of a kind in a row as one; then how it ended. */

static struct script *parse(const char *text)
{
    struct script *script = NULL;
    struct err err = {0};

    if (script_parse(text, strlen(text), &script, &err))
        fail_msg("%s", err.text);
    return script;
}

/* All bytes of the answer, and how it ended. */
static char *answer(const char *script_text, const char *body, enum reply_part *ret_end)
{
    struct script *script = parse(script_text);
    json_auto_t *parsed = json_parse_own(body);
    json_auto_t *headers = json_object();
    struct buf out = {0};
    struct prompt prompt;
    struct script_rule *rule;
    struct reply *reply;
    int wait;

    prompt_init(&prompt, PROMPT_RESPONSES, parsed, headers, 7);
    rule = script_pick(script, &prompt);
    assert_non_null(rule);
    reply = reply_new(&rule->answer, &prompt);
    while ((*ret_end = reply_next(reply, &out, &wait)) == REPLY_PIECE)
        continue;
    reply_free(reply);
    prompt_clear(&prompt);
    script_free(script);
    return buf_take(&out);
}

static char *names(const char *script_text, const char *body)
{
    enum reply_part end;
    AUTO_FREE char *all = answer(script_text, body, &end);
    struct buf out = {0};
    char last[64] = "";
    int64_t number = 0;

    for (const char *line = all; (line = strstr(line, "event: ")); number++) {
        AUTO_FREE char *sequence = mem_printf("\"sequence_number\":%lld,", (long long)number);
        char name[64];

        line += strlen("event: ");
        assert_non_null(strstr(line, sequence));
        if (!strncmp(line, "response.", strlen("response.")))
            line += strlen("response.");
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, "\n"), line);
        if (strcmp(name, last) != 0)
            buf_addf(&out, "%s ", name);
        memcpy(last, name, sizeof(last));
    }
    buf_add_text(&out, end == REPLY_END ? "|end" : end == REPLY_CUT ? "|cut" : "|stall");
    return buf_take(&out);
}

#define ASK(more) "{\"model\":\"m\",\"stream\":true," more "}"
#define HELLO     ASK("\"input\":\"hello\"")

#define BEGIN   "created in_progress "
#define MESSAGE "output_item.added content_part.added "
#define TEXT    "output_text.delta output_text.done content_part.done output_item.done "

TEST(every_kind_of_answer_has_its_events)
{
    /* clang-format off */
    static const struct {
        const char *answer;
        const char *events;
    } cases[] = {
        {"text: a b", BEGIN MESSAGE TEXT "completed |end"},
        {"text: ''", BEGIN "completed |end"},
        {"refusal: no", BEGIN MESSAGE "refusal.delta refusal.done content_part.done output_item.done completed |end"},
        {"reasoning: hm", BEGIN MESSAGE "reasoning_text.delta reasoning_text.done content_part.done output_item.done completed |end"},
        {"summary: hm", BEGIN "output_item.added reasoning_summary_part.added reasoning_summary_text.delta "
         "reasoning_summary_text.done reasoning_summary_part.done output_item.done completed |end"},
        {"{encrypted_reasoning: x, text: a}", BEGIN "output_item.added output_item.done " MESSAGE TEXT "completed |end"},
        {"{text: a, annotations: [{type: url_citation}]}", BEGIN MESSAGE "output_text.delta "
         "output_text.annotation.added output_text.done content_part.done output_item.done completed |end"},
        {"tool_calls: [{name: f}, {name: g}]", BEGIN
         "output_item.added function_call_arguments.delta function_call_arguments.done output_item.done "
         "output_item.added function_call_arguments.delta function_call_arguments.done output_item.done completed |end"},
        {"{text: a, finish_reason: length}", BEGIN MESSAGE TEXT "incomplete |end"},
        {"{text: a, finish_reason: none}", BEGIN MESSAGE "output_text.delta |end"},
        {"{text: a b, fault: {kind: cut, after: 1}}", BEGIN MESSAGE "output_text.delta |cut"},
        {"{text: a b, fault: {kind: stall, after: 1}}", BEGIN MESSAGE "output_text.delta |stall"},
        {"{text: a b, fault: {kind: error, after: 1}}", BEGIN MESSAGE "output_text.delta error failed |end"},
        {"{text: a b, fault: {kind: no_end}}", BEGIN MESSAGE "output_text.delta |end"},
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *script =
            mem_printf("rules: [{answer: %s%s%s}]", cases[i].answer[0] == '{' ? "" : "{",
                       cases[i].answer, cases[i].answer[0] == '{' ? "" : "}");
        AUTO_FREE char *events = names(script, HELLO);

        assert_string_equal(events, cases[i].events);
    }
}

TEST(a_custom_tool_is_called_with_its_text)
{
    AUTO_FREE char *events =
        names("rules: [{answer: {tool_calls: [{name: sql, arguments: {input: select}}]}}]",
              ASK("\"input\":\"hi\",\"tools\":[{\"type\":\"custom\",\"name\":\"sql\"}]"));
    enum reply_part end;
    AUTO_FREE char *all = answer(
        "rules: [{answer: {tool_calls: [{name: sql, arguments: {input: select}}]}}]",
        ASK("\"input\":\"hi\",\"tools\":[{\"type\":\"custom\",\"name\":\"sql\"}]"), &end);

    assert_string_equal(events,
                        BEGIN "output_item.added custom_tool_call_input.delta "
                              "custom_tool_call_input.done output_item.done completed |end");
    assert_non_null(strstr(all, "\"input\":\"select\""));
}

TEST(input_items_are_matched_as_messages)
{
    static const char script[] =
        "rules: [{match: {tool_results: 1, tool_output: sunny, system: brief, tool: f, "
        "tool_choice: function, response_format: json_schema}, answer: {text: "
        "'{{tool_output}} {{sample_json}}'}}]";
    enum reply_part end;
    AUTO_FREE char *all = answer(
        script,
        "{\"model\":\"m\",\"instructions\":\"be brief\",\"tools\":[{\"type\":\"function\","
        "\"name\":\"f\"}],\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"},"
        "\"text\":{\"format\":{\"type\":\"json_schema\",\"schema\":{\"type\":\"integer\"}}},"
        "\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]},"
        "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"sunny\"}]}",
        &end);
    json_auto_t *whole = json_parse_own(all);
    const json_t *item = json_array_get(json_object_get(whole, "output"), 0);

    assert_int_equal(end, REPLY_END);
    assert_string_equal(json_get_string(whole, "status", ""), "completed");
    assert_string_equal(
        json_get_string(json_array_get(json_object_get(item, "content"), 0), "text", ""),
        "sunny 1");
    assert_true(json_get_int(json_object_get(whole, "usage"), "input_tokens", 0) > 0);
}

/* The model's answer for a schema. */
static char *sample_of(const char *schema)
{
    AUTO_FREE char *body = mem_printf("{\"model\":\"m\",\"input\":\"x\",\"text\":{\"format\":{"
                                      "\"type\":\"json_schema\",\"schema\":%s}}}",
                                      schema);
    enum reply_part end;
    AUTO_FREE char *all = answer("rules: [{answer: {text: '{{sample_json}}'}}]", body, &end);
    json_auto_t *whole = json_parse_own(all);
    const json_t *item = json_array_get(json_object_get(whole, "output"), 0);

    return mem_strdup(
        json_get_string(json_array_get(json_object_get(item, "content"), 0), "text", ""));
}

static void assert_sample(const char *schema, const char *expected)
{
    AUTO_FREE char *got = sample_of(schema);

    assert_string_equal(got, expected);
}

TEST(samples_follow_references)
{
    assert_sample(
        "{\"$defs\":{\"Step\":{\"type\":\"object\",\"properties\":{\"output\":{\"type\":"
        "\"string\"}},\"required\":[\"output\"]}},\"type\":\"object\",\"properties\":{"
        "\"steps\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/Step\"}},\"at\":{"
        "\"type\":\"string\",\"format\":\"date\"}},\"required\":[\"steps\",\"at\"]}",
        "{\"steps\":[{\"output\":\"example\"}],\"at\":\"2026-01-31\"}");
}

TEST(samples_keep_within_bounds)
{
    assert_sample("{\"type\":\"integer\",\"minimum\":7}", "7");
    assert_sample("{\"type\":\"integer\",\"exclusiveMinimum\":3}", "4");
    assert_sample("{\"type\":\"number\",\"exclusiveMinimum\":3.5}", "4.5");
    assert_sample("{\"type\":\"number\",\"maximum\":-2}", "-2");
    assert_sample("{\"type\":\"array\",\"minItems\":2,\"items\":{\"type\":\"boolean\"}}",
                  "[true,true]");
    assert_sample("{\"type\":\"array\",\"maxItems\":0,\"minItems\":-1}", "[]");
}

#define NODE(children)                                                                       \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"null\"},\"next\":" children "}," \
    "\"required\":[\"next\"]}"

TEST(samples_of_recursive_schemas_end)
{
    assert_sample(NODE("{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}"),
                  "{\"next\":[{\"next\":[{\"next\":[{\"next\":[]}]}]}]}");
    assert_sample(NODE("{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}"),
                  "{\"next\":{\"next\":{\"next\":{\"next\":null}}}}");
    assert_sample("{\"$ref\":\"#\"}", "null");
}

TEST(samples_have_a_size_limit)
{
    AUTO_BUF schema = {0};

    buf_add_text(&schema, "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"null\"}");
    for (int i = 0; i < 40; i++) {
        buf_add_text(&schema, ",\"");
        buf_add_int(&schema, i);
        buf_add_text(&schema, "\":{\"$ref\":\"#\"}");
    }
    buf_add_text(&schema, "},\"required\":[\"p\"");
    for (int i = 0; i < 40; i++) {
        buf_add_text(&schema, ",\"");
        buf_add_int(&schema, i);
        buf_add_char(&schema, '"');
    }
    buf_add_text(&schema, "]}");
    AUTO_FREE char *got = sample_of(schema.data);

    assert_in_range(strlen(got), 1000, 1000 * 40 * 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_answer_has_its_events),
        cmocka_unit_test(a_custom_tool_is_called_with_its_text),
        cmocka_unit_test(input_items_are_matched_as_messages),
        cmocka_unit_test(samples_follow_references),
        cmocka_unit_test(samples_keep_within_bounds),
        cmocka_unit_test(samples_of_recursive_schemas_end),
        cmocka_unit_test(samples_have_a_size_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
