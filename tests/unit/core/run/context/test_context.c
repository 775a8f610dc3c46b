#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/context.h"
#include "core/run/context/context_items.h"
#include "core/run/context/context_request.h"
#include "handlers/handlers.h"
#include "tests/support/test.h"
#include "tests/unit/core/run/context/history.h"

/* ---- Items, briefly ---- */

static struct item_row *add(const char *type, const char *call_id, const char *body)
{
    struct item_row *row = history_add(type, "", mem_strdup(body));

    (void)snprintf(row->call_id, sizeof(row->call_id), "%s", call_id);
    return row;
}

static struct item_row *add_message(const char *role, const char *text)
{
    AUTO_FREE char *body =
        mem_printf("{\"role\":\"%s\",\"content\":[{\"type\":\"%s\",\"text\":\"%s\"}]}", role,
                   strcmp(role, "assistant") == 0 ? "output_text" : "input_text", text);
    struct item_row *row = add("message", "", body);

    (void)snprintf(row->role, sizeof(row->role), "%s", role);
    return row;
}

/* An item that run "run_1" made in a turn, in the model's order. */
static void made(struct item_row *row, int turn, int model_index)
{
    row->input = false;
    row->turn = turn;
    row->model_index = model_index;
    (void)snprintf(row->run_id, sizeof(row->run_id), "run_1");
}

static void assert_messages(const char *instructions, const char *expected)
{
    json_auto_t *messages = context_messages(instructions, items, count);
    json_auto_t *wanted = json_loads(expected, 0, NULL);
    AUTO_FREE char *got = json_text(messages);

    assert_non_null(wanted);
    if (!json_equal(messages, wanted))
        fail_msg("got %s", got);
}

/* ---- Promises ---- */

TEST(context_text_is_sent_as_plain_strings)
{
    add_message("user", "hi");
    add_message("assistant", "hello");
    add_message("developer", "be brief");
    assert_messages("You help.", "[{\"role\":\"system\",\"content\":\"You help.\"},"
                                 "{\"role\":\"user\",\"content\":\"hi\"},"
                                 "{\"role\":\"assistant\",\"content\":\"hello\"},"
                                 "{\"role\":\"system\",\"content\":\"be brief\"}]");
}

#define CALL(id)    \
    "{\"id\":\"" id \
    "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"
#define ANSWERED(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"ok\"}"

#define NEVER                                                                 \
    "\"{\\\"status\\\":\\\"incomplete\\\",\\\"message\\\":\\\"This call has " \
    "no output: it was not executed.\\\"}\""

static struct item_row *add_call(const char *id)
{
    return add("function_call", id, "{\"name\":\"f\",\"arguments\":\"{}\"}");
}

static void add_answer_to(const char *id)
{
    (void)add("function_call_output", id, "{\"output\":\"ok\"}");
}

/* Some models write between and behind their calls. Behind the outputs it would be another turn. */
TEST(context_words_among_the_calls_of_a_turn_go_with_them)
{
    add_message("user", "hi");
    made(add_message("assistant", "I look."), 0, 0);
    made(add_call("a"), 0, 1000);
    made(add_message("assistant", "And"), 0, 1);
    made(add_message("assistant", " \\n"), 0, 2);
    made(add_call("b"), 0, 1001);
    made(add_message("assistant", "Wait."), 0, 3);
    add_answer_to("a");
    add_answer_to("b");
    made(add_message("assistant", "Done."), 1, 0);
    assert_messages(NULL,
                    "[{\"role\":\"user\",\"content\":\"hi\"},"
                    "{\"role\":\"assistant\",\"content\":\"I look.\\n\\nAnd\\n\\nWait.\","
                    "\"tool_calls\":[" CALL("a") "," CALL("b") "]}," ANSWERED("a") "," ANSWERED(
                        "b") ",{\"role\":\"assistant\",\"content\":\"Done.\"}]");
}

TEST(context_a_blank_behind_a_call_adds_nothing)
{
    made(add_call("a"), 0, 1000);
    made(add_message("assistant", "\\n"), 0, 0);
    add_answer_to("a");
    assert_messages(NULL, "[{\"role\":\"assistant\",\"content\":null,"
                          "\"tool_calls\":[" CALL("a") "]}," ANSWERED("a") "]");
}

/* Of what a client sends it is not known where a turn ends. Before the outputs of its calls it cannot. */
TEST(context_words_before_the_outputs_of_sent_calls_go_with_them)
{
    (void)add_call("a");
    add_message("assistant", "And");
    (void)add_call("b");
    add_message("assistant", "Wait.");
    add_answer_to("b");
    add_answer_to("a");
    add_message("assistant", "Done.");
    (void)add_call("c"); /* without an output */
    add_message("assistant", "Bye.");
    assert_messages(NULL,
                    "[{\"role\":\"assistant\",\"content\":\"And\\n\\nWait.\","
                    "\"tool_calls\":[" CALL("a") "," CALL("b") "]}," ANSWERED("a") "," ANSWERED(
                        "b") ",{\"role\":\"assistant\",\"content\":\"Done.\",\"tool_calls\":"
                             "[" CALL("c") "]},"
                                           "{\"role\":\"tool\",\"tool_call_id\":\"c\","
                                           "\"content\":" NEVER "},"
                                           "{\"role\":\"assistant\",\"content\":\"Bye.\"}]");
}

/* Of a turn without calls they may be two messages of the upstream. */
TEST(context_two_messages_of_a_turn_without_calls_stay_two)
{
    made(add_message("assistant", "One."), 0, 0);
    made(add_message("assistant", "Two."), 0, 1);
    assert_messages(NULL, "[{\"role\":\"assistant\",\"content\":\"One.\"},"
                          "{\"role\":\"assistant\",\"content\":\"Two.\"}]");
}

/* The message that a run makes for its client when it ends without words. */
TEST(context_an_empty_answer_is_left_out)
{
    add_message("user", "hi");
    made(add_message("assistant", ""), 0, 0);
    add_message("user", "hello?");
    assert_messages(NULL, "[{\"role\":\"user\",\"content\":\"hi\"},"
                          "{\"role\":\"user\",\"content\":\"hello?\"}]");
}

TEST(context_images_make_a_list_of_parts)
{
    add("message", "",
        "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"what is this\"},"
        "{\"type\":\"input_image\",\"image_url\":\"data:image/"
        "png;base64,AA\",\"detail\":\"low\"}]}");
    (void)snprintf(rows[0].role, sizeof(rows[0].role), "user");
    assert_messages(NULL,
                    "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"what is "
                    "this\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
                    "png;base64,AA\",\"detail\":\"low\"}}]}]");
}

/* The output of a tool is text there; the picture follows in a message of the user. */
TEST(context_pictures_from_tools_are_sent_with_the_next_message)
{
    add("function_call", "call_1", "{\"name\":\"look\",\"arguments\":\"{}\"}");
    add("function_call_output", "call_1",
        "{\"output\":[{\"type\":\"input_text\",\"text\":\"here\"},"
        "{\"type\":\"input_image\",\"image_url\":\"https://x/y.png\"}]}");
    add("computer_call", "call_2",
        "{\"actions\":[{\"type\":\"screenshot\"}],\"pending_safety_checks\":[]}");
    add("computer_call_output", "call_2",
        "{\"output\":{\"type\":\"computer_screenshot\",\"image_url\":\"https://x/z.png\"}}");
    assert_messages(
        NULL,
        "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_1\",\"type\":"
        "\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"here\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Output of the call "
        "call_1:\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://x/y.png\"}}]},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_2\",\"type\":"
        "\"function\",\"function\":{\"name\":\"computer\",\"arguments\":"
        "\"{\\\"actions\\\":[{\\\"type\\\":\\\"screenshot\\\"}]}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_2\",\"content\":\"[shown in the next "
        "message]\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Output of the call "
        "call_2:\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://x/z.png\"}}]}]");
}

/* item, its body, the function that the model called, its arguments */
TEST(context_every_client_call_becomes_a_function_again)
{
    static const struct {
        const char *type, *body, *name, *arguments;
    } cases[] = {
        {"shell_call",
         "{\"action\":{\"commands\":[\"ls\"],\"timeout_ms\":null,\"max_output_length\":9}}",
         "shell", "{\"commands\":[\"ls\"],\"max_output_length\":9}"},
        {"apply_patch_call", "{\"operation\":{\"type\":\"delete_file\",\"path\":\"a\"}}",
         "apply_patch", "{\"type\":\"delete_file\",\"path\":\"a\"}"},
        {"computer_call", "{\"action\":{\"type\":\"wait\"}}", "computer_use_preview",
         "{\"action\":{\"type\":\"wait\"}}"},
        {"tool_search_call", "{\"arguments\":{\"query\":\"q\"}}", "tool_search",
         "{\"query\":\"q\"}"},
        {"function_call", "{\"name\":\"f\",\"namespace\":\"crm\",\"arguments\":\"{}\"}",
         "crm__f", "{}"},
        {"local_shell_call", "{\"action\":{\"command\":[\"ls\"]}}", "local_shell",
         "{\"command\":[\"ls\"]}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_auto_t *messages = NULL;
        const json_t *function;

        add(cases[i].type, "call_1", cases[i].body);
        messages = context_messages(NULL, items, count);
        function = json_object_get(
            json_array_get(json_object_get(json_array_get(messages, 0), "tool_calls"), 0),
            "function");
        assert_string_equal(json_get_string(function, "name", ""), cases[i].name);
        assert_string_equal(json_get_string(function, "arguments", ""), cases[i].arguments);
        clear_items(state);
    }
}

TEST(context_outputs_of_every_kind_are_sent)
{
    static const struct {
        const char *type, *body, *sent;
    } cases[] = {
        {"shell_call_output",
         "{\"output\":[{\"stdout\":\"a\",\"stderr\":\"\",\"outcome\":{\"type\":"
         "\"timeout\"}}]}",
         "[{\"stdout\":\"a\",\"stderr\":\"\",\"outcome\":{\"type\":\"timeout\"}}]"},
        {"apply_patch_call_output", "{\"output\":\"no such file\"}",
         "{\"status\":\"failed\",\"output\":\"no such file\"}"},
        {"tool_search_output", "{\"tools\":[{\"type\":\"function\",\"name\":\"f\"}]}",
         "{\"loaded\":[\"f\"]}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_auto_t *messages = NULL;

        add("function_call", "call_1", "{\"name\":\"f\",\"arguments\":\"{}\"}");
        add(cases[i].type, "call_1", cases[i].body)->status = ITEM_FAILED;
        messages = context_messages(NULL, items, count);
        assert_string_equal(json_get_string(json_array_get(messages, 1), "content", ""),
                            cases[i].sent);
        clear_items(state);
    }
}

/* The peer replayed every call under the name "local_shell". */
TEST(context_bella_B1_calls_keep_their_names)
{
    add_message("user", "weather?");
    add("function_call", "call_1",
        "{\"name\":\"get_weather\",\"arguments\":\"{}\",\"call_id\":\"call_1\"}");
    add("function_call_output", "call_1", "{\"call_id\":\"call_1\",\"output\":\"sunny\"}");
    add("custom_tool_call", "call_2",
        "{\"name\":\"run_sql\",\"input\":\"select 1\",\"call_id\":\"call_2\"}");
    add("custom_tool_call_output", "call_2", "{\"call_id\":\"call_2\",\"output\":\"1\"}");
    assert_messages(
        NULL,
        "[{\"role\":\"user\",\"content\":\"weather?\"},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_1\",\"type\":"
        "\"function\",\"function\":{\"name\":\"get_weather\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"sunny\"},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_2\",\"type\":"
        "\"function\",\"function\":{\"name\":\"run_sql\",\"arguments\":\"{\\\"input\\\":"
        "\\\"select "
        "1\\\"}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_2\",\"content\":\"1\"}]");
}

TEST(context_calls_are_sent_in_the_models_order_after_text)
{
    made(add_message("assistant", "let me look"), 0, 0);
    made(add("mcp_call", "call_b",
             "{\"name\":\"second\",\"arguments\":\"{}\",\"output\":\"B\",\"error\":null}"),
         0, 2);
    made(add("mcp_call", "call_a",
             "{\"name\":\"first\",\"arguments\":\"{}\",\"output\":\"A\",\"error\":null}"),
         0, 1);
    made(add_message("assistant", "done"), 1, 0);
    assert_messages(
        NULL,
        "[{\"role\":\"assistant\",\"content\":\"let me look\",\"tool_calls\":["
        "{\"id\":\"call_a\",\"type\":\"function\",\"function\":{\"name\":\"first\","
        "\"arguments\":"
        "\"{}\"}},{\"id\":\"call_b\",\"type\":\"function\",\"function\":{\"name\":\"second\","
        "\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_a\",\"content\":\"A\"},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_b\",\"content\":\"B\"},"
        "{\"role\":\"assistant\",\"content\":\"done\"}]");
}

/* Each was the first or second item of its own request. */
TEST(context_calls_of_several_requests_stay_in_their_order)
{
    add("function_call", "call_a", "{\"name\":\"first\",\"arguments\":\"{}\"}")->model_index =
        1;
    add("function_call", "call_b", "{\"name\":\"second\",\"arguments\":\"{}\"}")->model_index =
        0;
    add("function_call_output", "call_a", "{\"output\":\"A\"}");
    add("function_call_output", "call_b", "{\"output\":\"B\"}");
    assert_messages(
        NULL,
        "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
        "{\"id\":\"call_a\",\"type\":\"function\",\"function\":{\"name\":\"first\","
        "\"arguments\":"
        "\"{}\"}},{\"id\":\"call_b\",\"type\":\"function\",\"function\":{\"name\":\"second\","
        "\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_a\",\"content\":\"A\"},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_b\",\"content\":\"B\"}]");
}

/* A final tool's message is shown before its call, but sent to the model after it. */
TEST(context_text_of_a_final_tool_follows_its_call)
{
    made(add_message("assistant", "the answer"), 1, 0);
    made(add("mcp_call", "call_a",
             "{\"name\":\"final\",\"arguments\":\"{}\",\"output\":\"the "
             "answer\",\"error\":null}"),
         0, 0);
    assert_messages(
        NULL,
        "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_a\",\"type\":"
        "\"function\",\"function\":{\"name\":\"final\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_a\",\"content\":\"the answer\"},"
        "{\"role\":\"assistant\",\"content\":\"the answer\"}]");
}

static void sent(struct item_row *row)
{
    row->input = true;
    (void)snprintf(row->run_id, sizeof(row->run_id), "run_2");
}

/* Counting, leaving out and sending see the same text. */
TEST(context_keeps_the_order_of_messages)
{
    static const char *const wanted[] = {"function_call", "mcp_call", "message",
                                         "function_call_output", "message"};
    json_auto_t *before = NULL, *after = NULL;

    made(add("function_call", "call_c",
             "{\"name\":\"f\",\"arguments\":\"{}\",\"call_id\":\"call_c\"}"),
         0, 0);
    made(add_message("assistant", "the answer"), 1, 0);
    made(add("mcp_call", "call_a",
             "{\"name\":\"g\",\"arguments\":\"{}\",\"output\":\"the answer\"}"),
         0, 1);
    sent(add_message("user", "and now?"));
    sent(add("function_call_output", "call_c", "{\"call_id\":\"call_c\",\"output\":\"sun\"}"));
    before = context_messages(NULL, items, count);
    context_order(items, count);
    after = context_messages(NULL, items, count);
    assert_true(json_equal(before, after));
    for (size_t i = 0; i < count; i++)
        assert_string_equal(item_row_type_name(items[i]), wanted[i]);
}

TEST(context_a_call_without_output_gets_a_placeholder)
{
    json_auto_t *messages = NULL;
    const json_t *tool;

    made(add("function_call", "call_1",
             "{\"name\":\"f\",\"arguments\":\"{}\",\"call_id\":\"call_1\"}"),
         0, 0);
    add_message("user", "no matter");
    messages = context_messages(NULL, items, count);
    assert_int_equal(json_array_size(messages), 3);
    tool = json_array_get(messages, 1);
    assert_string_equal(json_get_string(tool, "role", ""), "tool");
    assert_string_equal(json_get_string(tool, "tool_call_id", ""), "call_1");
    assert_non_null(strstr(json_get_string(tool, "content", ""), "incomplete"));
}

TEST(context_items_cut_by_a_crash_are_not_sent)
{
    add_message("user", "hi");
    made(
        add("message", "",
            "{\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"hal\"}],"
            "\"runnel\":{\"cut\":true}}"),
        0, 0);
    assert_messages(NULL, "[{\"role\":\"user\",\"content\":\"hi\"}]");
}

TEST(context_an_incomplete_call_is_sent_only_if_it_was_answered)
{
    static const char half[] =
        "{\"name\":\"f\",\"arguments\":\"{\\\"ci\",\"call_id\":\"call_1\"}";
    struct item_row *call;

    add_message("user", "hi");
    call = add("function_call", "call_1", half);
    made(call, 0, 0);
    call->status = ITEM_INCOMPLETE;
    add_message("user", "go on");
    assert_messages(NULL, "[{\"role\":\"user\",\"content\":\"hi\"},"
                          "{\"role\":\"user\",\"content\":\"go on\"}]");
    add("function_call_output", "call_1", "{\"output\":\"x\",\"call_id\":\"call_1\"}");
    assert_messages(
        NULL,
        "[{\"role\":\"user\",\"content\":\"hi\"},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_1\","
        "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"ci\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"x\"},"
        "{\"role\":\"user\",\"content\":\"go on\"}]");
}

TEST(context_failed_calls_give_the_model_the_reason)
{
    made(add("mcp_call", "call_1",
             "{\"name\":\"f\",\"arguments\":\"{}\",\"output\":null,\"error\":{\"type\":\"mcp_"
             "tool_"
             "execution_error\",\"content\":[{\"type\":\"text\",\"text\":\"no such city\"}]}}"),
         0, 0);
    assert_messages(NULL,
                    "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":"
                    "\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
                    "\"arguments\":\"{}\"}}]},"
                    "{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"no such "
                    "city\"}]");
}

TEST(context_last_messages_counts_messages_only)
{
    add_message("user", "1");
    add_message("assistant", "2");
    add("reasoning", "", "{\"summary\":[]}");
    add_message("user", "3");
    assert_int_equal(context_start(items, count, 2, "run_1"), 1);
    assert_int_equal(context_start(items, count, 1, "run_1"), 3);
    assert_int_equal(context_start(items, count, 99, "run_1"), 0);
    assert_int_equal(context_start(items, count, 0, "run_1"), 0);
}

/* The items of the run itself do not push its question out. */
TEST(context_last_messages_keeps_the_items_of_the_run)
{
    add_message("user", "old");
    add_message("user", "question");
    made(add_message("assistant", "let me look"), 0, 0);
    assert_int_equal(context_start(items, count, 1, "run_1"), 1);
    assert_int_equal(context_start(items, count, 1, "run_2"), 2);
}

TEST(context_a_reused_call_id_has_its_own_output)
{
    json_auto_t *messages = NULL;

    for (int turn = 0; turn < 2; turn++) {
        made(add("function_call", "call_0",
                 "{\"name\":\"f\",\"arguments\":\"{}\",\"call_id\":\"call_0\"}"),
             turn, 0);
        made(add("function_call_output", "call_0",
                 turn ? "{\"call_id\":\"call_0\",\"output\":\"rain\"}"
                      : "{\"call_id\":\"call_0\",\"output\":\"sun\"}"),
             turn, 1);
    }
    messages = context_messages(NULL, items, count);
    assert_int_equal(json_array_size(messages), 4);
    assert_string_equal(json_get_string(json_array_get(messages, 1), "content", ""), "sun");
    assert_string_equal(json_get_string(json_array_get(messages, 3), "content", ""), "rain");
}

/* The call as it is sent to `upstream`. */
static json_t *call_sent_to(const char *upstream)
{
    static const struct tool_set tools;
    const struct run_settings settings = {
        .model = "", .instructions = "", .max_completion_tokens = RUN_NO_LIMIT};
    json_auto_t *request =
        context_request("run_2", &settings, &tools, items, count, 0, upstream);
    const json_t *answer = json_array_get(json_object_get(request, "messages"), 0);

    return json_incref(json_array_get(json_object_get(answer, "tool_calls"), 0));
}

TEST(context_extra_content_of_a_call_is_sent_to_its_own_upstream_only)
{
    static const char *const types[] = {"function_call", "mcp_call"};

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        json_auto_t *theirs = NULL;
        json_auto_t *others = NULL;
        json_auto_t *nobodys = NULL;
        AUTO_FREE char *extra = NULL;

        (void)clear_items(state);
        made(add(types[i], "call_0",
                 "{\"name\":\"f\",\"arguments\":\"{}\",\"runnel\":{\"extra_content\":"
                 "{\"upstream\":\"google\",\"value\":{\"google\":{\"thought_signature\":\"E\"}}"
                 "}}}"),
             0, 0);
        theirs = call_sent_to("google");
        others = call_sent_to("other");
        nobodys = call_sent_to(NULL);
        extra = json_text(json_object_get(theirs, "extra_content"));
        assert_string_equal(extra, "{\"google\":{\"thought_signature\":\"E\"}}");
        assert_int_equal(json_object_size(theirs), 4);
        assert_int_equal(json_object_size(others), 3);
        assert_true(json_equal(others, nobodys));
    }
}

#define context_test(name) cmocka_unit_test_teardown(name, clear_items)

static int register_handlers(void **state)
{
    (void)state;
    handlers_register();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        context_test(context_text_is_sent_as_plain_strings),
        context_test(context_words_among_the_calls_of_a_turn_go_with_them),
        context_test(context_a_blank_behind_a_call_adds_nothing),
        context_test(context_words_before_the_outputs_of_sent_calls_go_with_them),
        context_test(context_two_messages_of_a_turn_without_calls_stay_two),
        context_test(context_an_empty_answer_is_left_out),
        context_test(context_images_make_a_list_of_parts),
        context_test(context_pictures_from_tools_are_sent_with_the_next_message),
        context_test(context_every_client_call_becomes_a_function_again),
        context_test(context_outputs_of_every_kind_are_sent),
        context_test(context_bella_B1_calls_keep_their_names),
        context_test(context_calls_are_sent_in_the_models_order_after_text),
        context_test(context_calls_of_several_requests_stay_in_their_order),
        context_test(context_text_of_a_final_tool_follows_its_call),
        context_test(context_extra_content_of_a_call_is_sent_to_its_own_upstream_only),
        context_test(context_keeps_the_order_of_messages),
        context_test(context_a_call_without_output_gets_a_placeholder),
        context_test(context_items_cut_by_a_crash_are_not_sent),
        context_test(context_an_incomplete_call_is_sent_only_if_it_was_answered),
        context_test(context_failed_calls_give_the_model_the_reason),
        context_test(context_last_messages_counts_messages_only),
        context_test(context_last_messages_keeps_the_items_of_the_run),
        context_test(context_a_reused_call_id_has_its_own_output),
    };

    return cmocka_run_group_tests(tests, register_handlers, NULL);
}
