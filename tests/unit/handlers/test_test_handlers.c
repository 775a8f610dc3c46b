#include "core/domain/item_type.h"
#include "core/tool/registry.h"
#include "tests/unit/handlers/tool_run.h"

#include <stdio.h>
#include <unistd.h>

static void expect_said(const struct outcome *outcome, size_t n, enum tool_output_kind kind,
                        const char *name, const char *text)
{
    assert_true(n < outcome->count);
    assert_int_equal(outcome->said[n].kind, kind);
    if (name)
        assert_string_equal(outcome->said[n].name, name);
    if (text)
        assert_string_equal(outcome->said[n].text, text);
}

TEST(test_slow_waits)
{
    uint64_t start = clock_mono_ns();

    expect_tool_result(&test_slow_handler, "{\"ms\":30,\"text\":\"x\"}", "x");
    assert_true(clock_mono_ns() - start >= 30 * NS_PER_MS);
    expect_tool_result(&test_slow_handler, "{}", "done");
}

TEST(test_stream_says_its_pieces)
{
    AUTO_OUTCOME outcome = tool_run(&test_stream_handler,
                                    "{\"pieces\":[\"a\",\"b\",\"c\"],\"ms\":1,\"text\":\"r\"}");

    assert_int_equal(outcome.count, 3);
    expect_said(&outcome, 0, TOOL_OUTPUT_TEXT, NULL, "a");
    expect_said(&outcome, 1, TOOL_OUTPUT_TEXT, NULL, "b");
    expect_said(&outcome, 2, TOOL_OUTPUT_TEXT, NULL, "c");
    assert_string_equal(outcome.text, "r");
}

TEST(test_fail_fails_with_its_message)
{
    expect_tool_error(&test_fail_handler, "{\"message\":\"100 % broken\"}", ERR_INVALID,
                      "100 % broken");
    expect_tool_error(&test_fail_handler, "{}", ERR_INVALID, "always fails");
}

static void expect_end_of(const char *args, enum tool_status status, enum err_code rc,
                          const char *text)
{
    AUTO_OUTCOME outcome = tool_run(&test_ends_handler, args);

    assert_int_equal(outcome.end.result.status, status);
    assert_int_equal(outcome.end.rc, rc);
    assert_string_equal(rc ? outcome.end.error.text : outcome.text, text);
    assert_string_equal(outcome.end.result.title, "Ended");
}

/* F11 */
TEST(a_handler_says_how_it_ended)
{
    expect_end_of("{\"text\":\"all\"}", TOOL_SUCCESS, ERR_OK, "all");
    expect_end_of("{\"status\":\"error\"}", TOOL_ERROR, ERR_UPSTREAM,
                  "test_ends failed and did not say why");
    expect_end_of("{\"status\":\"error\",\"why\":\"100 %s\"}", TOOL_ERROR, ERR_UPSTREAM,
                  "100 %s");
    expect_end_of("{\"status\":\"execution_rejected\",\"why\":\"no\"}", TOOL_REJECTED,
                  ERR_FORBIDDEN, "no");
    expect_end_of("{\"status\":\"cancelled\"}", TOOL_CANCELLED, ERR_CANCELLED,
                  "test_ends was cancelled");
    expect_end_of("{\"status\":\"not_found\"}", TOOL_NOT_FOUND, ERR_NOT_FOUND,
                  "Tool test_ends not found");
}

TEST(test_final_answers_with_its_pieces)
{
    AUTO_OUTCOME outcome = tool_run(&test_final_handler, "{\"pieces\":[\"Hello \",\"you\"]}");

    assert_true(test_final_handler.flags & TOOL_FINAL);
    assert_int_equal(outcome.count, 2);
    assert_string_equal(outcome.text, "Hello you");
}

TEST(test_final_image_answers_with_an_image)
{
    AUTO_OUTCOME outcome = tool_run(&test_final_image_handler, "{}");

    assert_true(test_final_image_handler.flags & TOOL_FINAL);
    assert_int_equal(outcome.end.result.count, 1);
    assert_int_equal(outcome.end.result.parts[0].kind, TOOL_PART_IMAGE);
    assert_string_equal(outcome.end.result.parts[0].mime_type, "image/png");
}

TEST(test_hidden_is_hidden)
{
    AUTO_OUTCOME outcome = tool_run(&test_hidden_handler, "{\"pieces\":[\"a\"]}");

    assert_true(test_hidden_handler.flags & TOOL_HIDDEN);
    assert_int_equal(outcome.count, 1);
}

TEST(test_stubborn_does_not_listen)
{
    struct tool_executor *executor = tool_executor_new(1, 0.01);
    json_auto_t *args = json_build("{s:i}", "ms", 60);
    uint64_t start = clock_mono_ns();
    struct tool_call_spec spec = {.handler = &test_stubborn_handler, .args = args};
    struct tool_output output;
    struct taker taker;

    taker_init(&taker);
    assert_int_equal(tool_executor_start(executor, NULL), ERR_OK);
    spec.channel = tool_channel_new(1, NULL, 4, taker_wake, &taker);
    tool_executor_submit(executor, &spec);
    assert_true(taker_next(&taker, spec.channel, &output));
    assert_int_equal(output.rc, ERR_TIMEOUT);
    tool_output_clear(&output);
    tool_channel_close(spec.channel);
    tool_executor_stop(executor, TAKER_PATIENCE);
    assert_true(clock_mono_ns() - start >= 60 * NS_PER_MS);
    assert_false(tool_channel_take(spec.channel, &output));
    tool_executor_free(executor);
    tool_channel_release(spec.channel);
    taker_clear(&taker);
}

TEST(test_image_goes_through_its_stages)
{
    AUTO_OUTCOME outcome = tool_run(&test_image_handler, "{\"partial_images\":2}");

    assert_ptr_equal(test_image_handler.item, &image_generation_item);
    assert_int_equal(outcome.count, 3);
    expect_said(&outcome, 0, TOOL_OUTPUT_STAGE, "generating", NULL);
    expect_said(&outcome, 1, TOOL_OUTPUT_STAGE, "partial_image", NULL);
    expect_said(&outcome, 2, TOOL_OUTPUT_STAGE, "partial_image", NULL);
    assert_int_equal(json_get_int(outcome.said[2].fields, "partial_image_index", -1), 1);
    assert_string_equal(json_get_string(outcome.said[2].fields, "partial_image_b64", ""),
                        outcome.end.result.parts[0].data);
}

TEST(test_searches_say_that_they_search)
{
    AUTO_OUTCOME files = tool_run(&test_search_handler, "{\"text\":\"found\"}");
    AUTO_OUTCOME web = tool_run(&test_web_handler, "{\"text\":\"found\"}");

    assert_ptr_equal(test_search_handler.item, &file_search_item);
    assert_ptr_equal(test_web_handler.item, &web_search_item);
    expect_said(&files, 0, TOOL_OUTPUT_STAGE, "searching", NULL);
    expect_said(&web, 0, TOOL_OUTPUT_STAGE, "searching", NULL);
    assert_string_equal(files.text, "found");
    assert_string_equal(web.text, "found");
}

TEST(test_code_streams_its_code)
{
    AUTO_OUTCOME outcome =
        tool_run(&test_code_handler, "{\"pieces\":[\"1+\",\"1\"],\"text\":\"2\"}");

    assert_ptr_equal(test_code_handler.item, &code_interpreter_item);
    assert_int_equal(outcome.count, 3);
    expect_said(&outcome, 0, TOOL_OUTPUT_DELTA, "code", "1+");
    expect_said(&outcome, 1, TOOL_OUTPUT_DELTA, "code", "1");
    expect_said(&outcome, 2, TOOL_OUTPUT_STAGE, "interpreting", NULL);
    assert_string_equal(outcome.text, "2");
}

TEST(test_weather_streams_its_forecast)
{
    AUTO_OUTCOME outcome = tool_run(&test_weather_handler, "{\"pieces\":[\"Rain.\"]}");

    assert_int_equal(outcome.count, 3);
    expect_said(&outcome, 0, TOOL_OUTPUT_STAGE, "measuring", NULL);
    expect_said(&outcome, 1, TOOL_OUTPUT_DELTA, "forecast", "Rain.");
    expect_said(&outcome, 2, TOOL_OUTPUT_STAGE, "signing", NULL);
    assert_string_equal(outcome.text, "It will rain.");
}

/* Its type is in no table: the registry has it from the tool. */
TEST(test_weather_has_an_item_that_nothing_else_knows)
{
    const struct tool_item *item;

    handlers_register();
    item = tool_registry_item("weather_call");
    assert_ptr_equal(item, test_weather_handler.item);
    assert_int_equal(item_type_parse(item->type), ITEM_OTHER_CALL);
    tool_registry_remove("test", "test_weather");
    assert_null(tool_registry_find("test", "test_weather"));
    assert_ptr_equal(tool_registry_item("weather_call"), item);
    handlers_register();
}

TEST(test_echo_context_shows_what_came_along)
{
    const struct tenant tenant = {.project = "proj_1", .user = "ann"};
    json_auto_t *files = json_build("[s]", "file-1");
    json_auto_t *context = json_build("{s:s}", "trace", "t1");
    AUTO_OUTCOME outcome = tool_run_spec(&test_echo_context_handler, "{\"a\":1}",
                                         &(struct tool_call_spec){.call_id = "call_9",
                                                                  .tenant = &tenant,
                                                                  .run = "run_1",
                                                                  .thread = "thread_1",
                                                                  .files = files,
                                                                  .context = context});

    assert_string_equal(outcome.text,
                        "{\"call_id\":\"call_9\",\"project\":\"proj_1\",\"run\":\"run_1\","
                        "\"thread\":\"thread_1\",\"user\":\"ann\",\"args\":{\"a\":1},"
                        "\"config\":{},\"files\":[\"file-1\"],\"context\":{\"trace\":\"t1\"}}");
}

TEST(test_count_leaves_a_line_each_time)
{
    char path[] = "/tmp/runnel-test-count-XXXXXX";
    int fd = mkstemp(path);
    AUTO_FREE char *args = mem_printf("{\"path\":\"%s\"}", path);
    char lines[64] = {0};

    assert_false(test_count_handler.flags & TOOL_IDEMPOTENT);
    assert_true(test_count_idempotent_handler.flags & TOOL_IDEMPOTENT);
    expect_tool_result(&test_count_handler, args, "done");
    expect_tool_result(&test_count_idempotent_handler, args, "done");
    assert_int_equal(read(fd, lines, sizeof(lines) - 1), 14);
    assert_string_equal(lines, "call_1\ncall_1\n");
    close(fd);
    unlink(path);
    expect_tool_error(&test_count_handler, "{\"path\":\"/nowhere/at/all\"}", ERR_INVALID,
                      "/nowhere/at/all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_waits),
        cmocka_unit_test(test_stream_says_its_pieces),
        cmocka_unit_test(test_fail_fails_with_its_message),
        cmocka_unit_test(a_handler_says_how_it_ended),
        cmocka_unit_test(test_final_answers_with_its_pieces),
        cmocka_unit_test(test_final_image_answers_with_an_image),
        cmocka_unit_test(test_hidden_is_hidden),
        cmocka_unit_test(test_stubborn_does_not_listen),
        cmocka_unit_test(test_image_goes_through_its_stages),
        cmocka_unit_test(test_searches_say_that_they_search),
        cmocka_unit_test(test_code_streams_its_code),
        cmocka_unit_test(test_weather_streams_its_forecast),
        cmocka_unit_test(test_weather_has_an_item_that_nothing_else_knows),
        cmocka_unit_test(test_echo_context_shows_what_came_along),
        cmocka_unit_test(test_count_leaves_a_line_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
