/* F33: the variables of a request. */

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/params/runnel_params.h"
#include "server/params/variable_params.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

/* A request with these variables. */
static json_t *body(const char *list)
{
    AUTO_FREE char *json = mem_printf("{'runnel':{'variables_in':%s}}", list);

    return quoted_json(json);
}

static void good(const char *list)
{
    json_auto_t *object = body(list);
    struct err err = {0};
    enum err_code rc = runnel_params_check(object, &err);

    if (rc)
        print_error("%s: %s\n", list, err.text);
    assert_int_equal(rc, ERR_OK);
}

static void bad(json_t *object, const char *api_code, const char *param, const char *complaint)
{
    struct err err = {0};

    assert_int_equal(runnel_params_check(object, &err), ERR_INVALID);
    assert_string_equal(err.text, complaint);
    assert_string_equal(err.place, param);
    assert_string_equal(err.word, api_code);
    json_decref(object);
}

TEST(valid_variables_are_accepted)
{
    good("null");
    good("[]");
    good("[{'name':'a','value':'1'},{'name':'A','value':'1','desc':null,'tags':[]}]");
}

TEST(invalid_variables_are_refused)
{
    bad(body("{}"), "invalid_type", "runnel.variables_in",
        "Invalid type for 'runnel.variables_in': expected an array, but got an object "
        "instead.");
    bad(body("['a']"), "invalid_type", "runnel.variables_in[0]",
        "Invalid type for 'runnel.variables_in[0]': expected an object, but got a string "
        "instead.");
    bad(body("[{'value':'1'}]"), "missing_required_parameter", "runnel.variables_in[0].name",
        "Missing required parameter: 'runnel.variables_in[0].name'.");
    bad(body("[{'name':'a'}]"), "missing_required_parameter", "runnel.variables_in[0].value",
        "Missing required parameter: 'runnel.variables_in[0].value'.");
    bad(body("[{'name':'a','value':1}]"), "invalid_type", "runnel.variables_in[0].value",
        "Invalid type for 'runnel.variables_in[0].value': expected a string, but got an "
        "integer "
        "instead.");
    bad(body("[{'name':'Rule/x','value':'1'}]"), "invalid_value", "runnel.variables_in[0].name",
        "Invalid 'runnel.variables_in[0].name': 'Rule/x'. Expected at most 128 letters, "
        "digits, "
        "underscores and hyphens.");
    bad(body("[{'name':'stats','value':'1'}]"), "invalid_value", "runnel.variables_in[0].name",
        "Invalid 'runnel.variables_in[0].name': 'stats' is the name of something else here.");
    bad(body("[{'name':'a','value':'1'},{'name':'b','value':'1'},{'name':'a','value':'2'}]"),
        "invalid_value", "runnel.variables_in[2].name",
        "Invalid 'runnel.variables_in[2].name': 'a' is given twice.");
    bad(body("[{'name':'a','value':'1','tags':['x',1]}]"), "invalid_type",
        "runnel.variables_in[0].tags[1]",
        "Invalid type for 'runnel.variables_in[0].tags[1]': expected a string, but got an "
        "integer instead.");
}

/* Typing errors are noticed, and a client cannot choose the type. */
TEST(unknown_keys_are_refused)
{
    bad(body("[{'name':'a','value':'1','type':'RULE'}]"), "unknown_parameter",
        "runnel.variables_in[0].type", "Unknown parameter: 'runnel.variables_in[0].type'.");
    bad(body("[{'name':'a','value':'1','keep':true}]"), "unknown_parameter",
        "runnel.variables_in[0].keep", "Unknown parameter: 'runnel.variables_in[0].keep'.");
}

TEST(number_and_size_of_variables_are_limited)
{
    json_t *object = body("[]");
    json_t *list = json_object_get(json_object_get(object, "runnel"), "variables_in");
    char *much = mem_new_array(char, VARIABLE_VALUE_LIMIT + 2);

    memset(much, 'x', VARIABLE_VALUE_LIMIT + 1);
    json_array_append_new(list, json_build("{s:s, s:s}", "name", "a", "value", much));
    free(much);
    bad(object, "string_above_max_length", "runnel.variables_in[0].value",
        "Invalid 'runnel.variables_in[0].value': string too long. Expected at most 1048576 "
        "bytes, but got 1048577 instead.");
    object = body("[]");
    list = json_object_get(json_object_get(object, "runnel"), "variables_in");
    for (size_t i = 0; i <= VARIABLES_IN_LIMIT; i++)
        json_array_append_new(list, json_object());
    bad(object, "array_above_max_length", "runnel.variables_in",
        "Invalid 'runnel.variables_in': array too long. Expected an array with maximum length "
        "32, but got an array with length 33 instead.");
}

/* They belong to one run, and are not part of its settings. */
TEST(variables_are_not_part_of_the_settings)
{
    json_auto_t *object = body("[{'name':'a','value':'1'}]");
    json_auto_t *settings = runnel_settings(object);
    struct err err = {0};

    assert_int_equal(json_object_size(settings), 0);
    assert_int_equal(runnel_defaults_check(object, "", &err), ERR_INVALID);
    assert_string_equal(err.text, "Unknown parameter: 'runnel.variables_in'.");
}

TEST(given_variables_have_the_type_of_client_variables)
{
    json_auto_t *object =
        body("[{'name':'a','value':'v\xC3\xA4','desc':'The a','tags':['x']},{'name':'b',"
             "'value':'1'}]");
    struct variable *given = NULL;
    size_t count = 0;

    variables_in_read(object, &given, &count);
    assert_int_equal(count, 2);
    assert_string_equal(given[0].name, "a");
    assert_string_equal(given[0].value, "v\xC3\xA4");
    assert_string_equal(given[0].description, "The a");
    assert_int_equal(json_array_size(given[0].tags), 1);
    assert_int_equal(given[0].length, 2);
    assert_int_equal(given[0].type, VARIABLE_USER_ADD);
    assert_true(variable_is_trusted(&given[0]));
    assert_null(given[1].description);
    assert_null(given[1].tags);
    variables_free(given, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_variables_are_accepted),
        cmocka_unit_test(invalid_variables_are_refused),
        cmocka_unit_test(unknown_keys_are_refused),
        cmocka_unit_test(number_and_size_of_variables_are_limited),
        cmocka_unit_test(variables_are_not_part_of_the_settings),
        cmocka_unit_test(given_variables_have_the_type_of_client_variables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
