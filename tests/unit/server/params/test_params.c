#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/params/params.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

static void expect(const struct err *err, const char *api_code, const char *param,
                   const char *text)
{
    assert_int_equal(err->code, ERR_INVALID);
    assert_string_equal(err->word ? err->word : "(null)", api_code);
    assert_string_equal(err->place, param);
    assert_string_equal(err->text, text);
}

/* ---- Strings ---- */

TEST(a_string_is_read_and_an_absent_or_null_one_left_alone)
{
    json_auto_t *object = quoted_json("{'name':'Ada','none':null}");
    const char *text = "untouched";

    assert_int_equal(param_string(object, "", "other", PARAM_OPTIONAL, 5, &text, NULL), ERR_OK);
    assert_int_equal(param_string(object, "", "none", PARAM_OPTIONAL, 5, &text, NULL), ERR_OK);
    assert_string_equal(text, "untouched");
    assert_int_equal(param_string(object, "", "name", PARAM_REQUIRED, 3, &text, NULL), ERR_OK);
    assert_string_equal(text, "Ada");
}

TEST(a_missing_parameter_is_named_with_its_whole_path)
{
    json_auto_t *object = quoted_json("{'empty':'','none':null}");
    struct err err;
    const char *text;

    assert_int_equal(param_string(object, "", "model", PARAM_REQUIRED, 0, &text, &err),
                     ERR_INVALID);
    expect(&err, "missing_required_parameter", "model", "Missing required parameter: 'model'.");
    assert_int_equal(
        param_string(object, "tool_outputs[0]", "tool_call_id", PARAM_REQUIRED, 0, &text, &err),
        ERR_INVALID);
    expect(&err, "missing_required_parameter", "tool_outputs[0].tool_call_id",
           "Missing required parameter: 'tool_outputs[0].tool_call_id'.");
    assert_int_equal(param_string(object, "", "none", PARAM_REQUIRED, 0, &text, &err),
                     ERR_INVALID);
    expect(&err, "invalid_type", "none",
           "Invalid type for 'none': expected a string, but got null instead.");
    assert_int_equal(param_string(object, "", "empty", PARAM_REQUIRED, 0, &text, &err),
                     ERR_INVALID);
    expect(&err, "empty_string", "empty",
           "Invalid 'empty': empty string. Expected a string with minimum length 1, but got an "
           "empty string instead.");
}

TEST(lengths_are_counted_in_characters)
{
    json_auto_t *object = json_object();
    char text[301 * 2 + 1] = "";
    const char *read = NULL;
    struct err err;

    for (size_t i = 0; i < 256; i++)
        memcpy(text + 2 * i, "\xC3\xA4", 3);
    json_set_string(object, "name", text);
    assert_int_equal(param_string(object, "", "name", PARAM_OPTIONAL, 256, &read, &err),
                     ERR_OK);
    for (size_t i = 0; i < 300; i++)
        memcpy(text + 2 * i, "\xC3\xA4", 3);
    json_set_string(object, "name", text);
    assert_int_equal(param_string(object, "", "name", PARAM_OPTIONAL, 256, &read, &err),
                     ERR_INVALID);
    expect(
        &err, "string_above_max_length", "name",
        "Invalid 'name': string too long. Expected a string with maximum length 256, but got a "
        "string with length 300 instead.");
}

TEST(names_have_letters_digits_underscores_and_dashes)
{
    json_auto_t *object = quoted_json("{'good':'get_Weather-2','bad':'get weather'}");
    const char *name = NULL;
    struct err err;

    assert_int_equal(param_name(object, "", "good", 64, &name, &err), ERR_OK);
    assert_string_equal(name, "get_Weather-2");
    assert_int_equal(param_name(object, "tools[0].function", "bad", 64, &name, &err),
                     ERR_INVALID);
    expect(&err, "invalid_value", "tools[0].function.bad",
           "Invalid 'tools[0].function.bad': string does not match pattern. Expected a string "
           "that matches the pattern '^[a-zA-Z0-9_-]+$'.");
}

/* ---- Types ---- */

TEST(a_wrong_type_is_named_with_what_came_instead)
{
    static const struct {
        const char *json;
        const char *got;
    } cases[] = {
        {"{'k':'x'}", "a string"}, {"{'k':1}", "an integer"}, {"{'k':1.5}", "a decimal"},
        {"{'k':[]}", "an array"},  {"{'k':{}}", "an object"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_auto_t *object = quoted_json(cases[i].json);
        char text[128];
        struct err err;
        bool value;

        (void)snprintf(text, sizeof(text),
                       "Invalid type for 'k': expected a boolean, but got %s instead.",
                       cases[i].got);
        assert_int_equal(param_bool(object, "", "k", &value, &err), ERR_INVALID);
        expect(&err, "invalid_type", "k", text);
    }
}

TEST(objects_and_arrays_are_borrowed)
{
    json_auto_t *object = quoted_json("{'o':{'a':1},'l':[1,2,3],'b':true}");
    json_t *inner = NULL;
    json_t *list = NULL;
    struct err err;

    assert_int_equal(param_object(object, "", "o", PARAM_REQUIRED, &inner, &err), ERR_OK);
    assert_ptr_equal(inner, json_object_get(object, "o"));
    assert_int_equal(param_array(object, "", "l", PARAM_OPTIONAL, 3, &list, &err), ERR_OK);
    assert_ptr_equal(list, json_object_get(object, "l"));
    assert_int_equal(param_array(object, "", "l", PARAM_OPTIONAL, 2, &list, &err), ERR_INVALID);
    expect(&err, "array_above_max_length", "l",
           "Invalid 'l': array too long. Expected an array with maximum length 2, but got an "
           "array with length 3 instead.");
    assert_int_equal(param_object(object, "", "b", PARAM_OPTIONAL, &inner, &err), ERR_INVALID);
    expect(&err, "invalid_type", "b",
           "Invalid type for 'b': expected an object, but got a boolean instead.");
}

/* ---- Numbers ---- */

TEST(whole_reals_are_integers_and_others_are_not)
{
    json_auto_t *object = quoted_json("{'one':1.0,'half':1.5,'huge':1e300,'top':9.3e18}");
    json_int_t value = 0;
    struct err err;

    assert_int_equal(param_int(object, "", "one", 0, 5, &value, &err), ERR_OK);
    assert_int_equal(value, 1);
    assert_int_equal(param_int(object, "", "half", 0, 5, &value, &err), ERR_INVALID);
    expect(&err, "invalid_type", "half",
           "Invalid type for 'half': expected an integer, but got a decimal instead.");
    assert_int_equal(param_int(object, "", "huge", 0, 5, &value, &err), ERR_INVALID);
    assert_string_equal(err.word, "integer_above_max_value");
    assert_int_equal(param_int(object, "", "top", 0, INT64_MAX, &value, &err), ERR_INVALID);
    assert_string_equal(err.word, "integer_above_max_value");
    assert_int_equal(value, 1);
}

TEST(integers_have_a_range)
{
    json_auto_t *object = quoted_json("{'low':0,'high':21,'min':16,'max':20}");
    json_int_t value = 0;
    struct err err;

    assert_int_equal(param_int(object, "", "low", 16, 20, &value, &err), ERR_INVALID);
    expect(&err, "integer_below_min_value", "low",
           "Invalid 'low': integer below minimum value. Expected a value >= 16, but got 0 "
           "instead.");
    assert_int_equal(param_int(object, "", "high", 16, 20, &value, &err), ERR_INVALID);
    expect(&err, "integer_above_max_value", "high",
           "Invalid 'high': integer above maximum value. Expected a value <= 20, but got 21 "
           "instead.");
    assert_int_equal(param_int(object, "", "min", 16, 20, &value, &err), ERR_OK);
    assert_int_equal(param_int(object, "", "max", 16, 20, &value, &err), ERR_OK);
    assert_int_equal(value, 20);
}

TEST(decimals_have_a_range)
{
    json_auto_t *object = quoted_json("{'temperature':3,'low':-0.25,'fine':1,'word':'x'}");
    double value = 0;
    struct err err;

    assert_int_equal(param_number(object, "", "temperature", 0, 2, &value, &err), ERR_INVALID);
    expect(
        &err, "decimal_above_max_value", "temperature",
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 "
        "instead.");
    assert_int_equal(param_number(object, "", "low", 0, 2, &value, &err), ERR_INVALID);
    expect(&err, "decimal_below_min_value", "low",
           "Invalid 'low': decimal below minimum value. Expected a value >= 0, but got -0.25 "
           "instead.");
    assert_int_equal(param_number(object, "", "word", 0, 2, &value, &err), ERR_INVALID);
    expect(&err, "invalid_type", "word",
           "Invalid type for 'word': expected a decimal, but got a string instead.");
    assert_int_equal(param_number(object, "", "fine", 0, 2, &value, &err), ERR_OK);
    assert_true(value == 1.0);
    assert_int_equal(param_number(object, "", "temperature", 0, 3, &value, &err), ERR_OK);
    assert_int_equal(param_number(object, "", "low", -0.25, 0, &value, &err), ERR_OK);
    assert_true(value == -0.25);
}

/* ---- Words ---- */

TEST(allowed_values_are_listed_in_english)
{
    static const char *const two[] = {"auto", "disabled", NULL};
    static const char *const three[] = {"a", "b", "c", NULL};
    static const char *const one[] = {"auto", NULL};
    json_auto_t *object = quoted_json("{'k':'bogus','n':5}");
    const char *word = NULL;
    struct err err;

    assert_int_equal(param_enum(object, "", "k", PARAM_OPTIONAL, two, &word, &err),
                     ERR_INVALID);
    expect(&err, "invalid_value", "k",
           "Invalid value: 'bogus'. Supported values are: 'auto' and 'disabled'.");
    assert_int_equal(param_enum(object, "", "k", PARAM_OPTIONAL, three, &word, &err),
                     ERR_INVALID);
    expect(&err, "invalid_value", "k",
           "Invalid value: 'bogus'. Supported values are: 'a', 'b', and 'c'.");
    assert_int_equal(param_enum(object, "", "k", PARAM_OPTIONAL, one, &word, &err),
                     ERR_INVALID);
    expect(&err, "invalid_value", "k", "Invalid value: 'bogus'. Supported values are: 'auto'.");
    assert_int_equal(param_enum(object, "", "n", PARAM_OPTIONAL, two, &word, &err),
                     ERR_INVALID);
    expect(&err, "invalid_type", "n",
           "Invalid type for 'n': expected one of 'auto' or 'disabled', but got an integer "
           "instead.");
    json_set_string(object, "k", "disabled");
    assert_int_equal(param_enum(object, "", "k", PARAM_REQUIRED, two, &word, &err), ERR_OK);
    assert_ptr_equal(word, two[1]);
}

TEST(the_clients_value_is_quoted_shortened_on_one_line)
{
    static const char *const words[] = {"auto", NULL};
    json_auto_t *object = json_object();
    char text[2000] = "a\nb";
    const char *word = NULL;
    struct err err;

    for (size_t i = 3; i + 4 < sizeof(text); i += 3)
        memcpy(text + i, "\xE2\x82\xAC", 4);
    json_set_string(object, "k", text);
    assert_int_equal(param_enum(object, "", "k", PARAM_OPTIONAL, words, &word, &err),
                     ERR_INVALID);
    assert_null(strchr(err.text, '\n'));
    assert_non_null(strstr(err.text, "...'. Supported values are: 'auto'."));
    assert_true(json_valid_utf8(err.text, strlen(err.text)));
    assert_true(strlen(err.text) < 300);
}

/* ---- metadata ---- */

TEST(metadata_is_a_small_map_of_short_strings)
{
    json_auto_t *object = quoted_json("{'metadata':{'a':'b'}}");
    json_auto_t *none = quoted_json("{'metadata':null}");
    json_t *metadata = NULL;

    assert_int_equal(param_metadata(none, &metadata, NULL), ERR_OK);
    assert_null(metadata);
    assert_int_equal(param_metadata(object, &metadata, NULL), ERR_OK);
    assert_ptr_equal(metadata, json_object_get(object, "metadata"));
}

TEST(metadata_may_have_sixteen_pairs)
{
    json_auto_t *object = quoted_json("{'metadata':{}}");
    json_t *map = json_object_get(object, "metadata");
    json_t *metadata = NULL;
    struct err err;

    for (int i = 0; i < 16; i++) {
        char key[16];

        (void)snprintf(key, sizeof(key), "key%d", i);
        json_set_string(map, key, "v");
    }
    assert_int_equal(param_metadata(object, &metadata, &err), ERR_OK);
    json_set_string(map, "one more", "v");
    assert_int_equal(param_metadata(object, &metadata, &err), ERR_INVALID);
    expect(&err, "object_above_max_properties", "metadata",
           "Invalid 'metadata': too many properties. Expected an object with at most 16 "
           "properties, but got an object with 17 properties instead.");
}

TEST(metadata_keys_and_values_have_limits)
{
    json_auto_t *object = quoted_json("{'metadata':{}}");
    json_t *map = json_object_get(object, "metadata");
    json_t *metadata = NULL;
    char text[600];
    struct err err;

    memset(text, 'x', sizeof(text));
    text[512] = '\0';
    json_set_string(map, "k", text);
    assert_int_equal(param_metadata(object, &metadata, &err), ERR_OK);
    text[512] = 'x';
    text[513] = '\0';
    json_set_string(map, "k", text);
    assert_int_equal(param_metadata_at(object, "thread", &metadata, &err), ERR_INVALID);
    expect(
        &err, "string_above_max_length", "thread.metadata.k",
        "Invalid 'thread.metadata.k': string too long. Expected a string with maximum length "
        "512, but got a string with length 513 instead.");
    json_set_int(map, "k", 3);
    assert_int_equal(param_metadata(object, &metadata, &err), ERR_INVALID);
    expect(&err, "invalid_type", "metadata.k",
           "Invalid type for 'metadata.k': expected a string, but got an integer instead.");
    json_object_clear(map);
    text[65] = '\0';
    json_set_string(map, text, "v");
    assert_int_equal(param_metadata(object, &metadata, &err), ERR_INVALID);
    assert_string_equal(err.word, "string_above_max_length");
    assert_string_equal(err.place, "metadata");
}

/* ---- Unknown keys ---- */

TEST(unknown_keys_are_refused_only_when_configured)
{
    static const char *const known[] = {"store", "stream", "metadata", NULL};
    json_auto_t *object = quoted_json("{'stoer':true}");
    json_auto_t *far = quoted_json("{'temperature':1,'stream':true}");
    struct err err;

    assert_int_equal(param_unknown(object, "", known, &err), ERR_OK);
    params_set_unknown(PARAM_UNKNOWN_REJECT);
    assert_int_equal(param_unknown(object, "", known, &err), ERR_INVALID);
    expect(&err, "unknown_parameter", "stoer",
           "Unknown parameter: 'stoer'. Did you mean 'store'?");
    assert_int_equal(param_unknown(far, "", known, &err), ERR_INVALID);
    expect(&err, "unknown_parameter", "temperature", "Unknown parameter: 'temperature'.");
    params_set_unknown(PARAM_UNKNOWN_IGNORE);
}

TEST(unknown_keys_of_the_runnel_object_are_always_refused)
{
    static const char *const known[] = {"tool_groups", NULL};
    json_auto_t *object = quoted_json("{'tool_group':[]}");
    struct err err;

    assert_int_equal(param_unknown(object, "tools[0].runnel", known, &err), ERR_INVALID);
    expect(&err, "unknown_parameter", "tools[0].runnel.tool_group",
           "Unknown parameter: 'tools[0].runnel.tool_group'. Did you mean "
           "'tools[0].runnel.tool_groups'?");
    assert_int_equal(param_unknown(object, "runnel", known, &err), ERR_INVALID);
    assert_int_equal(param_unknown(object, "runnels", known, &err), ERR_OK);
}

/* ---- Ids and pages ---- */

TEST(ids_must_have_the_right_form)
{
    struct err err;

    assert_int_equal(param_id("asst_0AbC", "asst_", "assistant_id", &err), ERR_OK);
    assert_int_equal(param_id("abc", "asst_", "assistant_id", &err), ERR_INVALID);
    expect(&err, "invalid_value", "assistant_id",
           "Invalid 'assistant_id': 'abc'. Expected an ID that begins with 'asst'.");
    assert_int_equal(param_id("asst_\xFF", "asst_", "assistant_id", &err), ERR_INVALID);
    assert_int_equal(param_id("asst_ a", "asst_", "assistant_id", &err), ERR_INVALID);
    assert_int_equal(param_id("", "asst_", "assistant_id", &err), ERR_INVALID);
    assert_int_equal(
        param_id("asst_00000000000000000000000000000000000000000000000000000000000000", "asst_",
                 "assistant_id", &err),
        ERR_INVALID);
    assert_string_equal(err.word, "string_above_max_length");
}

TEST(a_thread_may_be_called_a_conversation)
{
    char id[ID_LIMIT + 1] = "";
    struct err err;

    assert_int_equal(param_thread_id("conv_00a", "thread_id", id, &err), ERR_OK);
    assert_string_equal(id, "thread_00a");
    assert_int_equal(param_thread_id("thread_00b", "thread_id", id, &err), ERR_OK);
    assert_string_equal(id, "thread_00b");
    assert_int_equal(param_thread_id("abc", "thread_id", id, &err), ERR_INVALID);
    expect(&err, "invalid_value", "thread_id",
           "Invalid 'thread_id': 'abc'. Expected an ID that begins with 'thread'.");
}

TEST(a_page_is_twenty_newest_unless_said_otherwise)
{
    struct page page = {0};
    struct err err;

    assert_int_equal(param_page_parse(NULL, NULL, NULL, NULL, &page, &err), ERR_OK);
    assert_int_equal(page.limit, 20);
    assert_false(page.ascending);
    assert_string_equal(page.after, "");
    assert_int_equal(param_page_parse("0", "asc", "msg_1", "", &page, &err), ERR_OK);
    assert_int_equal(page.limit, 0);
    assert_true(page.ascending);
    assert_string_equal(page.after, "msg_1");
    assert_string_equal(page.before, "");
    assert_int_equal(param_page_parse("100", "desc", NULL, "msg_2", &page, &err), ERR_OK);
    assert_int_equal(page.limit, 100);
    assert_string_equal(page.before, "msg_2");
}

TEST(invalid_page_parameters_are_refused)
{
    struct page page = {.limit = 7};
    struct err err;

    assert_int_equal(param_page_parse("101", NULL, NULL, NULL, &page, &err), ERR_INVALID);
    expect(&err, "integer_above_max_value", "limit",
           "Invalid 'limit': integer above maximum value. Expected a value <= 100, but got 101 "
           "instead.");
    assert_int_equal(param_page_parse("-1", NULL, NULL, NULL, &page, &err), ERR_INVALID);
    expect(&err, "integer_below_min_value", "limit",
           "Invalid 'limit': integer below minimum value. Expected a value >= 0, but got -1 "
           "instead.");
    assert_int_equal(param_page_parse("99999999999999999999", NULL, NULL, NULL, &page, &err),
                     ERR_INVALID);
    assert_string_equal(err.word, "integer_above_max_value");
    for (size_t i = 0; i < 4; i++) {
        static const char *const nonsense[] = {"ten", "", " 5", "5x"};

        assert_int_equal(param_page_parse(nonsense[i], NULL, NULL, NULL, &page, &err),
                         ERR_INVALID);
        expect(&err, "invalid_type", "limit",
               "Invalid type for 'limit': expected an integer, but got a string instead.");
    }
    assert_int_equal(param_page_parse(NULL, "up", NULL, NULL, &page, &err), ERR_INVALID);
    expect(&err, "invalid_value", "order",
           "Invalid value: 'up'. Supported values are: 'asc' and 'desc'.");
    assert_int_equal(param_page_parse(NULL, NULL, "\xFF", NULL, &page, &err), ERR_INVALID);
    assert_string_equal(err.place, "after");
    assert_int_equal(page.limit, 7);
}

TEST(long_paths_end_between_characters)
{
    char key[200] = "x";
    struct param_path path;

    for (size_t i = 1; i + 4 < sizeof(key); i += 3)
        memcpy(key + i, "\xE2\x82\xAC", 4);
    path = param_key("metadata", key);
    assert_true(strlen(path.text) > 90);
    assert_true(json_valid_utf8(path.text, strlen(path.text)));
    assert_string_equal(param_index(param_key("", "tools").text, 3).text, "tools[3]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_string_is_read_and_an_absent_or_null_one_left_alone),
        cmocka_unit_test(a_missing_parameter_is_named_with_its_whole_path),
        cmocka_unit_test(lengths_are_counted_in_characters),
        cmocka_unit_test(names_have_letters_digits_underscores_and_dashes),
        cmocka_unit_test(a_wrong_type_is_named_with_what_came_instead),
        cmocka_unit_test(objects_and_arrays_are_borrowed),
        cmocka_unit_test(whole_reals_are_integers_and_others_are_not),
        cmocka_unit_test(integers_have_a_range),
        cmocka_unit_test(decimals_have_a_range),
        cmocka_unit_test(allowed_values_are_listed_in_english),
        cmocka_unit_test(the_clients_value_is_quoted_shortened_on_one_line),
        cmocka_unit_test(metadata_is_a_small_map_of_short_strings),
        cmocka_unit_test(metadata_may_have_sixteen_pairs),
        cmocka_unit_test(metadata_keys_and_values_have_limits),
        cmocka_unit_test(unknown_keys_are_refused_only_when_configured),
        cmocka_unit_test(unknown_keys_of_the_runnel_object_are_always_refused),
        cmocka_unit_test(ids_must_have_the_right_form),
        cmocka_unit_test(a_thread_may_be_called_a_conversation),
        cmocka_unit_test(a_page_is_twenty_newest_unless_said_otherwise),
        cmocka_unit_test(invalid_page_parameters_are_refused),
        cmocka_unit_test(long_paths_end_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
