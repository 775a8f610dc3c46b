#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/params/assistants/run_params.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

static void good(const char *text)
{
    json_auto_t *object = quoted_json(text);
    struct err err = {0};
    enum err_code rc = run_params_check(object, &err);

    if (rc)
        print_error("%s: %s\n", text, err.text);
    assert_int_equal(rc, ERR_OK);
}

static void bad(const char *text, const char *api_code, const char *param,
                const char *complaint)
{
    json_auto_t *object = quoted_json(text);
    struct err err = {0};

    assert_int_equal(run_params_check(object, &err), ERR_INVALID);
    assert_string_equal(err.text, complaint);
    assert_string_equal(err.place, param);
    assert_string_equal(err.word, api_code);
}

TEST(absent_and_null_parameters_are_fine)
{
    good("{}");
    good("{'model':null,'tools':null,'tool_choice':null,'response_format':null,"
         "'truncation_strategy':null,'temperature':null,'top_p':null,'reasoning_effort':null,"
         "'instructions':null,'max_prompt_tokens':null,'max_completion_tokens':null,"
         "'parallel_tool_calls':null,'metadata':null}");
}

TEST(everything_an_assistant_can_have_is_accepted)
{
    good("{'model':'gpt-4o','instructions':'be kind','temperature':2,'top_p':0.5,"
         "'reasoning_effort':'xhigh','max_prompt_tokens':256,'max_completion_tokens':1000,"
         "'parallel_tool_calls':false,'metadata':{'a':'b'},"
         "'truncation_strategy':{'type':'last_messages','last_messages':10},"
         "'tools':[{'type':'code_interpreter'},"
         "{'type':'file_search','file_search':{'max_num_results':50,"
         "'ranking_options':{'ranker':'auto','score_threshold':0.5}}},"
         "{'type':'function','function':{'name':'f'}},"
         "{'type':'mcp','server_label':'basic','server_url':'builtin:basic'},"
         "{'type':'custom','name':'note'},{'type':'local_shell'},{'type':'web_search'}]}");
}

TEST(tools_have_a_type_and_a_number)
{
    json_auto_t *object = quoted_json("{'tools':[]}");
    struct err err;

    bad("{'tools':{}}", "invalid_type", "tools",
        "Invalid type for 'tools': expected an array, but got an object instead.");
    bad("{'tools':['function']}", "invalid_type", "tools[0]",
        "Invalid type for 'tools[0]': expected an object, but got a string instead.");
    bad("{'tools':[{}]}", "missing_required_parameter", "tools[0].type",
        "Missing required parameter: 'tools[0].type'.");
    bad("{'tools':[{'type':'retrieval'}]}", "invalid_value", "tools[0].type",
        "Invalid value: 'retrieval'. Supported values are: 'code_interpreter', 'file_search', "
        "'function', 'mcp', 'custom', 'local_shell', 'shell', 'apply_patch', 'computer', "
        "'computer_use_preview', 'image_generation', 'web_search', and 'web_search_preview'.");
    for (int i = 0; i < 128; i++)
        json_array_append_new(json_object_get(object, "tools"),
                              json_build("{s:s}", "type", "code_interpreter"));
    assert_int_equal(run_params_check(object, &err), ERR_OK);
    json_array_append_new(json_object_get(object, "tools"),
                          json_build("{s:s}", "type", "code_interpreter"));
    assert_int_equal(run_params_check(object, &err), ERR_INVALID);
    assert_string_equal(err.text,
                        "Invalid 'tools': array too long. Expected an array with "
                        "maximum length 128, but got an array with length 129 instead.");
}

TEST(functions_have_a_name)
{
    bad("{'tools':[{'type':'function'}]}", "missing_required_parameter", "tools[0].function",
        "Missing required parameter: 'tools[0].function'.");
    bad("{'tools':[{'type':'code_interpreter'},{'type':'function','function':{}}]}",
        "missing_required_parameter", "tools[1].function.name",
        "Missing required parameter: 'tools[1].function.name'.");
    bad("{'tools':[{'type':'function','function':{'name':'get weather'}}]}", "invalid_value",
        "tools[0].function.name",
        "Invalid 'tools[0].function.name': string does not match pattern. Expected a string "
        "that "
        "matches the pattern '^[a-zA-Z0-9_-]+$'.");
    bad("{'tools':[{'type':'function','function':{'name':"
        "'a2345678901234567890123456789012345678901234567890123456789012345'}}]}",
        "string_above_max_length", "tools[0].function.name",
        "Invalid 'tools[0].function.name': string too long. Expected a string with maximum "
        "length 64, but got a string with length 65 instead.");
    bad("{'tools':[{'type':'function','function':{'name':'f'}},"
        "{'type':'function','function':{'name':'f'}}]}",
        "invalid_value", "tools[1]", "Invalid 'tools[1]': duplicate function name 'f'.");
}

TEST(parameters_of_functions_describe_an_object)
{
    good("{'tools':[{'type':'function','function':{'name':'f','parameters':{}}}]}");
    good("{'tools':[{'type':'function','function':{'name':'f','parameters':"
         "{'type':'object','properties':{'a':{'type':'string'}}}}}]}");
    bad("{'tools':[{'type':'function','function':{'name':'f','parameters':[]}}]}",
        "invalid_type", "tools[0].function.parameters",
        "Invalid type for 'tools[0].function.parameters': expected an object, but got an array "
        "instead.");
    bad("{'tools':[{'type':'function','function':{'name':'f','parameters':{'type':'array'}}}]}",
        "invalid_function_parameters", "tools[0].function.parameters",
        "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"', "
        "got "
        "'type: \"array\"'.");
}

#define STRICT(schema)                                                                       \
    "{'tools':[{'type':'function','function':{'name':'f','strict':true,'parameters':" schema \
    "}}]}"
#define REFUSED "tools[0].function.parameters", "Invalid schema for function 'f': "

TEST(strict_functions_have_closed_schemas)
{
    good(STRICT("{'type':'object','properties':{'a':{'type':['string','null']},"
                "'b':{'type':'array','items':{'$ref':'#/$defs/n'}},"
                "'c':{'anyOf':[{'type':'string'},{'type':'object','properties':{},"
                "'additionalProperties':false}]},'d':{'enum':[1,2]}},"
                "'required':['a','b','c','d'],'additionalProperties':false,"
                "'$defs':{'n':{'type':'number'}}}"));
    bad(STRICT("{'type':'object','properties':{}}"), "invalid_function_parameters",
        REFUSED "In context=(), 'additionalProperties' is required to be supplied and to be "
                "false.");
    bad(STRICT("{'type':'object','properties':{'a':{'type':'string'},'b':{'type':'string'}},"
               "'required':['a'],'additionalProperties':false}"),
        "invalid_function_parameters",
        REFUSED "In context=(), 'required' is required to be supplied and to be an array "
                "including every key in properties. Missing 'b'.");
    bad(STRICT("{}"), "invalid_function_parameters",
        REFUSED "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.");
}

TEST(strictness_reaches_every_schema_inside)
{
    bad(STRICT("{'type':'object','properties':{'a':{'type':'object','properties':{}}},"
               "'required':['a'],'additionalProperties':false}"),
        "invalid_function_parameters",
        REFUSED "In context=('properties', 'a'), 'additionalProperties' is required to be "
                "supplied and to be false.");
    bad(STRICT("{'type':'object','properties':{'a':{'type':'array','items':{'type':'object'}}},"
               "'required':['a'],'additionalProperties':false}"),
        "invalid_function_parameters",
        REFUSED
        "In context=('properties', 'a', 'items'), 'additionalProperties' is required to "
        "be supplied and to be false.");
    bad(STRICT("{'type':'object','properties':{'a':{'anyOf':[{'type':'string'},{}]}},"
               "'required':['a'],'additionalProperties':false}"),
        "invalid_function_parameters",
        REFUSED "In context=('properties', 'a', 'anyOf', '1'), schema must have a 'type' key.");
    bad(STRICT("{'type':'object','properties':{},'additionalProperties':false,"
               "'$defs':{'n':{'type':'string','oneOf':[]}}}"),
        "invalid_function_parameters",
        REFUSED "In context=('$defs', 'n'), 'oneOf' is not permitted.");
    bad(STRICT("{'type':'object','properties':{'a':{'type':'array'}},'required':['a'],"
               "'additionalProperties':false}"),
        "invalid_function_parameters",
        REFUSED "In context=('properties', 'a'), array schema missing items.");
}

TEST(tools_of_every_type_are_checked)
{
    bad("{'tools':[{'type':'mcp'}]}", "missing_required_parameter", "tools[0].server_label",
        "Missing required parameter: 'tools[0].server_label'.");
    bad("{'tools':[{'type':'custom'}]}", "missing_required_parameter", "tools[0].name",
        "Missing required parameter: 'tools[0].name'.");
    bad("{'tools':[{'type':'file_search','file_search':{'max_num_results':51}}]}",
        "integer_above_max_value", "tools[0].file_search.max_num_results",
        "Invalid 'tools[0].file_search.max_num_results': integer above maximum value. Expected "
        "a "
        "value <= 50, but got 51 instead.");
    bad("{'tools':[{'type':'file_search','file_search':{'ranking_options':{}}}]}",
        "missing_required_parameter", "tools[0].file_search.ranking_options.score_threshold",
        "Missing required parameter: 'tools[0].file_search.ranking_options.score_threshold'.");
}

TEST(a_tool_choice_is_a_keyword_or_names_a_tool)
{
    good("{'tool_choice':'required'}");
    good("{'tool_choice':{'type':'file_search'}}");
    good("{'tool_choice':{'type':'function','function':{'name':'f'}}}");
    good("{'tool_choice':{'type':'mcp','server_label':'basic'}}");
    bad("{'tool_choice':'any'}", "invalid_value", "tool_choice",
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.");
    bad("{'tool_choice':1}", "invalid_type", "tool_choice",
        "Invalid type for 'tool_choice': expected one of a string or an object, but got an "
        "integer instead.");
    bad("{'tool_choice':{'type':'function'}}", "missing_required_parameter",
        "tool_choice.function", "Missing required parameter: 'tool_choice.function'.");
    bad("{'tool_choice':{'type':'function','function':{}}}", "missing_required_parameter",
        "tool_choice.function.name",
        "Missing required parameter: 'tool_choice.function.name'.");
    bad("{'tool_choice':{'type':'mcp'}}", "missing_required_parameter",
        "tool_choice.server_label", "Missing required parameter: 'tool_choice.server_label'.");
}

TEST(a_response_format_is_auto_or_an_object)
{
    good("{'response_format':'auto'}");
    good("{'response_format':{'type':'json_object'}}");
    good("{'response_format':{'type':'json_schema','json_schema':{'name':'x','schema':"
         "{'type':'object'}}}}");
    bad("{'response_format':'text'}", "invalid_value", "response_format",
        "Invalid value: 'text'. Supported values are: 'auto'.");
    bad("{'response_format':[]}", "invalid_type", "response_format",
        "Invalid type for 'response_format': expected one of a string or an object, but got an "
        "array instead.");
    bad("{'response_format':{'type':'xml'}}", "invalid_value", "response_format.type",
        "Invalid value: 'xml'. Supported values are: 'text', 'json_object', and "
        "'json_schema'.");
    bad("{'response_format':{'type':'json_schema'}}", "missing_required_parameter",
        "response_format.json_schema",
        "Missing required parameter: 'response_format.json_schema'.");
    bad("{'response_format':{'type':'json_schema','json_schema':{'schema':{}}}}",
        "missing_required_parameter", "response_format.json_schema.name",
        "Missing required parameter: 'response_format.json_schema.name'.");
    bad("{'response_format':{'type':'json_schema','json_schema':{'name':'x','strict':true,"
        "'schema':{'type':'object','properties':{'a':{'type':'string'}}}}}}",
        "invalid_json_schema", "response_format.json_schema.schema",
        "Invalid schema for response_format 'x': In context=(), 'additionalProperties' is "
        "required to be supplied and to be false.");
}

TEST(numbers_have_ranges)
{
    bad("{'temperature':2.5}", "decimal_above_max_value", "temperature",
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got "
        "2.5 "
        "instead.");
    bad("{'top_p':-1}", "decimal_below_min_value", "top_p",
        "Invalid 'top_p': decimal below minimum value. Expected a value >= 0, but got -1 "
        "instead.");
    bad("{'max_completion_tokens':255}", "integer_below_min_value", "max_completion_tokens",
        "Invalid 'max_completion_tokens': integer below minimum value. Expected a value >= "
        "256, "
        "but got 255 instead.");
    bad("{'max_prompt_tokens':1.5}", "invalid_type", "max_prompt_tokens",
        "Invalid type for 'max_prompt_tokens': expected an integer, but got a decimal "
        "instead.");
    bad("{'parallel_tool_calls':'yes'}", "invalid_type", "parallel_tool_calls",
        "Invalid type for 'parallel_tool_calls': expected a boolean, but got a string "
        "instead.");
}

TEST(truncation_to_last_messages_says_how_many)
{
    good("{'truncation_strategy':{'type':'auto','last_messages':null}}");
    bad("{'truncation_strategy':{'type':'last_messages'}}", "missing_required_parameter",
        "truncation_strategy.last_messages",
        "Missing required parameter: 'truncation_strategy.last_messages'.");
    bad("{'truncation_strategy':{'type':'last_messages','last_messages':0}}",
        "integer_below_min_value", "truncation_strategy.last_messages",
        "Invalid 'truncation_strategy.last_messages': integer below minimum value. Expected a "
        "value >= 1, but got 0 instead.");
    bad("{'truncation_strategy':{'type':'middle'}}", "invalid_value",
        "truncation_strategy.type",
        "Invalid value: 'middle'. Supported values are: 'auto' and 'last_messages'.");
}

TEST(texts_have_lengths)
{
    json_auto_t *object = json_object();
    AUTO_FREE char *text = mem_zeroed(256002, 1);
    struct err err;

    memset(text, 'x', 256000);
    json_set_string(object, "instructions", text);
    assert_int_equal(run_params_check(object, &err), ERR_OK);
    text[256000] = 'x';
    json_set_string(object, "instructions", text);
    assert_int_equal(run_params_check(object, &err), ERR_INVALID);
    assert_string_equal(
        err.text, "Invalid 'instructions': string too long. Expected a string with maximum "
                  "length 256000, but got a string with length 256001 instead.");
    bad("{'model':''}", "empty_string", "model",
        "Invalid 'model': empty string. Expected a string with minimum length 1, but got an "
        "empty string instead.");
    bad("{'reasoning_effort':'huge'}", "invalid_value", "reasoning_effort",
        "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low', 'medium', "
        "'high', "
        "'xhigh', and 'max'.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_and_null_parameters_are_fine),
        cmocka_unit_test(everything_an_assistant_can_have_is_accepted),
        cmocka_unit_test(tools_have_a_type_and_a_number),
        cmocka_unit_test(functions_have_a_name),
        cmocka_unit_test(parameters_of_functions_describe_an_object),
        cmocka_unit_test(strict_functions_have_closed_schemas),
        cmocka_unit_test(strictness_reaches_every_schema_inside),
        cmocka_unit_test(tools_of_every_type_are_checked),
        cmocka_unit_test(a_tool_choice_is_a_keyword_or_names_a_tool),
        cmocka_unit_test(a_response_format_is_auto_or_an_object),
        cmocka_unit_test(numbers_have_ranges),
        cmocka_unit_test(truncation_to_last_messages_says_how_many),
        cmocka_unit_test(texts_have_lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
