#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/params/responses/prompt_template.h"
#include "tests/support/test.h"

static struct err err;

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    assert_non_null(value);
    return value;
}

static json_t *template_of(const char *text)
{
    json_auto_t *body = parse(text);
    json_t *template = NULL;

    if (prompt_template_parse(body, &template, &err))
        fail_msg("%s", err.text);
    return template;
}

/* The filled-in request, as text; NULL when it is refused. */
static json_t *apply(const char *template_text, const char *body_text)
{
    json_auto_t *template = template_of(template_text);
    json_auto_t *body = parse(body_text);
    json_t *filled = NULL;

    if (prompt_apply(template, 3, body, &filled, &err))
        return NULL;
    return filled;
}

static void is(const json_t *value, const char *text)
{
    json_auto_t *expected = json_loads(text, JSON_DECODE_ANY, NULL);
    AUTO_FREE char *got = json_text(value);

    if (!json_equal(value, expected))
        fail_msg("%s is not %s", got, text);
}

TEST(variables_are_listed_once_in_order)
{
    json_auto_t *template =
        template_of("{\"instructions\": \"{{b}} {{ a }} {{b}} {{ no way }} {{}} {c} {{d\","
                    " \"input\": [{\"role\": \"user\", \"content\": \"{{{{e}}}}\"}]}");
    json_auto_t *names = prompt_template_variables(template);

    is(names, "[\"b\", \"a\", \"e\"]");
}

TEST(text_is_filled_in)
{
    json_auto_t *filled =
        apply("{\"instructions\": \"Speak {{ language }}, {{name}}! {{x y}}\"}",
              "{\"prompt\": {\"id\": \"pmpt_1\", \"variables\": {\"language\": "
              "\"{{name}}\", \"name\": {\"type\": \"input_text\", \"text\": "
              "\"Ann\"}}}, \"input\": \"Hi {{name}}\"}");

    /* Values are not searched for variables again, and neither is the request's own input. */
    is(json_object_get(filled, "instructions"), "\"Speak {{name}}, Ann! {{x y}}\"");
    is(json_object_get(filled, "input"), "\"Hi {{name}}\"");
    is(json_object_get(json_object_get(filled, "prompt"), "version"), "\"3\"");
}

TEST(messages_come_with_the_instructions_in_front)
{
    json_auto_t *filled =
        apply("{\"instructions\": \"Be brief.\", \"input\": [{\"role\": \"user\", \"content\": "
              "\"I am {{name}}\"}, {\"role\": \"assistant\", \"content\": \"Hi {{name}}\"}]}",
              "{\"prompt\": {\"id\": \"pmpt_1\", \"variables\": {\"name\": \"Ann\"}}}");

    size_t i;
    json_t *message;

    json_array_foreach (json_object_get(filled, "instructions"), i, message) {
        assert_memory_equal(json_get_string(message, "id", ""), "msg_", 4);
        assert_string_equal(json_get_string(message, "status", ""), "completed");
        json_object_del(message, "id");
        json_object_del(message, "status");
    }
    is(json_object_get(filled, "instructions"),
       "[{\"type\": \"message\", \"role\": \"developer\", \"content\": [{\"type\": "
       "\"input_text\", \"text\": \"Be brief.\"}]},"
       " {\"type\": \"message\", \"role\": \"user\", \"content\": [{\"type\": \"input_text\", "
       "\"text\": \"I am Ann\"}]},"
       " {\"type\": \"message\", \"role\": \"assistant\", \"content\": [{\"type\": "
       "\"output_text\", \"text\": \"Hi Ann\", \"annotations\": [], \"logprobs\": []}]}]");
}

TEST(a_picture_splits_the_text_around_it)
{
    json_auto_t *filled =
        apply("{\"input\": [{\"role\": \"user\", \"content\": \"Look: {{it}}{{it}} Nice?\"}]}",
              "{\"prompt\": {\"id\": \"pmpt_1\", \"variables\": {\"it\": {\"type\": "
              "\"input_image\", \"image_url\": \"x\"}}}}");

    is(json_object_get(json_array_get(json_object_get(filled, "instructions"), 0), "content"),
       "[{\"type\": \"input_text\", \"text\": \"Look: \"},"
       " {\"type\": \"input_image\", \"image_url\": \"x\"},"
       " {\"type\": \"input_image\", \"image_url\": \"x\"},"
       " {\"type\": \"input_text\", \"text\": \" Nice?\"}]");
}

TEST(settings_of_the_request_win_over_the_template)
{
    json_auto_t *filled =
        apply("{\"instructions\": \"A\", \"model\": \"a\", \"temperature\": 1}",
              "{\"prompt\": {\"id\": \"pmpt_1\"}, \"instructions\": \"B\", \"model\": \"b\"}");

    is(json_object_get(filled, "instructions"), "\"B\"");
    is(json_object_get(filled, "model"), "\"b\"");
    is(json_object_get(filled, "temperature"), "1");
}

static void apply_refused(const char *template, const char *variables, const char *param,
                          const char *text)
{
    AUTO_FREE char *body =
        mem_printf("{\"prompt\": {\"id\": \"pmpt_1\", \"variables\": %s}}", variables);

    assert_null(apply(template, body));
    assert_string_equal(err.place, param);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

TEST(every_variable_must_be_given_and_no_other)
{
    apply_refused("{\"instructions\": \"{{a}}\"}", "null", "prompt.variables.a",
                  "Missing required parameter: 'prompt.variables.a'.");
    apply_refused("{\"instructions\": \"{{a}}\"}", "{\"a\": \"1\", \"b\": \"2\"}",
                  "prompt.variables.b", "Unknown parameter: 'prompt.variables.b'.");
    apply_refused("{\"instructions\": \"{{a}}\"}",
                  "{\"a\": {\"type\": \"input_file\", \"file_id\": \"f\"}}",
                  "prompt.variables.a", "expected a string, but got an object");
}

TEST(the_filled_in_text_has_a_limit)
{
    size_t length = PROMPT_TEXT_LIMIT / 3;
    char *text = mem_new_array(char, length + 1);
    AUTO_FREE char *variables = NULL;

    memset(text, 'x', length);
    variables = mem_printf("{\"a\": \"%s\"}", text);
    apply_refused("{\"instructions\": \"{{a}}{{a}}{{a}}{{a}}\"}", variables, "prompt.variables",
                  "string too long");
    free(text);
}

static void refused(const char *text, const char *param, const char *complaint)
{
    json_auto_t *body = parse(text);
    json_t *template = NULL;

    assert_int_equal(prompt_template_parse(body, &template, &err), ERR_INVALID);
    assert_null(template);
    assert_string_equal(err.place, param);
    if (!strstr(err.text, complaint))
        fail_msg("'%s' does not say '%s'", err.text, complaint);
}

TEST(a_template_is_checked_like_a_request)
{
    refused("{}", "instructions", "Missing required parameter: 'instructions'.");
    refused("{\"instructions\": 1}", "instructions", "Invalid type for 'instructions'");
    refused("{\"instructions\": \"x\", \"temperature\": 3}", "temperature", "Invalid");
    refused("{\"instructions\": \"x\", \"tools\": [{\"type\": \"nothing\"}]}", "tools[0].type",
            "Invalid value");
    refused("{\"input\": [{\"type\": \"function_call\", \"call_id\": \"c\", \"name\": \"f\", "
            "\"arguments\": \"{}\"}]}",
            "input[0].type", "Supported values are: 'message'.");
}

TEST(an_unknown_version_is_not_found)
{
    static const char *const wrong[] = {"", "0", "-1", "1x", "9999999999"};
    int version = 7;

    assert_int_equal(prompt_version_parse("pmpt_1", "12", &version, &err), ERR_OK);
    assert_int_equal(version, 12);
    assert_int_equal(prompt_version_parse("pmpt_1", NULL, &version, &err), ERR_OK);
    assert_int_equal(version, 0);
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(prompt_version_parse("pmpt_1", wrong[i], &version, &err),
                         ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_listed_once_in_order),
        cmocka_unit_test(text_is_filled_in),
        cmocka_unit_test(messages_come_with_the_instructions_in_front),
        cmocka_unit_test(a_picture_splits_the_text_around_it),
        cmocka_unit_test(settings_of_the_request_win_over_the_template),
        cmocka_unit_test(every_variable_must_be_given_and_no_other),
        cmocka_unit_test(the_filled_in_text_has_a_limit),
        cmocka_unit_test(a_template_is_checked_like_a_request),
        cmocka_unit_test(an_unknown_version_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
