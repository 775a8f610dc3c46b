#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/files_view.h"
#include "tests/support/test.h"

static void expect_json(const json_t *value, const char *expected)
{
    AUTO_FREE char *text = json_text(value);

    assert_string_equal(text, expected);
}

TEST(files_view_turns_resources_into_lists_by_tool)
{
    json_auto_t *resources =
        json_parse_own("{\"code_interpreter\":{\"file_ids\":[\"file-1\",\"file-2\"]},"
                       "\"file_search\":{\"vector_store_ids\":[\"vs_1\"]}}");
    json_auto_t *view = files_view_from_resources(resources);
    json_auto_t *back = files_view_to_resources(view);

    expect_json(view,
                "{\"code_interpreter\":[\"file-1\",\"file-2\"],\"file_search\":[\"vs_1\"]}");
    assert_true(json_equal(back, resources));
}

TEST(files_view_of_nothing_is_empty)
{
    json_auto_t *none = files_view_from_resources(NULL);
    json_auto_t *null = files_view_from_resources(json_null());

    expect_json(none, "{}");
    expect_json(null, "{}");
    assert_null(files_view_of(none, "code_interpreter"));
}

TEST(files_view_merges_attachments_each_file_once)
{
    json_auto_t *view = json_parse_own("{\"file_search\":[\"vs_1\"]}");
    json_auto_t *attachments = json_parse_own(
        "[{\"file_id\":\"file-b\",\"tools\":[{\"type\":\"code_interpreter\"},"
        "{\"type\":\"file_search\"}]},"
        "{\"file_id\":\"file-a\",\"tools\":[{\"type\":\"code_interpreter\"}]},"
        "{\"file_id\":\"file-b\",\"tools\":[{\"type\":\"code_interpreter\"}]},"
        "{\"file_id\":\"file-c\"},{\"tools\":[{\"type\":\"code_interpreter\"}]},null,"
        "{\"file_id\":7,\"tools\":[{}]}]");

    files_view_add_attachments(view, attachments);
    files_view_add_attachments(view, NULL);
    files_view_add(view, "file_search", "vs_2");
    expect_json(view, "{\"file_search\":[\"vs_1\",\"vs_2\",\"file-b\"],"
                      "\"code_interpreter\":[\"file-b\",\"file-a\"]}");
}

TEST(files_view_of_a_tool_is_its_list)
{
    json_auto_t *view = json_parse_own("{\"code_interpreter\":[\"file-1\"]}");

    expect_json(files_view_of(view, "code_interpreter"), "[\"file-1\"]");
    assert_null(files_view_of(view, "file_search"));
}

TEST(files_view_takes_the_files_of_a_message)
{
    json_auto_t *view = json_build("{}");
    json_auto_t *content =
        json_parse_own("[{\"type\":\"input_text\",\"text\":\"Look.\",\"file_id\":\"file-x\"},"
                       "{\"type\":\"input_file\",\"file_id\":\"file-a\"},"
                       "{\"type\":\"input_image\",\"file_id\":\"file-b\"},"
                       "{\"type\":\"input_file\",\"file_data\":\"YQ==\"},null]");
    json_auto_t *text = json_string("file-c");

    files_view_add_content(view, "code_interpreter", content);
    files_view_add_content(view, "code_interpreter", text);
    expect_json(view, "{\"code_interpreter\":[\"file-a\",\"file-b\"]}");
}

TEST(files_view_has_a_limit)
{
    json_auto_t *view = json_build("{}");

    for (int i = 0; i < FILES_VIEW_LIMIT + 10; i++) {
        char id[32];

        (void)snprintf(id, sizeof(id), "file-%d", i);
        files_view_add(view, "code_interpreter", id);
    }
    assert_int_equal(json_array_size(json_object_get(view, "code_interpreter")),
                     FILES_VIEW_LIMIT);
}

/* ---- round trips ---- */

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static const char *const tool_types[] = {"code_interpreter", "file_search", "image_generation",
                                         "my_tool"};
static const char *const prefixes[] = {"file-", "file_", "vs_", "x"};

/* Files in every order: the view survives the way through resources, and resources through the view. */
TEST(files_view_comes_back_from_resources_unchanged)
{
    unsigned seed = 20261121;

    for (int round = 0; round < 2000; round++) {
        json_auto_t *view = json_build("{}");
        json_auto_t *resources = NULL, *back = NULL, *again = NULL;

        for (unsigned adds = next_random(&seed) % 30; adds; adds--) {
            char id[32];

            (void)snprintf(id, sizeof(id), "%s%u",
                           prefixes[next_random(&seed) % COUNT_OF(prefixes)],
                           next_random(&seed) % 12);
            files_view_add(view, tool_types[next_random(&seed) % COUNT_OF(tool_types)], id);
        }
        resources = files_view_to_resources(view);
        back = files_view_from_resources(resources);
        again = files_view_to_resources(back);
        assert_true(json_equal(view, back));
        assert_true(json_equal(resources, again));
    }
}

/* ---- checks ---- */

static void expect_good(const char *text)
{
    json_auto_t *resources = json_parse_own(text);

    assert_int_equal(files_view_check_resources(resources, "tool_resources", NULL), ERR_OK);
}

static void expect_bad(const char *text, const char *place, enum err_reason reason,
                       const char *sentence)
{
    json_auto_t *resources = json_parse_own(text);
    struct err err = {0};

    assert_int_equal(files_view_check_resources(resources, "tool_resources", &err),
                     ERR_INVALID);
    assert_string_equal(err.place, place);
    assert_int_equal(err.reason, reason);
    assert_string_equal(err.text, sentence);
}

TEST(files_view_check_accepts_what_openai_accepts)
{
    assert_int_equal(files_view_check_resources(NULL, "tool_resources", NULL), ERR_OK);
    expect_good("null");
    expect_good("{}");
    expect_good("{\"code_interpreter\":null,\"file_search\":{}}");
    expect_good("{\"code_interpreter\":{\"file_ids\":[\"file-1\",\"file_2\"]}}");
    expect_good("{\"file_search\":{\"vector_store_ids\":[\"vs_1\"],\"vector_stores\":null}}");
    expect_good("{\"file_search\":{\"vector_stores\":[{\"file_ids\":[\"file-1\"]}]}}");
}

TEST(files_view_check_refuses_with_the_messages_of_openai)
{
    expect_bad("[]", "tool_resources", REASON_BAD_TYPE,
               "Invalid type for 'tool_resources': expected an object, but got an array "
               "instead.");
    expect_bad("{\"file_search\":true}", "tool_resources.file_search", REASON_BAD_TYPE,
               "Invalid type for 'tool_resources.file_search': expected an object, but got a "
               "boolean instead.");
    expect_bad(
        "{\"code_interpreter\":{\"file_ids\":\"file-1\"}}",
        "tool_resources.code_interpreter.file_ids", REASON_BAD_TYPE,
        "Invalid type for 'tool_resources.code_interpreter.file_ids': expected an array, "
        "but got a string instead.");
    expect_bad("{\"code_interpreter\":{\"file_ids\":[\"file-1\",2.5]}}",
               "tool_resources.code_interpreter.file_ids[1]", REASON_BAD_TYPE,
               "Invalid type for 'tool_resources.code_interpreter.file_ids[1]': expected a "
               "string, but got a decimal instead.");
    expect_bad(
        "{\"file_search\":{\"vector_store_ids\":[\"vs_1\",\"vs_2\"]}}",
        "tool_resources.file_search.vector_store_ids", REASON_LIST_TOO_LONG,
        "Invalid 'tool_resources.file_search.vector_store_ids': array too long. Expected "
        "an array with maximum length 1, but got an array with length 2 instead.");
    expect_bad(
        "{\"file_search\":{\"vector_store_ids\":[\"file-1\"]}}",
        "tool_resources.file_search.vector_store_ids[0]", REASON_BAD_VALUE,
        "Invalid 'tool_resources.file_search.vector_store_ids[0]': 'file-1'. Expected an "
        "ID that begins with 'vs'.");
}

TEST(files_view_check_counts_files)
{
    json_auto_t *ids = json_build("[]");
    json_auto_t *resources = json_build("{s:{s:O}}", "code_interpreter", "file_ids", ids);
    struct err err = {0};

    for (int i = 0; i < 20; i++)
        json_array_append_new(ids, json_string("file-1"));
    assert_int_equal(files_view_check_resources(resources, "tool_resources", &err), ERR_OK);
    json_array_append_new(ids, json_string("file-1"));
    assert_int_equal(files_view_check_resources(resources, "tool_resources", &err),
                     ERR_INVALID);
    assert_int_equal(err.reason, REASON_LIST_TOO_LONG);
}

TEST(files_view_check_survives_long_keys)
{
    json_auto_t *resources = json_build("{}");
    char key[500];

    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = '\0';
    json_set(resources, key, json_build("{s:[i]}", "file_ids", 1));
    assert_int_equal(files_view_check_resources(resources, "tool_resources", NULL),
                     ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_view_turns_resources_into_lists_by_tool),
        cmocka_unit_test(files_view_of_nothing_is_empty),
        cmocka_unit_test(files_view_merges_attachments_each_file_once),
        cmocka_unit_test(files_view_of_a_tool_is_its_list),
        cmocka_unit_test(files_view_takes_the_files_of_a_message),
        cmocka_unit_test(files_view_has_a_limit),
        cmocka_unit_test(files_view_comes_back_from_resources_unchanged),
        cmocka_unit_test(files_view_check_accepts_what_openai_accepts),
        cmocka_unit_test(files_view_check_refuses_with_the_messages_of_openai),
        cmocka_unit_test(files_view_check_counts_files),
        cmocka_unit_test(files_view_check_survives_long_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
