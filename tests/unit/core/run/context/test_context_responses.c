#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/context_responses.h"
#include "core/tool/registry.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

static const struct tool_handler function = {
    .name = "function", .flags = TOOL_NAMED | TOOL_AS_WRITTEN, .parameters = "{}"};
static const struct tool_handler custom = {
    .name = "custom", .flags = TOOL_NAMED | TOOL_FREE_TEXT, .parameters = "{}"};
static const struct tool_handler *const all[] = {&function, &custom, NULL};

static struct tool_set tools;

static const struct run_settings unset;

static int set_tools(void **state)
{
    json_auto_t *list =
        quoted_json("[{'type':'function','name':'f','parameters':{'type':'object'}},"
                    "{'type':'custom','name':'sql','format':{'type':'text'}}]");
    struct err err;

    (void)state;
    tool_registry_set(all);
    return tool_set_init(&tools, list, &unset, &err) ? -1 : 0;
}

static int clear_tools(void **state)
{
    (void)state;
    tool_set_clear(&tools);
    tool_registry_set(NULL);
    return 0;
}

/* What the member `key` of the request becomes. */
static void assert_member(const char *chat_text, const char *key, const char *expected)
{
    json_auto_t *chat = quoted_json(chat_text);
    const struct run_settings settings = {.reasoning_summary = "auto"};
    json_auto_t *request = context_responses(chat, &settings, &tools, "here");
    json_auto_t *wanted = quoted_json(expected);
    AUTO_FREE char *got = json_text(json_object_get(request, key));

    if (!json_equal(json_object_get(request, key), wanted))
        fail_msg("%s became %s", chat_text, got);
    assert_true(json_is_false(json_object_get(request, "store")));
    assert_null(json_object_get(request, "messages"));
}

static void assert_input(const char *messages, const char *items)
{
    AUTO_FREE char *chat = mem_printf("{'model':'m','messages':[%s]}", messages);
    AUTO_FREE char *expected = mem_printf("[%s]", items);

    assert_member(chat, "input", expected);
}

TEST(messages_become_items)
{
    assert_input("{'role':'system','content':'s'},{'role':'user','content':'u'}",
                 "{'type':'message','role':'system','content':'s'},"
                 "{'type':'message','role':'user','content':'u'}");
    assert_input("{'role':'user','content':[{'type':'text','text':'u'},{'type':'image_url',"
                 "'image_url':{'url':'x'}},{'type':'file','file':{'file_id':'f'}},"
                 "{'type':'input_audio','input_audio':{}}]}",
                 "{'type':'message','role':'user','content':[{'type':'input_text','text':'u'},"
                 "{'type':'input_image','image_url':'x','detail':'auto'},"
                 "{'type':'input_file','file_id':'f'},"
                 "{'type':'input_audio','input_audio':{}}]}");
    assert_input("{'role':'assistant','content':'a'}",
                 "{'type':'message','role':'assistant','status':'completed','content':"
                 "[{'type':'output_text','text':'a','annotations':[]}]}");
}

#define CALL(id, name, arguments)                                                            \
    "{'id':'" id "','type':'function','function':{'name':'" name "','arguments':'" arguments \
    "'}}"

TEST(calls_and_outputs_are_items_of_their_kind)
{
    assert_input(
        "{'role':'assistant','content':null,'tool_calls':[" CALL("c1", "f", "{}") "," CALL(
            "c2", "sql",
            "{\\'input\\':\\'x\\'}") "]},"
                                     "{'role':'tool','tool_call_id':'c1','content':'1'},"
                                     "{'role':'tool','tool_call_id':'c2','content':[{'type':'"
                                     "text','text':'2'}]}",
        "{'type':'function_call','call_id':'c1','name':'f','arguments':'{}','status':'"
        "completed'},"
        "{'type':'custom_tool_call','call_id':'c2','name':'sql','input':'x'},"
        "{'type':'function_call_output','call_id':'c1','output':'1'},"
        "{'type':'custom_tool_call_output','call_id':'c2','output':"
        "[{'type':'input_text','text':'2'}]}");
}

/* Models use ids again. */
TEST(an_output_belongs_to_the_last_call_of_its_id)
{
    assert_input(
        "{'role':'assistant','content':null,'tool_calls':[" CALL(
            "c", "sql", "{}") "]},"
                              "{'role':'tool','tool_call_id':'c','content':'1'},"
                              "{'role':'assistant','content':null,'tool_calls':[" CALL(
                                  "c", "f",
                                  "{}") "]},"
                                        "{'role':'tool','tool_call_id':'c','content':'2'}",
        "{'type':'custom_tool_call','call_id':'c','name':'sql','input':''},"
        "{'type':'custom_tool_call_output','call_id':'c','output':'1'},"
        "{'type':'function_call','call_id':'c','name':'f','arguments':'{}','status':'completed'"
        "},"
        "{'type':'function_call_output','call_id':'c','output':'2'}");
}

#define ANSWER(reasoning) "{'role':'assistant','content':'a','reasoning_items':[" reasoning "]}"
#define SAID                                                               \
    "{'type':'message','role':'assistant','status':'completed','content':" \
    "[{'type':'output_text','text':'a','annotations':[]}]}"

TEST(reasoning_is_sent_to_its_own_upstream_only)
{
    assert_input(
        ANSWER("{'id':'rs_1','summary':[],'runnel':{'upstream':'here',"
               "'upstream_id':'rs_up','encrypted_content':'gA'}}"),
        "{'type':'reasoning','id':'rs_up','summary':[],'encrypted_content':'gA'}," SAID);
    assert_input(ANSWER("{'id':'rs_1','summary':[],'encrypted_content':'gA','runnel':{"
                        "'upstream':'elsewhere'}}"),
                 SAID);
    assert_input(
        ANSWER("{'id':'rs_1','encrypted_content':'gA'}"),
        "{'type':'reasoning','id':'rs_1','summary':[],'encrypted_content':'gA'}," SAID);
    assert_input(ANSWER("{'id':'rs_1','summary':[{'type':'summary_text','text':'s'}]}"), SAID);
    assert_input(ANSWER("{'id':'rs_1','content':[{'type':'reasoning_text','text':'r'}]}"),
                 "{'type':'reasoning','id':'rs_1','summary':[],'content':"
                 "[{'type':'reasoning_text','text':'r'}]}," SAID);
}

TEST(tools_are_flat_and_not_strict_by_default)
{
    static const char offer[] =
        "{'messages':[],'tools':[{'type':'function','function':{'name':'f','parameters':{}}},"
        "{'type':'function','function':{'name':'g','strict':true}},"
        "{'type':'function','function':{'name':'sql','parameters':{}}}]}";

    assert_member(offer, "tools",
                  "[{'type':'function','name':'f','parameters':{},'strict':false},"
                  "{'type':'function','name':'g','parameters':null,'strict':true},"
                  "{'type':'custom','name':'sql','format':{'type':'text'}}]");
}

TEST(other_settings_are_translated_to_the_responses_api)
{
    /* clang-format off */
    static const struct {
        const char *chat;
        const char *key;
        const char *expected;
    } cases[] = {
        {"{'max_completion_tokens':7}",   "max_output_tokens", "7"},
        {"{'parallel_tool_calls':false}", "parallel_tool_calls", "false"},
        {"{'reasoning_effort':'low'}",    "reasoning", "{'effort':'low','summary':'auto'}"},
        {"{'verbosity':'low'}",           "text", "{'verbosity':'low'}"},
        {"{'response_format':{'type':'json_object'}}", "text", "{'format':{'type':'json_object'}}"},
        {"{'response_format':{'type':'json_schema','json_schema':{'name':'n','schema':{}}}}", "text",
         "{'format':{'type':'json_schema','name':'n','schema':{}}}"},
        {"{'tool_choice':'none'}",        "tool_choice", "'none'"},
        {"{'tool_choice':{'type':'function','function':{'name':'f'}}}", "tool_choice", "{'type':'function','name':'f'}"},
        {"{'tool_choice':{'type':'function','function':{'name':'sql'}}}", "tool_choice", "{'type':'custom','name':'sql'}"},
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *chat = mem_printf("[%s]", cases[i].chat);
        AUTO_FREE char *expected = mem_printf("[%s]", cases[i].expected);
        json_auto_t *given = quoted_json(chat);
        json_auto_t *wanted = quoted_json(expected);
        const struct run_settings settings = {.reasoning_summary = "auto"};
        json_auto_t *request =
            context_responses(json_array_get(given, 0), &settings, &tools, "here");

        assert_true(
            json_equal(json_object_get(request, cases[i].key), json_array_get(wanted, 0)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_become_items),
        cmocka_unit_test(calls_and_outputs_are_items_of_their_kind),
        cmocka_unit_test(an_output_belongs_to_the_last_call_of_its_id),
        cmocka_unit_test(reasoning_is_sent_to_its_own_upstream_only),
        cmocka_unit_test(tools_are_flat_and_not_strict_by_default),
        cmocka_unit_test(other_settings_are_translated_to_the_responses_api),
    };

    return cmocka_run_group_tests(tests, set_tools, clear_tools);
}
