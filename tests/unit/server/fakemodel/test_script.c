#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/fakemodel/prompt.h"
#include "server/fakemodel/reply.h"
#include "server/fakemodel/rules.h"
#include "server/fakemodel/script.h"
#include "tests/support/test.h"

/* ---- helpers ---- */

static struct script *parse(const char *text)
{
    struct script *script = NULL;
    struct err err = {0};

    if (script_parse(text, strlen(text), &script, &err))
        fail_msg("%s", err.text);
    return script;
}

static void refused(const char *text, const char *why)
{
    struct script *script = NULL;
    struct err err = {0};

    assert_int_equal(script_parse(text, strlen(text), &script, &err), ERR_INVALID);
    assert_string_equal(err.text, why);
    assert_null(script);
}

/* A request, and the script's answer. */
struct talk {
    json_t *body;
    json_t *headers;
    struct prompt prompt;
};

static void ask(struct talk *talk, const char *body, const char *headers)
{
    talk->body = json_parse_own(body);
    talk->headers = json_parse_own(headers);
    prompt_init(&talk->prompt, PROMPT_CHAT, talk->body, talk->headers, 7);
}

static void forget(struct talk *talk)
{
    prompt_clear(&talk->prompt);
    json_decref(talk->body);
    json_decref(talk->headers);
}

static const char *picked_with(struct script *script, const char *body, const char *headers)
{
    struct talk talk;
    struct script_rule *rule;

    ask(&talk, body, headers);
    rule = script_pick(script, &talk.prompt);
    forget(&talk);
    return rule ? rule->name : "(none)";
}

static const char *picked(struct script *script, const char *body)
{
    return picked_with(script, body, "{}");
}

static void picks(const char *match, const char *body, const char *expected)
{
    AUTO_FREE char *text = mem_printf("rules: [{name: 'yes', match: %s}, {name: 'no'}]", match);
    struct script *script = parse(text);

    assert_string_equal(picked(script, body), expected);
    script_free(script);
}

/* Everything that a script answers, byte for byte but for id and created, which become I and 0;
 * then "|" and how it ended. The sum of the waits goes to *ret_waited. */
static char *answer_timed(const char *script_text, const char *body, int *ret_waited)
{
    struct script *script = parse(script_text);
    struct buf out = {0};
    struct buf clean = {0};
    struct talk talk;
    struct reply *reply;
    enum reply_part part;
    int wait;

    ask(&talk, body, "{}");
    reply = reply_new(&script_pick(script, &talk.prompt)->answer, &talk.prompt);
    *ret_waited = 0;
    while ((part = reply_next(reply, &out, &wait)) == REPLY_PIECE)
        *ret_waited += wait;
    for (const char *c = out.data; out.length && *c;) {
        const char *created = "\"created\":";
        if (!strncmp(c, "chatcmpl-", 9)) {
            buf_add_char(&clean, 'I');
            c += strcspn(c, "\"");
        } else if (!strncmp(c, created, strlen(created))) {
            buf_add_text(&clean, "\"created\":0");
            c += strcspn(c, ",");
        } else {
            buf_add_char(&clean, *c++);
        }
    }
    buf_add_text(&clean, part == REPLY_END ? "|end" : part == REPLY_CUT ? "|cut" : "|stall");

    reply_free(reply);
    forget(&talk);
    script_free(script);
    buf_clear(&out);
    return buf_take(&clean);
}

static char *answer(const char *script_text, const char *body)
{
    int waited;

    return answer_timed(script_text, body, &waited);
}

/* The deltas of a stream, one per line; after them, the end. */
static char *deltas(const char *answer_text, const char *body)
{
    AUTO_FREE char *script = mem_printf("rules: [{answer: %s}]", answer_text);
    AUTO_FREE char *bytes = answer(script, body);
    struct buf list = {0};
    const char *mark = "\"delta\":";
    const char *at = bytes;

    while ((at = strstr(at, mark))) {
        const char *end = strstr(at, ",\"finish_reason\":");
        at += strlen(mark);
        buf_add(&list, at, (size_t)(end - at));
        buf_add_char(&list, '\n');
    }
    buf_add_text(&list, strchr(bytes, '|'));
    return buf_take(&list);
}

static void streams(const char *answer_text, const char *expected)
{
    AUTO_FREE char *got =
        deltas(answer_text, "{\"model\":\"m\",\"stream\":true,\"messages\":[]}");

    assert_string_equal(got, expected);
}

#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define TOOL(text) "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"" text "\"}"
#define CHAT(list) "{\"model\":\"gpt-x\",\"messages\":[" list "]}"
#define STREAM     "{\"model\":\"m\",\"stream\":true,\"messages\":[]}"
#define ROLE       "{\"role\":\"assistant\",\"content\":\"\"}\n"
#define WEATHER                                                                              \
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"parameters\":{"  \
    "\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":" \
    "\"integer\",\"minimum\":2},\"unit\":{\"enum\":[\"C\",\"F\"]},\"extra\":{\"type\":"      \
    "\"string\"}},\"required\":[\"city\",\"days\",\"unit\"]}}}]"

/* ---- reading ---- */

TEST(unknown_keys_are_refused_with_path_and_line)
{
    refused("rules:\n- match:\n    usr: x\n",
            "rules[0].match.usr: unknown key; there are user, system, tool_output, model, "
            "path, tools, "
            "tool, tool_choice, response_format, tool_results, stream, headers (line 3)");
    refused("rulez: []",
            "rulez: unknown key; there are models, api_key, defaults, rules (line 1)");
}

TEST(wrong_values_are_refused_with_path_and_line)
{
    refused("models: [a]", "script: there must be rules (line 1)");
    refused("", "the script is empty");
    refused("rules: [}", "script: not YAML: did not find expected node content (line 1)");
    refused("rules: {}", "rules: expected a list (line 1)");
    refused("rules: [{times: 0}]",
            "rules[0].times: expected a number from 1 to 1000000 (line 1)");
    refused("rules: [{answer: {split: 0}}]",
            "rules[0].answer.split: expected word, whole or a number of characters (line 1)");
    refused("rules: [{answer: {dialect: [crlf, lf]}}]",
            "rules[0].answer.dialect[1]: expected one of crlf, multi_line, no_space, no_done, "
            "no_role, comments (line 1)");
    refused("rules: [{answer: {fault: {after: 1}}}]",
            "rules[0].answer.fault: a fault needs its kind (line 1)");
    refused("rules: [{answer: {tool_calls: [{id: a}]}}]",
            "rules[0].answer.tool_calls[0]: a tool call needs a name (line 1)");
    refused("rules: [{match: {user: {contains: a, equals: b}}}]",
            "rules[0].match.user: expected either contains or equals (line 1)");
    refused("rules: [{name: a, name: b}]", "rules[0].name: stands here twice (line 1)");
    refused("rules: [{answer: {usage: some}}]",
            "rules[0].answer.usage: expected auto, none or the numbers (line 1)");
}

TEST(endless_aliases_are_refused)
{
    struct buf text = {0};
    struct script *script = NULL;

    buf_add_text(&text, "rules:\n- answer:\n    usage:\n      a0: &a0 {x: 1}\n");
    for (int i = 1; i < 12; i++)
        buf_addf(&text, "      a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1,
                 i - 1, i - 1, i - 1, i - 1);
    assert_int_equal(script_parse(text.data, text.length, &script, NULL), ERR_TOO_LARGE);
    buf_clear(&text);
    refused("rules: [{answer: {usage: &a {b: *a}}}]",
            "rules[0].answer.usage: nested deeper than 32 (line 1)");
}

TEST(the_demo_is_a_script)
{
    struct script *script = script_demo();

    assert_string_equal(script->models.items[0], "demo");
    assert_string_equal(picked(script, CHAT(USER("so"))), "echo");
    assert_string_equal(
        picked(script, "{" WEATHER ",\"messages\":[" USER("Use the tool!") "]}"),
        "tool asked for");
    assert_string_equal(picked(script, CHAT(USER("Use the tool!"))), "no tool to use");
    assert_string_equal(
        picked(script, "{\"tools\":[{\"type\":\"function\",\"function\":{"
                       "\"name\":\"python\"}}],\"messages\":[" USER("use python: 1") "]}"),
        "code to run");
    assert_string_equal(picked(script, CHAT(USER("use the tool") "," TOOL("42"))),
                        "tool answered");
    script_free(script);
}

TEST(defaults_reach_every_rule)
{
    struct script *script = parse(
        "{rules: [{answer: {text: a}}, {answer: {delay_ms: 5}}, {}], defaults: {delay_ms: 9}}");

    assert_int_equal(script->rules[0].answer.delay_ms, 9);
    assert_int_equal(script->rules[1].answer.delay_ms, 5);
    assert_int_equal(script->rules[2].answer.delay_ms, 9);
    script_free(script);
}

/* ---- matching ---- */

TEST(user_text_matches_the_last_user_message)
{
    picks("{user: sun}", CHAT(USER("The SUN")), "yes");
    picks("{user: sun}", CHAT(USER("sun") "," USER("moon")), "no");
    picks("{user: [rain, sun]}", CHAT(USER("sun")), "yes");
    picks("{user: {equals: sun}}", CHAT(USER("sunny")), "no");
    picks("{user: {equals: sun}}", CHAT(USER("sun")), "yes");
    picks("{user: two parts}",
          CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"two \"},"
               "{\"type\":\"image_url\"},{\"type\":\"text\",\"text\":\"parts\"}]}"),
          "yes");
}

TEST(other_parts_of_a_request_match)
{
    picks("{system: brief}", CHAT("{\"role\":\"developer\",\"content\":\"be brief\"}"), "yes");
    picks("{system: brief}", CHAT(USER("brief")), "no");
    picks("{model: gpt-x}", CHAT(""), "yes");
    picks("{model: [a, gpt-*]}", CHAT(""), "yes");
    picks("{model: [a, gpt]}", CHAT(""), "no");
    picks("{stream: true}", STREAM, "yes");
    picks("{stream: false}", STREAM, "no");
    picks("{stream: false}", CHAT(""), "yes");
    picks("{tools: true}", "{" WEATHER "}", "yes");
    picks("{tools: true}", CHAT(""), "no");
    picks("{tool: [sun, weather]}", "{" WEATHER "}", "yes");
    picks("{tool: sun}", "{" WEATHER "}", "no");
    picks(
        "{tool_choice: function}",
        "{\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"weather\"}}," WEATHER
        "}",
        "yes");
    picks("{tool_choice: auto}", CHAT(""), "yes");
    picks("{response_format: json_object}", "{\"response_format\":{\"type\":\"json_object\"}}",
          "yes");
    picks("{response_format: json_object}", CHAT(""), "no");
}

TEST(tool_results_are_counted_since_the_last_user_message)
{
    picks("{tool_results: true}", CHAT(TOOL("1") "," USER("a")), "no");
    picks("{tool_results: true}", CHAT(USER("a") "," TOOL("1")), "yes");
    picks("{tool_results: false}", CHAT(USER("a") "," TOOL("1")), "no");
    picks("{tool_results: 2}", CHAT(USER("a") "," TOOL("1") "," TOOL("2")), "yes");
    picks("{tool_results: {min: 3}}", CHAT(USER("a") "," TOOL("1") "," TOOL("2")), "no");
    picks("{tool_results: {max: 2}}", CHAT(USER("a") "," TOOL("1") "," TOOL("2")), "yes");
    picks("{tool_output: two}", CHAT(TOOL("one") "," TOOL("two")), "yes");
    picks("{tool_output: one}", CHAT(TOOL("one") "," TOOL("two")), "no");
}

TEST(headers_match_without_regard_to_case)
{
    struct script *script = parse("rules: [{name: 'yes', match: {headers: {X-Team: blue}}}]");

    assert_string_equal(picked_with(script, "{}", "{\"x-team\":\"Blue\"}"), "yes");
    assert_string_equal(picked_with(script, "{}", "{\"x-team\":\"red\"}"), "(none)");
    assert_string_equal(picked_with(script, "{}", "{}"), "(none)");
    script_free(script);
}

TEST(rules_count_their_turns)
{
    struct script *script =
        parse("rules: [{name: a, skip: 1, times: 2}, {name: b, times: 1}, {name: c}]");
    const char *expected[] = {"b", "a", "a", "c", "c"};

    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_string_equal(picked(script, "{}"), expected[i]);
    script_free(script);
}

/* ---- answering ---- */

TEST(a_stream_is_role_words_finish_and_done)
{
    AUTO_FREE char *got = answer("rules: [{answer: {text: Hi you}}]", STREAM);

    assert_string_equal(
        got,
        "data: "
        "{\"id\":\"I\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\","
        "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
        "\"finish_reason\":null}]}\n\n"
        "data: "
        "{\"id\":\"I\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\","
        "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n"
        "data: "
        "{\"id\":\"I\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\","
        "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" "
        "you\"},\"finish_reason\":null}]}\n\n"
        "data: "
        "{\"id\":\"I\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\","
        "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
        "data: [DONE]\n\n|end");
}

TEST(a_json_answer_has_the_whole_text)
{
    AUTO_FREE char *got =
        answer("rules: [{answer: {text: a, repeat: 3, reasoning: hm, refusal: no}}]",
               CHAT(USER("one two")));

    assert_string_equal(
        got,
        "{\"id\":\"I\",\"object\":\"chat.completion\",\"created\":0,\"model\":\"gpt-x\","
        "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"aaa\","
        "\"reasoning_content\":\"hm\",\"refusal\":\"no\"},\"finish_reason\":\"stop\"}],"
        "\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":5,\"total_tokens\":7}}|end");
}

TEST(texts_are_split_as_the_script_says)
{
    streams("{text: \"a  b\\nc\"}", ROLE "{\"content\":\"a\"}\n{\"content\":\"  b\"}\n"
                                         "{\"content\":\"\\nc\"}\n{}\n|end");
    streams("{text: äöüx, split: 2}",
            ROLE "{\"content\":\"äö\"}\n{\"content\":\"üx\"}\n{}\n|end");
    streams("{text: a b, split: whole}", ROLE "{\"content\":\"a b\"}\n{}\n|end");
    streams("{text: [a b, '', c]}",
            ROLE "{\"content\":\"a b\"}\n{\"content\":\"\"}\n{\"content\":\"c\"}\n{}\n|end");
    streams("{text: a b, repeat: 2, reasoning: r, reasoning_field: reasoning, refusal: z}",
            ROLE "{\"reasoning\":\"r\"}\n{\"content\":\"a\"}\n{\"content\":\" b\"}\n"
                 "{\"content\":\"a\"}\n{\"content\":\" b\"}\n{\"refusal\":\"z\"}\n{}\n|end");
}

TEST(a_stream_may_be_written_out_in_the_script)
{
    AUTO_FREE char *whole = answer(
        "rules: [{answer: {events: ['{\"a\": \"\\ud83d {{model}}\"}', 7], text: ignored}}]",
        CHAT(USER("one")));
    AUTO_FREE char *broken = answer("rules: [{answer: {events: [a, b, c], dialect: [no_space], "
                                    "fault: {kind: cut, after: 2}}}]",
                                    STREAM);
    AUTO_FREE char *endless =
        answer("rules: [{answer: {events: [a], fault: {kind: no_end}}}]", STREAM);

    assert_string_equal(
        whole, "data: {\"a\": \"\\ud83d {{model}}\"}\n\ndata: 7\n\ndata: [DONE]\n\n|end");
    assert_string_equal(broken, "data:a\n\ndata:b\n\n|cut");
    assert_string_equal(endless, "data: a\n\n|end");
}

TEST(tool_calls_come_in_every_dialect)
{
    streams(
        "{tool_calls: [{name: f, id: c1, arguments: {k: abcdef}}]}", ROLE
        "{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\","
        "\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}\n"
        "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"k\\\":\\\"ab\"}}]}\n"
        "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"cdef\\\"}\"}}]}\n"
        "{}\n|end");
    streams(
        "{tool_calls: [{name: f, id: c1, arguments: '{ raw', split: whole, send_index: never},"
        " {name: g, id: c2, arguments: {a: [1, true, null, 1.5, '1']}, arguments_as: object}]}",
        ROLE "{\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\","
             "\"function\":{\"name\":\"f\",\"arguments\":\"{ raw\"}}]}\n"
             "{\"tool_calls\":[{\"index\":1,\"id\":\"c2\",\"type\":\"function\","
             "\"function\":{\"name\":\"g\",\"arguments\":{\"a\":[1,true,null,1.5,\"1\"]}}}]}\n"
             "{}\n|end");
    streams(
        "{tool_calls: [{name: f, send_id: never, send_name: every, arguments: xy, split: 2}]}",
        ROLE
        "{\"tool_calls\":[{\"index\":0,\"type\":\"function\","
        "\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}\n"
        "{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"xy\"}}]}\n"
        "{}\n|end");
    streams(
        "{tool_calls: [{name: f, id: r, send_id: every, arguments: xy, split: 2}]}", ROLE
        "{\"tool_calls\":[{\"index\":0,\"id\":\"r\",\"type\":\"function\","
        "\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}\n"
        "{\"tool_calls\":[{\"index\":0,\"id\":\"r\",\"function\":{\"arguments\":\"xy\"}}]}\n"
        "{}\n|end");
}

TEST(templates_are_filled_in)
{
    AUTO_FREE char *got = deltas(
        "{split: whole, text: '{{last_user}}/{{system}}/{{model}}/{{request}}/{{tool_output}}/"
        "{{tool_outputs}}/{{tool_name}}/{{sample_arguments}}/{{other}}'}",
        "{\"model\":\"m\",\"stream\":true," WEATHER ",\"messages\":["
        "{\"role\":\"system\",\"content\":\"s\"}," TOOL("old") "," USER("u") "," TOOL(
            "1") "," TOOL("2") "]}");

    assert_string_equal(got, ROLE
                        "{\"content\":\"u/s/m/7/2/1, 2/weather/{\\\"city\\\":\\\"example\\\","
                        "\\\"days\\\":2,\\\"unit\\\":\\\"C\\\"}/{{other}}\"}\n{}\n|end");
}

static void expect_code(const char *user, const char *code)
{
    AUTO_FREE char *request = mem_printf("{\"stream\":true,\"messages\":[{\"role\":\"user\","
                                         "\"content\":\"%s\"}]}",
                                         user);
    AUTO_FREE char *got = deltas("{split: whole, text: '[{{code}}]'}", request);
    AUTO_FREE char *expected = mem_printf(ROLE "{\"content\":\"[%s]\"}\n{}\n|end", code);

    assert_string_equal(got, expected);
}

TEST(code_stands_behind_its_word_with_or_without_a_fence)
{
    expect_code("Use python: 1 + 1", "1 + 1");
    expect_code("Please, use python:\\nx = 1\\nx", "x = 1\\nx");
    expect_code("use python:\\n```python\\nx = 2\\n```\\nThanks.", "x = 2\\n");
    expect_code("use shell: ls", "ls");
    expect_code("use program: text(1);", "text(1);");
    expect_code("1 + 1", "1 + 1");
}

TEST(templates_do_not_break_json_arguments)
{
    AUTO_FREE char *got = deltas(
        "{tool_calls: [{name: f, id: c, arguments: {q: '{{last_user}}'}, split: whole}]}",
        "{\"stream\":true,\"messages\":[" USER("say \\\"hi\\\"") "]}");

    assert_non_null(
        strstr(got, "\"arguments\":\"{\\\"q\\\":\\\"say \\\\\\\"hi\\\\\\\"\\\"}\""));
}

TEST(usage_is_sent_where_the_script_says)
{
    const char *own =
        "{\"stream\":true,\"stream_options\":{\"include_usage\":true},\"messages\":[]}";
    AUTO_FREE char *asked = answer("rules: [{answer: {usage: {prompt_tokens: 3}}}]", own);
    AUTO_FREE char *unasked = answer("rules: [{answer: {usage: {prompt_tokens: 3}}}]", STREAM);
    AUTO_FREE char *last =
        answer("rules: [{answer: {usage: {prompt_tokens: 3}, usage_in: last}}]", STREAM);
    AUTO_FREE char *none = answer("rules: [{answer: {usage: none}}]", own);

    assert_non_null(
        strstr(asked, "\"choices\":[],\"usage\":{\"prompt_tokens\":3}}\n\ndata: [DONE]"));
    assert_null(strstr(unasked, "usage"));
    assert_non_null(
        strstr(last, "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3}}"));
    assert_null(strstr(none, "usage"));
}

TEST(finish_reason_may_be_another_or_missing)
{
    AUTO_FREE char *other = answer("rules: [{answer: {finish_reason: length}}]", STREAM);
    AUTO_FREE char *none = answer("rules: [{answer: {finish_reason: none}}]", STREAM);
    AUTO_FREE char *calls = answer("rules: [{answer: {tool_calls: [{name: f}]}}]", STREAM);

    assert_non_null(strstr(other, "\"finish_reason\":\"length\""));
    assert_null(strstr(none, "\"delta\":{}"));
    assert_non_null(strstr(calls, "\"finish_reason\":\"tool_calls\""));
}

TEST(line_ends_of_every_kind_are_written)
{
    AUTO_FREE char *crlf = answer("rules: [{answer: {finish_reason: none, dialect: [crlf, "
                                  "no_role, no_space, comments]}}]",
                                  STREAM);
    AUTO_FREE char *lines =
        answer("rules: [{answer: {finish_reason: none, text: a, dialect: [multi_line, no_role, "
               "no_done]}}]",
               STREAM);

    assert_string_equal(crlf, ":keep-alive\r\n\r\ndata:[DONE]\r\n\r\n|end");
    assert_non_null(strstr(lines, "data: {\ndata:  \"id\": \"I\",\ndata:  \"object\": "));
    assert_non_null(strstr(lines, "\ndata: }\n\n|end"));
}

TEST(waits_are_between_pieces)
{
    int waited;
    AUTO_FREE char *got =
        answer_timed("rules: [{answer: {text: a b c, piece_delay_ms: 10}}]", STREAM, &waited);

    assert_non_null(got);
    assert_int_equal(waited, 20);
}

TEST(faults_come_after_so_many_pieces)
{
    streams("{text: a b c, fault: {kind: cut, after: 2}}",
            ROLE "{\"content\":\"a\"}\n{\"content\":\" b\"}\n|cut");
    streams("{text: a b c, fault: {kind: cut, after: 0}}", "|cut");
    streams("{text: a b c, fault: {kind: stall, after: 1}}",
            ROLE "{\"content\":\"a\"}\n|stall");
    streams("{text: a b c, fault: {kind: cut, after: 9}}",
            ROLE "{\"content\":\"a\"}\n{\"content\":\" b\"}\n{\"content\":\" c\"}\n|cut");
    streams("{text: a, fault: {kind: no_end}}", ROLE "{\"content\":\"a\"}\n|end");
    streams("{text: a b, fault: {kind: garbage, after: 1}}", ROLE "{\"content\":\"a\"}\n|cut");
}

TEST(an_error_ends_the_stream)
{
    AUTO_FREE char *got = answer(
        "rules: [{answer: {text: a, fault: {kind: error, error: {message: no, code: x}}}}]",
        STREAM);
    AUTO_FREE char *json = answer("rules: [{answer: {fault: {kind: error}}}]", CHAT(""));

    assert_string_equal(got, "data: {\"error\":{\"message\":\"no\",\"code\":\"x\"}}\n\n|end");
    assert_non_null(strstr(json, "{\"error\":{\"message\":"));
}

TEST(faults_before_anything_send_nothing)
{
    static const struct {
        const char *kind;
        enum reply_part start;
    } cases[] = {{"cut", REPLY_CUT}, {"stall", REPLY_STALL}, {"error", REPLY_PIECE}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *text =
            mem_printf("rules: [{answer: {fault: {kind: %s}}}]", cases[i].kind);
        struct script *script = parse(text);
        struct talk talk;
        struct reply *reply;

        ask(&talk, STREAM, "{}");
        reply = reply_new(&script->rules[0].answer, &talk.prompt);
        assert_int_equal(reply_start(reply), cases[i].start);
        reply_free(reply);
        forget(&talk);
        script_free(script);
    }
}

TEST(a_status_has_its_envelope_and_headers)
{
    struct script *script =
        parse("rules: [{answer: {fault: {kind: status, status: 429, retry_after: 2}}},"
              "{answer: {fault: {kind: status, status: 502, body: bad gateway}}},"
              "{answer: {fault: {kind: html, status: 503}}}]");
    static const struct {
        int status, retry_after;
        const char *type, *body;
    } cases[] = {
        {429, 2, "application/json",
         "{\"error\":{\"message\":\"Rate limit reached.\",\"type\":\"requests\",\"param\":null,"
         "\"code\":\"rate_limit_exceeded\"}}"},
        {502, -1, "text/plain; charset=utf-8", "bad gateway"},
        {503, -1, "text/html; charset=utf-8", "<!doctype html>"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out = {0};
        struct talk talk;
        struct reply *reply;
        int wait;

        ask(&talk, STREAM, "{}");
        reply = reply_new(&script->rules[i].answer, &talk.prompt);
        assert_int_equal(reply_status(reply), cases[i].status);
        assert_int_equal(reply_retry_after(reply), cases[i].retry_after);
        assert_string_equal(reply_content_type(reply), cases[i].type);
        assert_int_equal(reply_next(reply, &out, &wait), REPLY_PIECE);
        assert_int_equal(reply_length(reply), out.length);
        assert_int_equal(strncmp(out.data, cases[i].body, strlen(cases[i].body)), 0);
        assert_int_equal(reply_next(reply, &out, &wait), REPLY_END);
        buf_clear(&out);
        reply_free(reply);
        forget(&talk);
    }
    script_free(script);
}

TEST(an_answer_may_have_a_format_that_was_not_requested)
{
    AUTO_FREE char *json = answer("rules: [{answer: {format: json, text: a}}]", STREAM);
    AUTO_FREE char *sse = answer("rules: [{answer: {format: sse, text: a}}]", CHAT(""));

    assert_int_equal(strncmp(json, "{\"id\"", 5), 0);
    assert_int_equal(strncmp(sse, "data: {", 7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_keys_are_refused_with_path_and_line),
        cmocka_unit_test(wrong_values_are_refused_with_path_and_line),
        cmocka_unit_test(endless_aliases_are_refused),
        cmocka_unit_test(the_demo_is_a_script),
        cmocka_unit_test(defaults_reach_every_rule),
        cmocka_unit_test(user_text_matches_the_last_user_message),
        cmocka_unit_test(other_parts_of_a_request_match),
        cmocka_unit_test(tool_results_are_counted_since_the_last_user_message),
        cmocka_unit_test(headers_match_without_regard_to_case),
        cmocka_unit_test(rules_count_their_turns),
        cmocka_unit_test(a_stream_is_role_words_finish_and_done),
        cmocka_unit_test(a_json_answer_has_the_whole_text),
        cmocka_unit_test(texts_are_split_as_the_script_says),
        cmocka_unit_test(a_stream_may_be_written_out_in_the_script),
        cmocka_unit_test(tool_calls_come_in_every_dialect),
        cmocka_unit_test(templates_are_filled_in),
        cmocka_unit_test(code_stands_behind_its_word_with_or_without_a_fence),
        cmocka_unit_test(templates_do_not_break_json_arguments),
        cmocka_unit_test(usage_is_sent_where_the_script_says),
        cmocka_unit_test(finish_reason_may_be_another_or_missing),
        cmocka_unit_test(line_ends_of_every_kind_are_written),
        cmocka_unit_test(waits_are_between_pieces),
        cmocka_unit_test(faults_come_after_so_many_pieces),
        cmocka_unit_test(an_error_ends_the_stream),
        cmocka_unit_test(faults_before_anything_send_nothing),
        cmocka_unit_test(a_status_has_its_envelope_and_headers),
        cmocka_unit_test(an_answer_may_have_a_format_that_was_not_requested),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
