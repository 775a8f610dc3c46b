#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/run_settings.h"
#include "tests/support/test.h"

/* A request, from a literal with ' for ". */
static struct run_settings load(const char *literal)
{
    AUTO_FREE char *text = mem_strdup(literal);
    struct run_settings settings;

    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    run_settings_load(&settings, text);
    return settings;
}

#define SETTINGS CLEANUP(run_settings_clear) struct run_settings

TEST(settings_that_a_request_leaves_out_are_unset)
{
    SETTINGS settings = load("{}");

    assert_string_equal(settings.model, "");
    assert_string_equal(settings.instructions, "");
    assert_null(settings.temperature);
    assert_null(settings.tools);
    assert_false(settings.one_call);
    assert_true(settings.max_prompt_tokens == RUN_NO_LIMIT);
    assert_true(settings.max_completion_tokens == RUN_NO_LIMIT);
    assert_true(settings.max_calls == RUN_NO_LIMIT);
    assert_int_equal(settings.max_rounds, 0);
    assert_int_equal(settings.history, RUN_HISTORY_UNSET);
    assert_int_equal(settings.compact, RUN_COMPACT_UNASKED);
    assert_int_equal(settings.language, LANGUAGE_ENGLISH);
    assert_int_equal(settings.approval.channel, APPROVAL_SUSPEND);
    assert_int_equal(settings.approval.hold_seconds, RUN_HOLD_SECONDS);
    assert_string_equal(settings.approval.remember, "thread");
    assert_int_equal(settings.permissions.count, 0);
    assert_string_equal(run_settings_user(&settings), "");
    assert_false(run_settings_want_logprobs(&settings));
}

TEST(both_apis_set_the_same_members)
{
    SETTINGS run = load("{'max_completion_tokens':7,'reasoning_effort':'low',"
                        "'response_format':{'type':'json_object'},'instructions':'Be brief.'}");
    SETTINGS response =
        load("{'max_output_tokens':7,'reasoning':{'effort':'low','summary':'auto'},"
             "'text':{'format':{'type':'json_object'},'verbosity':'high'},"
             "'instructions':[{'role':'developer','content':'Be brief.'}]}");

    assert_int_equal(run.max_completion_tokens, response.max_completion_tokens);
    assert_string_equal(run.reasoning_effort, response.reasoning_effort);
    assert_string_equal(json_get_string(run.format, "type", ""), "json_object");
    assert_string_equal(json_get_string(response.format, "type", ""), "json_object");
    assert_null(run.reasoning_summary);
    assert_string_equal(response.reasoning_summary, "auto");
    assert_string_equal(response.verbosity, "high");
    assert_string_equal(run.instructions, "Be brief.");
    assert_null(run.template_messages);
    assert_string_equal(response.instructions, "");
    assert_int_equal(json_array_size(response.template_messages), 1);
}

TEST(the_object_runnel_is_decoded)
{
    SETTINGS settings =
        load("{'runnel':{'approval':{'channel':'webhook','hold_timeout_s':9,"
             "'pending':'reject','remember_default':'user'},'history':'compact','message_cache'"
             ":{'max_chars':300},"
             "'rounds':{'max':3.0,'max_calls':4},'rules':{'language':'zh'},"
             "'truncation':{'mode':'head','limit':50},'tool_groups':{'g':true},"
             "'skills':[{'name':'s'}],'permissions':{'g/t':{'permissionLevel':'sensitive'}}},"
             "'max_tool_calls':6}");

    assert_int_equal(settings.approval.channel, APPROVAL_WEBHOOK);
    assert_int_equal(settings.approval.hold_seconds, 9);
    assert_string_equal(settings.approval.remember, "user");
    assert_true(settings.approval.rejects_pending);
    assert_int_equal(settings.history, RUN_HISTORY_COMPACT);
    assert_int_equal(settings.message_limit, 300);
    assert_int_equal(settings.max_rounds, 3);
    assert_int_equal(settings.max_calls, 4); /* the narrower of both */
    assert_int_equal(settings.language, LANGUAGE_CHINESE);
    assert_true(settings.result_head_only);
    assert_int_equal(settings.result_limit, 50);
    assert_true(json_is_true(json_object_get(settings.tool_groups, "g")));
    assert_int_equal(json_array_size(settings.skills), 1);
    assert_int_equal(permission_set_find(&settings.permissions, "g", "t").execution,
                     EXECUTION_ASK_ALWAYS);
}

TEST(a_number_for_the_upstream_is_kept_as_it_was_written)
{
    SETTINGS settings = load("{'temperature':1,'top_p':1.0,'top_logprobs':2}");

    assert_true(json_is_integer(settings.temperature));
    assert_true(json_is_real(settings.top_p));
    assert_true(run_settings_want_logprobs(&settings));
}

TEST(includes_become_flags)
{
    SETTINGS settings = load("{'include':['reasoning.encrypted_content','file_search_call."
                             "results','message.output_text.logprobs']}");

    assert_int_equal(settings.includes,
                     RUN_INCLUDE_REASONING | RUN_INCLUDE_LOGPROBS | RUN_INCLUDE_SEARCH_RESULTS);
    assert_true(run_settings_want_logprobs(&settings));
}

TEST(sources_and_results_of_a_web_search_are_included_apart)
{
    SETTINGS sources = load("{'include':['web_search_call.action.sources']}");
    SETTINGS results = load("{'include':['web_search_call.results']}");

    assert_int_equal(sources.includes, RUN_INCLUDE_WEB_SOURCES);
    assert_int_equal(results.includes, RUN_INCLUDE_WEB_RESULTS);
}

/* F49. */
TEST(a_run_is_made_for_its_user)
{
    SETTINGS both = load("{'user':'ann','safety_identifier':'x1'}");
    SETTINGS one = load("{'user':null,'safety_identifier':'x1'}");
    SETTINGS empty = load("{'user':'','safety_identifier':'x1'}");
    SETTINGS none = load("{'user':'','safety_identifier':1}");

    assert_string_equal(run_settings_user(&both), "ann");
    assert_string_equal(run_settings_user(&one), "x1");
    assert_string_equal(run_settings_user(&empty), "x1");
    assert_string_equal(run_settings_user(&none), "");
}

/* What the server adds must be there when another node loads the run. */
TEST(a_stored_snapshot_is_loaded_unchanged)
{
    SETTINGS settings = load("{'model':'m','unknown':[1],'tools':[{'type':'function'}]}");
    json_auto_t *extra = json_build("{s:i}", "a", 1);
    const struct run_decision decisions[] = {
        {.id = "mcpr_1",
         .call_id = "call_1",
         .name = "t",
         .label = "l",
         .arguments = "{}",
         .kind = "execution",
         .definition = "d",
         .extra = extra,
         .approve = true,
         .lost = true},
        {.id = "mcpr_2",
         .call_id = "call_2",
         .name = "t",
         .label = "l",
         .arguments = "{}",
         .kind = "permission",
         .reason = "No."},
    };
    SETTINGS again = {0};
    AUTO_FREE char *text = NULL;

    run_settings_set_compact(&settings, RUN_COMPACT_WINDOW);
    run_settings_set_tools(&settings, json_build("{s:{s:b}, s:{s:{s:s}}}", "tool_groups", "g",
                                                 1, "permissions", "g", "result", "always"));
    run_settings_decide(&settings, decisions, COUNT_OF(decisions));
    assert_int_equal(settings.decision_count, 2);
    assert_true(json_is_true(json_object_get(settings.project_tool_groups, "g")));
    text = run_settings_store(&settings);
    run_settings_load(&again, text);

    assert_true(json_equal(settings.snapshot, again.snapshot));
    assert_string_equal(again.model, "m");
    assert_int_equal(again.compact, RUN_COMPACT_WINDOW);
    assert_true(json_is_true(json_object_get(again.project_tool_groups, "g")));
    assert_int_equal(permission_set_find(&again.project_permissions, "g", "t").result,
                     RESULT_ALWAYS);
    assert_int_equal(again.decision_count, 2);
    assert_string_equal(again.decisions[0].id, "mcpr_1");
    assert_string_equal(again.decisions[0].definition, "d");
    assert_true(json_equal(again.decisions[0].extra, extra));
    assert_true(again.decisions[0].approve && again.decisions[0].lost);
    assert_null(again.decisions[0].reason);
    assert_string_equal(again.decisions[1].kind, "permission");
    assert_string_equal(again.decisions[1].reason, "No.");
    assert_false(again.decisions[1].approve);
}

TEST(a_request_cannot_set_the_servers_own_members)
{
    json_auto_t *request =
        json_parse_own("{\"runnel_approvals\":[],\"runnel_compact\":\"item\","
                       "\"tool_settings\":{},\"model\":\"m\"}");

    run_settings_drop_own(request);
    assert_int_equal(json_object_size(request), 1);
    assert_string_equal(json_get_string(request, "model", ""), "m");
}

/* The members of a copy change; those of the original, which it borrows from, stay. */
TEST(a_turn_may_have_other_limits_than_its_run)
{
    SETTINGS settings = load("{'max_output_tokens':9,'instructions':'Be brief.'}");
    struct run_settings turn = settings;

    turn.max_completion_tokens = 4;
    assert_int_equal(settings.max_completion_tokens, 9);
    assert_ptr_equal(turn.instructions, settings.instructions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_a_request_leaves_out_are_unset),
        cmocka_unit_test(both_apis_set_the_same_members),
        cmocka_unit_test(the_object_runnel_is_decoded),
        cmocka_unit_test(a_number_for_the_upstream_is_kept_as_it_was_written),
        cmocka_unit_test(includes_become_flags),
        cmocka_unit_test(sources_and_results_of_a_web_search_are_included_apart),
        cmocka_unit_test(a_run_is_made_for_its_user),
        cmocka_unit_test(a_stored_snapshot_is_loaded_unchanged),
        cmocka_unit_test(a_request_cannot_set_the_servers_own_members),
        cmocka_unit_test(a_turn_may_have_other_limits_than_its_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
