#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/registry.h"
#include "handlers/handlers.h"
#include "server/encode/encode.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

#define SECOND ((int64_t)1000000)

/* Takes `got`. Keys are compared in order: the text of the two must be the same. */
static void expect(json_t *got, const char *wanted)
{
    AUTO_FREE char *json = quoted(wanted);
    AUTO_FREE char *text = json_text(got);

    assert_string_equal(text, json);
    json_decref(got);
}

/* One member of an object. */
static void expect_member(const json_t *object, const char *key, const char *wanted)
{
    json_t *value = json_object_get(object, key);

    if (!value)
        print_error("no member %s\n", key);
    assert_non_null(value);
    expect(json_incref(value), wanted);
}

/* ---- Assistants and threads ---- */

TEST(an_assistant_has_every_field)
{
    AUTO_FREE char *body = quoted("{'model':'gpt-4o','name':'Math Tutor','temperature':0.7,"
                                  "'tools':[{'type':'code_interpreter'}]}");
    struct assistant_row row = {
        .id = "asst_1", .body = body, .created_at = 1698984975 * SECOND};

    expect(
        encode_assistant(&row),
        "{'id':'asst_1','object':'assistant','created_at':1698984975,'name':'Math Tutor',"
        "'description':null,'model':'gpt-4o','instructions':null,"
        "'tools':[{'type':'code_interpreter'}],'tool_resources':{},'metadata':{},'top_p':1.0,"
        "'temperature':0.7,'reasoning_effort':null,'response_format':'auto'}");
}

TEST(a_thread_shows_its_metadata_and_resources)
{
    AUTO_FREE char *metadata = quoted("{'a':'b'}");
    struct thread_row row = {.id = "thread_1", .metadata = metadata, .created_at = 5 * SECOND};
    char id[ID_SIZE];

    expect(encode_thread(&row),
           "{'id':'thread_1','object':'thread','created_at':5,'metadata':{'a':'b'},"
           "'tool_resources':{}}");
    encode_conversation_id(row.id, id);
    assert_string_equal(id, "conv_1");
}

/* ---- Messages ---- */

TEST(a_message_of_a_user)
{
    AUTO_FREE char *body =
        quoted("{'role':'user','content':[{'type':'input_text','text':'How?'},"
               "{'type':'input_image','file_id':'file-1','detail':'low'},"
               "{'type':'input_image','image_url':'https://a/b.png','detail':'auto'}],"
               "'attachments':[{'file_id':'file-2','tools':[{'type':'file_search'}]}]}");
    struct item_row row = {.id = "msg_1",
                           .thread_id = "thread_1",
                           .status = ITEM_COMPLETED,
                           .type = ITEM_MESSAGE,
                           .role = "user",
                           .body = body,
                           .created_at = 10 * SECOND,
                           .completed_at = 10 * SECOND};

    expect(
        encode_message(&row),
        "{'id':'msg_1','object':'thread.message','created_at':10,'assistant_id':null,"
        "'thread_id':'thread_1','run_id':null,'status':'completed','incomplete_details':null,"
        "'incomplete_at':null,'completed_at':10,'role':'user','content':["
        "{'type':'text','text':{'value':'How?','annotations':[]}},"
        "{'type':'image_file','image_file':{'file_id':'file-1','detail':'low'}},"
        "{'type':'image_url','image_url':{'url':'https://a/b.png','detail':'auto'}}],"
        "'attachments':[{'file_id':'file-2','tools':[{'type':'file_search'}]}],"
        "'metadata':{}}");
}

TEST(a_message_that_begins_has_no_content)
{
    struct item_row row = {.id = "msg_1",
                           .thread_id = "thread_1",
                           .run_id = "run_1",
                           .assistant_id = "asst_1",
                           .status = ITEM_IN_PROGRESS,
                           .type = ITEM_MESSAGE,
                           .role = "assistant",
                           .created_at = 10 * SECOND};

    expect(encode_message(&row),
           "{'id':'msg_1','object':'thread.message','created_at':10,'assistant_id':'asst_1',"
           "'thread_id':'thread_1','run_id':'run_1','status':'in_progress',"
           "'incomplete_details':null,'incomplete_at':null,'completed_at':null,"
           "'role':'assistant','content':[],'attachments':[],'metadata':{}}");
}

TEST(a_message_that_was_cut_says_why)
{
    AUTO_FREE char *body =
        quoted("{'role':'assistant','content':[{'type':'refusal',"
               "'refusal':'no'}],'runnel':{'incomplete_reason':'max_tokens'}}");
    struct item_row row = {.id = "msg_1",
                           .status = ITEM_INCOMPLETE,
                           .role = "assistant",
                           .body = body,
                           .created_at = 10 * SECOND,
                           .completed_at = 12 * SECOND};
    json_auto_t *message = encode_message(&row);

    expect_member(message, "status", "'incomplete'");
    expect_member(message, "incomplete_details", "{'reason':'max_tokens'}");
    expect_member(message, "incomplete_at", "12");
    expect_member(message, "completed_at", "null");
    expect_member(message, "content", "[{'type':'refusal','refusal':'no'}]");
    row.status = ITEM_FAILED;
    row.body = NULL;
    json_decref(message);
    message = encode_message(&row);
    expect_member(message, "status", "'incomplete'");
    expect_member(message, "incomplete_details", "{'reason':'run_failed'}");
}

TEST(citations_change_their_shape)
{
    AUTO_FREE char *body =
        quoted("{'content':[{'type':'output_text','text':'see','annotations':["
               "{'type':'file_citation','file_id':'file-1','index':3,'filename':'a.txt'},"
               "{'type':'url_citation','url':'https://a','start_index':0,'end_index':1,"
               "'title':'t'}],'logprobs':[]}]}");
    struct item_row row = {.id = "msg_1", .role = "assistant", .body = body};
    json_auto_t *message = encode_message(&row);

    expect_member(
        message, "content",
        "[{'type':'text','text':{'value':'see','annotations':[{'type':'file_citation',"
        "'text':'','start_index':3,'end_index':3,'file_citation':{'file_id':'file-1'}}]"
        "}}]");
}

/* ---- Runs ---- */

TEST(a_queued_run_has_every_field)
{
    AUTO_FREE char *config = quoted("{'model':'gpt-4o','instructions':null,'tools':[],"
                                    "'truncation_strategy':{'type':'auto'}}");
    AUTO_FREE char *usage = quoted("{'input_tokens':1,'output_tokens':2,'total_tokens':3}");
    struct run_row row = {.id = "run_1",
                          .thread_id = "thread_1",
                          .assistant_id = "asst_1",
                          .status = RUN_QUEUED,
                          .config = config,
                          .usage = usage,
                          .created_at = 1699076792 * SECOND,
                          .expires_at = 1699077392 * SECOND};

    expect(
        encode_run(&row),
        "{'id':'run_1','object':'thread.run','created_at':1699076792,'assistant_id':'asst_1',"
        "'thread_id':'thread_1','status':'queued','started_at':null,'expires_at':1699077392,"
        "'cancelled_at':null,'failed_at':null,'completed_at':null,'required_action':null,"
        "'last_error':null,'incomplete_details':null,'model':'gpt-4o','instructions':'',"
        "'tools':[],'tool_resources':{},'temperature':1.0,'top_p':1.0,"
        "'max_completion_tokens':null,'max_prompt_tokens':null,"
        "'truncation_strategy':{'type':'auto','last_messages':null},'reasoning_effort':null,"
        "'response_format':'auto','tool_choice':'auto','parallel_tool_calls':true,"
        "'metadata':{},'usage':null}");
}

TEST(a_run_that_ended_has_usage_and_no_deadline)
{
    AUTO_FREE char *usage =
        quoted("{'input_tokens':123,'output_tokens':456,'total_tokens':579}");
    AUTO_FREE char *error = quoted("{'code':'context_length_exceeded','message':'too much'}");
    struct run_row row = {.status = RUN_FAILED,
                          .usage = usage,
                          .error = error,
                          .created_at = SECOND,
                          .failed_at = 7 * SECOND,
                          .expires_at = 601 * SECOND};
    json_auto_t *run = encode_run(&row);

    expect_member(run, "usage",
                  "{'prompt_tokens':123,'completion_tokens':456,'total_tokens':579}");
    expect_member(run, "expires_at", "null");
    expect_member(run, "failed_at", "7");
    expect_member(run, "last_error", "{'code':'context_length_exceeded','message':'too much'}");
}

TEST(a_required_action_is_shown_while_it_is_required)
{
    AUTO_FREE char *action = quoted("{'type':'submit_tool_outputs'}");
    struct run_row row = {.status = RUN_REQUIRES_ACTION, .required_action = action};
    json_auto_t *waiting = encode_run(&row);
    json_auto_t *going_on = NULL;

    expect_member(waiting, "required_action", "{'type':'submit_tool_outputs'}");
    row.status = RUN_IN_PROGRESS;
    going_on = encode_run(&row);
    expect_member(going_on, "required_action", "null");
}

TEST(each_face_names_the_limit_as_its_api_does)
{
    static const struct {
        const char *stored, *run, *response;
    } cases[] = {
        {"max_output_tokens", "max_completion_tokens", "max_output_tokens"},
        {"max_completion_tokens", "max_completion_tokens", "max_output_tokens"},
        {"max_prompt_tokens", "max_prompt_tokens", "max_output_tokens"},
        {"content_filter", "", "content_filter"}, /* runs have no value for it */
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *incomplete = mem_printf("{\"reason\":\"%s\"}", cases[i].stored);
        struct run_row row = {.status = RUN_INCOMPLETE, .incomplete = incomplete};
        json_auto_t *run = encode_run(&row);
        json_auto_t *response = encode_response(&row, json_array());

        assert_string_equal(
            json_get_string(json_object_get(run, "incomplete_details"), "reason", ""),
            cases[i].run);
        assert_string_equal(
            json_get_string(json_object_get(response, "incomplete_details"), "reason", ""),
            cases[i].response);
    }
}

/* ---- Steps ---- */

TEST(a_message_step_names_its_message)
{
    AUTO_FREE char *usage = quoted("{'input_tokens':20,'output_tokens':11,'total_tokens':31}");
    struct item_row items[] = {{.id = "msg_0", .type = ITEM_MESSAGE, .hidden = true},
                               {.id = "msg_1", .type = ITEM_MESSAGE}};
    struct step_load load = {.step = {.id = "step_1",
                                      .run_id = "run_1",
                                      .thread_id = "thread_1",
                                      .assistant_id = "asst_1",
                                      .type = STEP_MESSAGE,
                                      .status = STEP_COMPLETED,
                                      .usage = usage,
                                      .created_at = 4 * SECOND,
                                      .completed_at = 5 * SECOND},
                             .items = items,
                             .item_count = COUNT_OF(items)};

    expect(
        encode_step(&load, 0),
        "{'id':'step_1','object':'thread.run.step','created_at':4,'run_id':'run_1',"
        "'assistant_id':'asst_1','thread_id':'thread_1','type':'message_creation',"
        "'status':'completed','cancelled_at':null,'completed_at':5,'expired_at':null,"
        "'expires_at':null,'failed_at':null,'last_error':null,'step_details':"
        "{'type':'message_creation','message_creation':{'message_id':'msg_1'}},'metadata':{},"
        "'usage':{'prompt_tokens':20,'completion_tokens':11,'total_tokens':31}}");
}

TEST(a_tool_step_shows_calls_with_their_outputs)
{
    AUTO_FREE char *first = quoted("{'call_id':'call_1','name':'f','arguments':'{}'}");
    AUTO_FREE char *second = quoted("{'call_id':'call_2','name':'g','arguments':'{}'}");
    AUTO_FREE char *output = quoted("{'call_id':'call_2','output':'sunny'}");
    struct item_row items[] = {
        {.id = "fc_1", .type = ITEM_FUNCTION_CALL, .call_id = "call_1", .body = first},
        {.id = "fc_2", .type = ITEM_FUNCTION_CALL, .call_id = "call_2", .body = second},
        {.id = "fc_3", .type = ITEM_FUNCTION_CALL, .call_id = "call_3", .hidden = true},
        {.id = "o_2", .type = ITEM_FUNCTION_CALL_OUTPUT, .call_id = "call_2", .body = output},
    };
    struct step_load load = {.step = {.type = STEP_TOOL_CALLS, .status = STEP_IN_PROGRESS},
                             .items = items,
                             .item_count = COUNT_OF(items)};
    json_auto_t *step = encode_step(&load, 0);

    expect_member(step, "step_details",
                  "{'type':'tool_calls','tool_calls':["
                  "{'id':'call_1','type':'function','function':{'name':'f','arguments':'{}',"
                  "'output':null}},"
                  "{'id':'call_2','type':'function','function':{'name':'g','arguments':'{}',"
                  "'output':'sunny'}}]}");
    expect_member(step, "usage", "null");
}

/* The function of an item's call, as text. */
static char *function_of(const char *type, const char *item_body)
{
    AUTO_FREE char *body = quoted(item_body);
    struct item_row item = {.id = "x_1", .body = body};
    json_auto_t *call = NULL;

    item_row_set_type(&item, type);
    call = encode_tool_call(&item, NULL, 0);
    return call ? json_text(json_object_get(call, "function")) : NULL;
}

TEST(calls_of_every_kind_look_like_functions)
{
    static const struct {
        const char *type, *body, *function;
    } cases[] = {
        {"mcp_call", "{'name':'n','arguments':'{}','output':'done','error':null}",
         "{'name':'n','arguments':'{}','output':'done'}"},
        {"mcp_call", "{'name':'n','arguments':'{}','output':null,'error':null}",
         "{'name':'n','arguments':'{}','output':null}"},
        {"mcp_call",
         "{'name':'n','arguments':'','output':null,'error':{'type':'mcp_tool_execution_error',"
         "'content':[{'type':'text','text':'it broke'}]}}",
         "{'name':'n','arguments':'','output':'it broke'}"},
        {"mcp_call",
         "{'name':'n','arguments':'','output':null,'error':{'type':'http_error','code':502,"
         "'message':'Bad Gateway'}}",
         "{'name':'n','arguments':'','output':'Bad Gateway'}"},
        {"custom_tool_call", "{'name':'note','input':'hi'}",
         "{'name':'note','arguments':'{\\'input\\':\\'hi\\'}','output':null}"},
        {"local_shell_call", "{'action':{'type':'exec','command':['ls']}}",
         "{'name':'local_shell','arguments':'{\\'type\\':\\'exec\\',\\'command\\':[\\'ls\\']}',"
         "'output':null}"},
        {"tide_call", "{'runnel':{'name':'rain','arguments':'{}','output':'wet'}}",
         "{'name':'rain','arguments':'{}','output':'wet'}"},
        {"web_search_call", "{'runnel':{'name':'find','arguments':'{}','output':'found'}}",
         "{'name':'find','arguments':'{}','output':'found'}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *function = function_of(cases[i].type, cases[i].body);
        AUTO_FREE char *wanted = quoted(cases[i].function);

        assert_non_null(function);
        assert_string_equal(function, wanted);
    }
    assert_null(function_of("mcp_list_tools", "{}"));
    assert_null(function_of("reasoning", "{}"));
}

TEST(a_search_shows_its_text_only_when_included)
{
    static const struct tool_handler search = {.name = "search", .item = &file_search_item};
    static const struct tool_handler *const handlers[] = {&search, NULL};
    static const char *const shown[] = {
        [0] =
            "{'id':'call_1','type':'file_search','file_search':{'results':[{'file_id':'file-1',"
            "'file_name':'a.txt','score':0.5}]}}",
        [RUN_INCLUDE_SEARCH_CONTENT] =
            "{'id':'call_1','type':'file_search','file_search':{'results':[{'file_id':'file-1',"
            "'file_name':'a.txt','score':0.5,'content':[{'type':'text','text':'It says.'}]}]}}",
    };
    AUTO_FREE char *body =
        quoted("{'queries':['x'],'results':[{'file_id':'file-1','filename':'a.txt','score':0.5,"
               "'text':'It "
               "says.','attributes':{}}],'runnel':{'name':'file_search','output':'It says.'}}");
    struct item_row call = {.type = ITEM_FILE_SEARCH_CALL, .call_id = "call_1", .body = body};

    tool_registry_set(handlers);
    for (unsigned include = 0; include < COUNT_OF(shown); include++) {
        json_auto_t *encoded = encode_tool_call(&call, NULL, include);
        AUTO_FREE char *text = json_text(encoded);
        AUTO_FREE char *wanted = quoted(shown[include]);

        assert_string_equal(text, wanted);
    }
    handlers_register();
}

TEST(outputs_with_several_parts_become_one_text)
{
    AUTO_FREE char *body = quoted("{'output':[{'type':'input_text','text':'a'},"
                                  "{'type':'input_text','text':'b'}]}");
    AUTO_FREE char *call_body = quoted("{'name':'f','arguments':'{}'}");
    struct item_row call = {.type = ITEM_FUNCTION_CALL, .call_id = "call_1", .body = call_body};
    struct item_row output = {.type = ITEM_FUNCTION_CALL_OUTPUT, .body = body};
    json_auto_t *encoded = encode_tool_call(&call, &output, 0);

    assert_string_equal(json_get_string(json_object_get(encoded, "function"), "output", ""),
                        "ab");
}

TEST(a_failed_step_says_when_it_ended)
{
    static const struct {
        enum step_status status;
        const char *key;
    } cases[] = {{STEP_FAILED, "failed_at"},
                 {STEP_CANCELLED, "cancelled_at"},
                 {STEP_EXPIRED, "expired_at"}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct step_load load = {.step = {.status = cases[i].status, .ended_at = 9 * SECOND}};
        json_auto_t *step = encode_step(&load, 0);

        for (size_t k = 0; k < COUNT_OF(cases); k++)
            expect_member(step, cases[k].key, i == k ? "9" : "null");
    }
}

/* ---- Responses ---- */

TEST(a_response_has_every_field)
{
    AUTO_FREE char *config = quoted("{'model':'m','instructions':'be kind','tools':[{'type':"
                                    "'function','name':'f'}],'reasoning':{'effort':'high'}}");
    AUTO_FREE char *usage = quoted(
        "{'input_tokens':36,'input_tokens_details':{'cached_tokens':4},'output_tokens':87,"
        "'output_tokens_details':{'reasoning_tokens':5},'total_tokens':123}");
    struct run_row row = {.id = "resp_2",
                          .thread_id = "thread_1",
                          .parent_id = "resp_1",
                          .face = FACE_RESPONSES,
                          .flags = RUN_STORED,
                          .status = RUN_COMPLETED,
                          .config = config,
                          .usage = usage,
                          .created_at = 1741476542 * SECOND,
                          .completed_at = 1741476543 * SECOND};

    expect(
        encode_response(&row, json_array()),
        "{'id':'resp_2','object':'response','created_at':1741476542,'status':'completed',"
        "'background':false,'completed_at':1741476543,'error':null,'incomplete_details':null,"
        "'frequency_penalty':0.0,'instructions':'be kind','max_output_tokens':null,"
        "'max_tool_calls':null,'model':'m','moderation':null,'parallel_tool_calls':true,"
        "'presence_penalty':0.0,'prompt_cache_key':null,'prompt_cache_retention':null,"
        "'safety_identifier':null,'temperature':1.0,'tool_choice':'auto','top_logprobs':0,"
        "'top_p':1.0,'truncation':'disabled','user':null,"
        "'reasoning':{'effort':'high','summary':null},"
        "'text':{'format':{'type':'text'},'verbosity':'medium'},"
        "'tools':[{'type':'function','name':'f','description':null,'parameters':null,"
        "'strict':null}],'output':[],'previous_response_id':'resp_1',"
        "'conversation':{'id':'conv_1'},'service_tier':'default','store':true,"
        "'usage':{'input_tokens':36,'input_tokens_details':{'cached_tokens':4,"
        "'cache_write_tokens':0},'output_tokens':87,'output_tokens_details':"
        "{'reasoning_tokens':5},'total_tokens':123},'metadata':{}}");
}

TEST(a_response_shows_only_the_statuses_of_its_api)
{
    /* clang-format off */
    static const struct {
        enum run_status status;
        const char *shown;
    } cases[] = {
        {RUN_QUEUED,          "queued"},
        {RUN_IN_PROGRESS,     "in_progress"},
        {RUN_REQUIRES_ACTION, "in_progress"},
        {RUN_CANCELLING,      "in_progress"},
        {RUN_CANCELLED,       "cancelled"},
        {RUN_COMPLETED,       "completed"},
        {RUN_INCOMPLETE,      "incomplete"},
        {RUN_FAILED,          "failed"},
        {RUN_EXPIRED,         "failed"},
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run_row row = {.status = cases[i].status, .completed_at = 9 * SECOND};
        json_auto_t *response = encode_response(&row, json_array());
        bool failed = strcmp(cases[i].shown, "failed") == 0;
        bool completed = cases[i].status == RUN_COMPLETED;

        assert_string_equal(json_get_string(response, "status", ""), cases[i].shown);
        assert_int_equal(json_is_object(json_object_get(response, "error")), failed);
        assert_int_equal(json_is_integer(json_object_get(response, "completed_at")), completed);
    }
}

TEST(a_running_response_has_no_usage_and_no_conversation)
{
    AUTO_FREE char *usage = quoted("{'input_tokens':1,'output_tokens':2,'total_tokens':3}");
    struct run_row row = {
        .status = RUN_IN_PROGRESS, .flags = RUN_BACKGROUND | RUN_STORED, .usage = usage};
    json_auto_t *response = encode_response(&row, json_array());

    expect_member(response, "usage", "null");
    expect_member(response, "background", "true");
    expect_member(response, "service_tier", "'auto'");
    expect_member(response, "previous_response_id", "null");
    assert_null(json_object_get(response, "conversation"));
}

/* ---- Items ---- */

TEST(an_output_message_is_an_item)
{
    AUTO_FREE char *body = quoted("{'role':'assistant','content':[{'type':'output_text',"
                                  "'text':'hi'}],'attachments':[]}");
    struct item_row row = {.id = "msg_1",
                           .type = ITEM_MESSAGE,
                           .role = "assistant",
                           .status = ITEM_COMPLETED,
                           .body = body};

    expect(encode_item(&row, 0),
           "{'id':'msg_1','type':'message','status':'completed','role':'assistant','content':["
           "{'type':'output_text','text':'hi','annotations':[],'logprobs':[]}]}");
}

TEST(other_items_show_their_body)
{
    AUTO_FREE char *call = quoted("{'arguments':'{}','call_id':'call_1','name':'f'}");
    AUTO_FREE char *reasoning = quoted("{'summary':[]}");
    struct item_row row = {.id = "fc_1",
                           .type = ITEM_FUNCTION_CALL,
                           .call_id = "call_1",
                           .status = ITEM_FAILED,
                           .body = call};
    struct item_row thought = {
        .id = "rs_1", .type = ITEM_REASONING, .status = ITEM_COMPLETED, .body = reasoning};

    expect(encode_item(&row, 0), "{'id':'fc_1','type':'function_call','status':'incomplete',"
                                 "'arguments':'{}','call_id':'call_1','name':'f'}");
    expect(encode_item(&thought, 0), "{'id':'rs_1','type':'reasoning','summary':[]}");
    row.type = ITEM_MCP_CALL;
    row.body = NULL;
    expect(encode_item(&row, 0), "{'id':'fc_1','type':'mcp_call','status':'failed'}");
}

/* ---- Envelopes ---- */

TEST(lists_name_their_ends)
{
    expect(encode_list(json_array(), false),
           "{'object':'list','data':[],'first_id':null,'last_id':null,'has_more':false}");
    expect(encode_list(json_build("[{s:s}, {s:s}]", "id", "a", "id", "b"), true),
           "{'object':'list','data':[{'id':'a'},{'id':'b'}],'first_id':'a','last_id':'b',"
           "'has_more':true}");
}

TEST(a_deletion_is_confirmed_by_an_object)
{
    expect(encode_deleted("thread_1", "thread.deleted"),
           "{'id':'thread_1','object':'thread.deleted','deleted':true}");
}

TEST(times_are_whole_seconds)
{
    expect(encode_time(0), "null");
    expect(encode_time(1999999), "1");
}

static int register_handlers(void **state)
{
    (void)state;
    handlers_register();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_assistant_has_every_field),
        cmocka_unit_test(a_thread_shows_its_metadata_and_resources),
        cmocka_unit_test(a_message_of_a_user),
        cmocka_unit_test(a_message_that_begins_has_no_content),
        cmocka_unit_test(a_message_that_was_cut_says_why),
        cmocka_unit_test(citations_change_their_shape),
        cmocka_unit_test(a_queued_run_has_every_field),
        cmocka_unit_test(a_run_that_ended_has_usage_and_no_deadline),
        cmocka_unit_test(a_required_action_is_shown_while_it_is_required),
        cmocka_unit_test(each_face_names_the_limit_as_its_api_does),
        cmocka_unit_test(a_message_step_names_its_message),
        cmocka_unit_test(a_tool_step_shows_calls_with_their_outputs),
        cmocka_unit_test(calls_of_every_kind_look_like_functions),
        cmocka_unit_test(a_search_shows_its_text_only_when_included),
        cmocka_unit_test(outputs_with_several_parts_become_one_text),
        cmocka_unit_test(a_failed_step_says_when_it_ended),
        cmocka_unit_test(a_response_has_every_field),
        cmocka_unit_test(a_response_shows_only_the_statuses_of_its_api),
        cmocka_unit_test(a_running_response_has_no_usage_and_no_conversation),
        cmocka_unit_test(an_output_message_is_an_item),
        cmocka_unit_test(other_items_show_their_body),
        cmocka_unit_test(lists_name_their_ends),
        cmocka_unit_test(a_deletion_is_confirmed_by_an_object),
        cmocka_unit_test(times_are_whole_seconds),
    };

    return cmocka_run_group_tests(tests, register_handlers, NULL);
}
