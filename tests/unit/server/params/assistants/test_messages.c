#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/params/assistants/messages.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

static void expect_json(const char *got, const char *wanted)
{
    json_auto_t *a = json_parse_own(got);
    json_auto_t *b = quoted_json(wanted);

    if (!json_equal(a, b))
        print_error("got %s\nwanted %s\n", got, wanted);
    assert_true(json_equal(a, b));
}

/* The row of a valid message. */
static void becomes(const char *message, const char *item_body)
{
    json_auto_t *json = quoted_json(message);
    struct item_row item = {0};
    struct err err = {0};
    enum err_code rc = message_decode(json, "", "thread_1", &item, &err);

    if (rc)
        print_error("%s: %s\n", message, err.text);
    assert_int_equal(rc, ERR_OK);
    expect_json(item.body, item_body);
    item_row_clear(&item);
}

static void refused(const char *message, const char *api_code, const char *param,
                    const char *complaint)
{
    json_auto_t *json = quoted_json(message);
    struct item_row item = {0};
    struct err err = {0};

    assert_int_equal(message_decode(json, "", "", &item, &err), ERR_INVALID);
    assert_string_equal(err.text, complaint);
    assert_string_equal(err.place, param);
    assert_string_equal(err.word, api_code);
    assert_null(item.body);
}

TEST(a_message_is_an_item_of_its_thread)
{
    json_auto_t *json = quoted_json("{'role':'user','content':'hi','metadata':{'a':'b'}}");
    struct item_row item = {0};
    int64_t before = clock_wall_us();

    assert_int_equal(message_decode(json, "", "thread_1", &item, NULL), ERR_OK);
    assert_true(id_has_prefix(item.id, "msg_"));
    assert_string_equal(item.thread_id, "thread_1");
    assert_string_equal(item.run_id, "");
    assert_int_equal(item.type, ITEM_MESSAGE);
    assert_string_equal(item.role, "user");
    assert_int_equal(item.status, ITEM_COMPLETED);
    assert_true(item.input);
    assert_false(item.hidden);
    assert_int_equal(item.turn, -1);
    assert_true(item.created_at >= before && item.completed_at == item.created_at);
    expect_json(item.metadata, "{'a':'b'}");
    item_row_clear(&item);
}

TEST(a_string_is_one_part_of_text)
{
    becomes("{'role':'user','content':'hi'}",
            "{'role':'user','content':[{'type':'input_text','text':'hi'}],'attachments':[]}");
    becomes(
        "{'role':'assistant','content':'hi'}",
        "{'role':'assistant','content':[{'type':'output_text','annotations':[],'logprobs':[],"
        "'text':'hi'}],'attachments':[]}");
}

TEST(parts_become_parts)
{
    becomes("{'role':'user','content':[{'type':'text','text':'look'},"
            "{'type':'image_url','image_url':{'url':'https://a/b.png'}},"
            "{'type':'image_file','image_file':{'file_id':'file-1','detail':'low'}}]}",
            "{'role':'user','content':[{'type':'input_text','text':'look'},"
            "{'type':'input_image','image_url':'https://a/b.png','detail':'auto'},"
            "{'type':'input_image','file_id':'file-1','detail':'low'}],'attachments':[]}");
}

TEST(attachments_are_kept)
{
    becomes("{'role':'user','content':'x','attachments':null}",
            "{'role':'user','content':[{'type':'input_text','text':'x'}],'attachments':[]}");
    becomes(
        "{'role':'user','content':'x','attachments':[{'file_id':'file-1','tools':"
        "[{'type':'file_search'},{'type':'code_interpreter'}]}]}",
        "{'role':'user','content':[{'type':'input_text','text':'x'}],'attachments':"
        "[{'file_id':'file-1','tools':[{'type':'file_search'},{'type':'code_interpreter'}]}]}");
}

TEST(a_message_has_a_role_and_content)
{
    refused("{'content':'x'}", "missing_required_parameter", "role",
            "Missing required parameter: 'role'.");
    refused("{'role':'system','content':'x'}", "invalid_value", "role",
            "Invalid value: 'system'. Supported values are: 'user' and 'assistant'.");
    refused("{'role':'user'}", "missing_required_parameter", "content",
            "Missing required parameter: 'content'.");
    refused("{'role':'user','content':null}", "invalid_type", "content",
            "Invalid type for 'content': expected one of a string or an array, but got null "
            "instead.");
    refused(
        "{'role':'user','content':''}", "empty_string", "content",
        "Invalid 'content': empty string. Expected a string with minimum length 1, but got an "
        "empty string instead.");
    refused(
        "{'role':'user','content':[]}", "empty_array", "content",
        "Invalid 'content': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead.");
}

TEST(parts_have_known_types_and_their_fields)
{
    refused("{'role':'user','content':['x']}", "invalid_type", "content[0]",
            "Invalid type for 'content[0]': expected an object, but got a string instead.");
    refused("{'role':'user','content':[{'type':'audio'}]}", "invalid_value", "content[0].type",
            "Invalid value: 'audio'. Supported values are: 'text', 'image_url', and "
            "'image_file'.");
    refused(
        "{'role':'user','content':[{'type':'text','text':{}}]}", "invalid_type",
        "content[0].text",
        "Invalid type for 'content[0].text': expected a string, but got an object instead.");
    refused("{'role':'user','content':[{'type':'image_url','image_url':{'url':'ftp://a'}}]}",
            "invalid_value", "content[0].image_url.url",
            "Invalid 'content[0].image_url.url'. Expected a valid URL, but got a value with an "
            "invalid format.");
    refused("{'role':'user','content':[{'type':'image_file','image_file':{'file_id':'x'}}]}",
            "invalid_value", "content[0].image_file.file_id",
            "Invalid 'content[0].image_file.file_id': 'x'. Expected an ID that begins with "
            "'file'.");
    refused(
        "{'role':'assistant','content':[{'type':'image_url','image_url':{'url':'http://a'}}]}",
        "invalid_value", "content[0].type",
        "Invalid value: 'image_url'. Supported values are: 'text'.");
}

TEST(a_message_has_limits)
{
    json_auto_t *json = quoted_json("{'role':'user','content':[]}");
    json_t *content = json_object_get(json, "content");
    AUTO_FREE char *text = mem_zeroed(MESSAGE_TEXT_LIMIT + 2, 1);
    struct item_row item = {0};
    struct err err;

    for (size_t i = 0; i <= MESSAGE_PART_LIMIT; i++)
        json_array_append_new(content, json_build("{s:s, s:s}", "type", "text", "text", "x"));
    assert_int_equal(message_decode(json, "", "", &item, &err), ERR_INVALID);
    assert_string_equal(err.word, "array_above_max_length");
    memset(text, 'x', MESSAGE_TEXT_LIMIT + 1);
    json_set_string(json, "content", text);
    assert_int_equal(message_decode(json, "messages[3]", "", &item, &err), ERR_INVALID);
    assert_string_equal(err.word, "string_above_max_length");
    assert_string_equal(err.place, "messages[3].content");
}

TEST(attachments_name_files_and_tools)
{
    refused("{'role':'user','content':'x','attachments':[{}]}", "missing_required_parameter",
            "attachments[0].file_id", "Missing required parameter: 'attachments[0].file_id'.");
    refused("{'role':'user','content':'x','attachments':[{'file_id':'file-1','tools':"
            "[{'type':'function'}]}]}",
            "invalid_value", "attachments[0].tools[0].type",
            "Invalid value: 'function'. Supported values are: 'code_interpreter' and "
            "'file_search'.");
}

TEST(lists_of_messages_say_which_one_is_wrong)
{
    json_auto_t *good = quoted_json("{'additional_messages':[{'role':'user','content':'a'},"
                                    "{'role':'assistant','content':'b'}]}");
    json_auto_t *bad = quoted_json("{'additional_messages':[{'role':'user','content':'a'},"
                                   "{'role':'user'}]}");
    json_auto_t *none = quoted_json("{'additional_messages':null}");
    struct item_row *items = NULL;
    size_t count = 7;
    struct err err;

    assert_int_equal(
        messages_decode(none, "", "additional_messages", "thread_1", &items, &count, &err),
        ERR_OK);
    assert_int_equal(count, 0);
    item_rows_free(items, count);
    assert_int_equal(
        messages_decode(good, "", "additional_messages", "thread_1", &items, &count, &err),
        ERR_OK);
    assert_int_equal(count, 2);
    assert_string_equal(items[1].role, "assistant");
    assert_true(strcmp(items[0].id, items[1].id) < 0);
    item_rows_free(items, count);
    items = NULL;
    assert_int_equal(
        messages_decode(bad, "", "additional_messages", "thread_1", &items, &count, &err),
        ERR_INVALID);
    assert_string_equal(err.place, "additional_messages[1].content");
    assert_null(items);
}

TEST(a_thread_is_made_with_its_messages)
{
    json_auto_t *json =
        quoted_json("{'messages':[{'role':'user','content':'a'}],'metadata':{'k':'v'},"
                    "'tool_resources':{'code_interpreter':{'file_ids':['file-1']}}}");
    json_auto_t *empty = json_object();
    struct thread_row thread = {0};
    struct item_row *messages = NULL;
    size_t count = 0;

    assert_int_equal(thread_decode(json, "", &thread, &messages, &count, NULL), ERR_OK);
    assert_true(id_has_prefix(thread.id, "thread_"));
    assert_int_equal(count, 1);
    assert_string_equal(messages[0].thread_id, thread.id);
    expect_json(thread.metadata, "{'k':'v'}");
    expect_json(thread.tool_resources, "{'code_interpreter':{'file_ids':['file-1']}}");
    item_rows_free(messages, count);
    thread_row_clear(&thread);

    assert_int_equal(thread_decode(empty, "", &thread, &messages, &count, NULL), ERR_OK);
    assert_int_equal(count, 0);
    expect_json(thread.metadata, "{}");
    item_rows_free(messages, count);
    thread_row_clear(&thread);
}

TEST(a_bad_thread_says_where)
{
    static const struct {
        const char *json;
        const char *param;
    } cases[] = {
        {"{'messages':[{'role':'user','content':3}]}", "thread.messages[0].content"},
        {"{'messages':{}}", "thread.messages"},
        {"{'metadata':{'a':1}}", "thread.metadata.a"},
        {"{'messages':[{'role':'user','content':'x','metadata':{'a':1}}]}",
         "thread.messages[0].metadata.a"},
        {"{'tool_resources':{'code_interpreter':{'file_ids':[1]}}}",
         "thread.tool_resources.code_interpreter.file_ids[0]"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_auto_t *json = quoted_json(cases[i].json);
        struct thread_row thread = {0};
        struct item_row *messages = NULL;
        size_t count;
        struct err err;

        assert_int_equal(thread_decode(json, "thread", &thread, &messages, &count, &err),
                         ERR_INVALID);
        assert_string_equal(err.place, cases[i].param);
        assert_null(messages);
        assert_null(thread.metadata);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_an_item_of_its_thread),
        cmocka_unit_test(a_string_is_one_part_of_text),
        cmocka_unit_test(parts_become_parts),
        cmocka_unit_test(attachments_are_kept),
        cmocka_unit_test(a_message_has_a_role_and_content),
        cmocka_unit_test(parts_have_known_types_and_their_fields),
        cmocka_unit_test(a_message_has_limits),
        cmocka_unit_test(attachments_name_files_and_tools),
        cmocka_unit_test(lists_of_messages_say_which_one_is_wrong),
        cmocka_unit_test(a_thread_is_made_with_its_messages),
        cmocka_unit_test(a_bad_thread_says_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
