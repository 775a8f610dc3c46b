#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/withheld.h"
#include "core/run/context/past_calls.h"
#include "tests/support/test.h"

static json_t *call_body(void)
{
    return json_build("{s:s, s:n, s:s, s:s, s:{s:s, s:{s:s, s:s}}}", "name", "t", "error",
                      "output", "secret", "arguments", "{}", "runnel", "status", "success",
                      "variables", "result", "r", "args", "a");
}

static json_t *withheld_body(void)
{
    json_t *body = call_body();

    withheld_mark(json_object_get(body, "runnel"));
    return body;
}

/* F43. */
TEST(a_withheld_result_is_sent_as_a_refusal)
{
    json_auto_t *plain = call_body();
    json_auto_t *body = withheld_body();

    assert_false(withheld_is(plain));
    assert_string_equal(past_own_output(ITEM_MCP_CALL, plain), "secret");
    assert_true(withheld_is(body) && withheld_waits(body));
    assert_string_equal(
        past_own_output(ITEM_MCP_CALL, body),
        "{\"status\":\"rejected\",\"message\":\"Result not approved for LLM\"}");
}

/* F39. */
TEST(a_delivered_result_is_sent)
{
    json_auto_t *body = withheld_body();

    for (int i = 0; i < 2; i++) {
        withheld_deliver(body);
        assert_string_equal(past_own_output(ITEM_MCP_CALL, body), "secret");
        assert_string_equal(
            json_get_string(json_object_get(json_object_get(body, "runnel"), "variables"),
                            "result", ""),
            "r");
    }
    withheld_refuse(body, "too late");
    assert_string_equal(past_own_output(ITEM_MCP_CALL, body), "secret");
}

/* F43. */
TEST(the_variable_of_a_withheld_result_survives_storing)
{
    AUTO_VARIABLE variable = {.type = VARIABLE_TOOL_CALL_RESULT,
                              .name = "t_result",
                              .value = mem_strdup("v\xC3\xA4"),
                              .description = mem_strdup("Call t with args: "),
                              .created_at = 5};
    AUTO_VARIABLE back = {0};
    json_auto_t *held = withheld_hold(&variable);

    withheld_variable(held, &back);
    assert_string_equal(back.name, variable.name);
    assert_string_equal(back.value, variable.value);
    assert_string_equal(back.description, variable.description);
    assert_int_equal(back.type, VARIABLE_TOOL_CALL_RESULT);
    assert_int_equal(back.length, 2);
    assert_int_equal(back.created_at, 5);
    assert_false(variable_is_trusted(&back));
}

/* F42, F43. */
TEST(nothing_is_left_of_a_refused_result)
{
    json_auto_t *body = withheld_body();
    json_auto_t *noted =
        json_build("{s:s, s:s, s:{s:s}, s:[s], s:b, s:s}", "reason", "secret: moved away",
                   "title", "secret title", "metadata", "k", "secret", "attachments", "secret",
                   "is_truncated", 1, "error_phase", "tool_execution");
    AUTO_FREE char *text = NULL;

    json_object_update(json_object_get(body, "runnel"), noted);
    withheld_refuse(body, "\"private\"");
    withheld_deliver(body);
    assert_true(withheld_is(body) && !withheld_waits(body));
    assert_string_equal(past_own_output(ITEM_MCP_CALL, body),
                        "{\"status\":\"rejected\",\"message\":\"\\\"private\\\"\"}");
    text = json_text(body);
    assert_null(strstr(text, "secret"));
    assert_null(strstr(text, "\"result\""));
    assert_null(strstr(text, "is_truncated"));
    assert_null(strstr(text, "error_phase"));
    assert_non_null(strstr(text, "\"args\":\"a\""));
    assert_non_null(strstr(text, "\"result_rejected\""));
}

/* F43. */
TEST(a_refused_hosted_call_loses_its_output)
{
    json_auto_t *body = json_build("{s:{s:s, s:s, s:s, s:n}}", "runnel", "name", "t",
                                   "arguments", "{}", "output", "secret", "error");
    AUTO_FREE char *text = NULL;

    withheld_mark(json_object_get(body, "runnel"));
    assert_null(strstr(past_own_output(ITEM_FILE_SEARCH_CALL, body), "secret"));
    withheld_refuse(body, "no");
    text = json_text(body);
    assert_null(strstr(text, "secret"));
    assert_non_null(strstr(past_own_output(ITEM_FILE_SEARCH_CALL, body), "\"no\""));
}

/* F42, F43: each has `shown` instead of its result. */
TEST(a_refused_hosted_call_loses_what_it_shows)
{
    static const char *const samples[][2] = {
        {"{\"result\":\"secret\"}", "{\"result\":null}"},
        {"{\"queries\":[\"q\"],\"results\":[{\"text\":\"secret\"}]}",
         "{\"queries\":[\"q\"],\"results\":[]}"},
        {"{\"queries\":[\"q\"],\"results\":null}", "{\"queries\":[\"q\"],\"results\":null}"},
        {"{\"code\":\"1\",\"container_id\":\"\",\"outputs\":[{\"logs\":\"secret\"}]}",
         "{\"code\":\"1\",\"container_id\":\"\",\"outputs\":[]}"},
        {"{\"action\":{\"query\":\"q\",\"sources\":[{\"url\":\"secret\"}]}}",
         "{\"action\":{\"query\":\"q\"}}"},
    };

    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        json_auto_t *body = json_parse_own(samples[i][0]);
        json_auto_t *left = json_parse_own(samples[i][1]);

        json_set(body, "runnel", json_build("{s:s, s:n}", "output", "secret", "error"));
        withheld_mark(json_object_get(body, "runnel"));
        withheld_refuse(body, "no");
        json_object_del(body, "runnel");
        assert_true(json_equal(body, left));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_variable_of_a_withheld_result_survives_storing),
        cmocka_unit_test(a_withheld_result_is_sent_as_a_refusal),
        cmocka_unit_test(a_delivered_result_is_sent),
        cmocka_unit_test(nothing_is_left_of_a_refused_result),
        cmocka_unit_test(a_refused_hosted_call_loses_its_output),
        cmocka_unit_test(a_refused_hosted_call_loses_what_it_shows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
