#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/tool.h"
#include "tests/support/test.h"

static void fill(struct tool_result *result)
{
    tool_result_add_text(result, "first");
    tool_result_add_part(result, (struct tool_part){.kind = TOOL_PART_IMAGE,
                                                    .mime_type = mem_strdup("image/png"),
                                                    .data = mem_strdup("aGk="),
                                                    .length = 4});
    tool_result_add_part(result, (struct tool_part){.kind = TOOL_PART_FILE,
                                                    .mime_type = mem_strdup("text/x-odd; a=b"),
                                                    .url = mem_strdup("file-1")});
    tool_result_add_part(result, (struct tool_part){.kind = TOOL_PART_URL,
                                                    .url = mem_strdup("https://example.com")});
    tool_result_add_text(result, "last");
}

TEST(result_text_reads_text_and_names_the_rest)
{
    struct tool_result result = {0};
    AUTO_FREE char *empty = tool_result_text(&result);
    AUTO_FREE char *text = NULL;

    assert_string_equal(empty, "");
    fill(&result);
    text = tool_result_text(&result);
    assert_string_equal(text, "first\n[image image/png]\n[file text/x-odd; a=b: file-1]\n"
                              "[url: https://example.com]\nlast");
    tool_result_clear(&result);
    assert_int_equal(result.count, 0);
}

TEST(result_survives_json_and_back)
{
    struct tool_result result = {0}, back = {0};
    json_auto_t *json = NULL, *again = NULL;

    fill(&result);
    json = tool_result_json(&result);
    assert_int_equal(tool_result_parse(json, &back, NULL), ERR_OK);
    again = tool_result_json(&back);
    assert_true(json_equal(json, again));
    assert_int_equal(back.count, 5);
    assert_string_equal(back.parts[2].mime_type, "text/x-odd; a=b");
    assert_int_equal(back.parts[1].length, 4);
    assert_null(back.parts[3].data);
    tool_result_clear(&result);
    tool_result_clear(&back);
}

TEST(result_json_names_kind_and_mime_type)
{
    struct tool_result result = {0};
    json_auto_t *json = NULL;
    AUTO_FREE char *text = NULL;

    tool_result_add_text(&result, "x");
    json = tool_result_json(&result);
    text = json_text(json);
    assert_string_equal(text,
                        "[{\"type\":\"text\",\"mime_type\":\"text/plain\",\"text\":\"x\"}]");
    tool_result_clear(&result);
}

TEST(result_makes_broken_bytes_readable)
{
    struct tool_result result = {0};
    json_auto_t *json = NULL;

    tool_result_add_bytes(&result, "a\xc3(\0b", 5);
    json = tool_result_json(&result); /* would abort on text that is not UTF-8 */
    assert_string_equal(result.parts[0].data, "a\xEF\xBF\xBD(\xEF\xBF\xBD"
                                              "b");
    assert_int_equal(result.parts[0].length, strlen(result.parts[0].data));
    tool_result_clear(&result);
}

static void expect_refused(const char *text)
{
    json_auto_t *json = json_parse_own(text);
    struct tool_result result = {0};
    struct err err = {0};

    assert_int_equal(tool_result_parse(json, &result, &err), ERR_INVALID);
    assert_true(err.text[0] != '\0');
    assert_int_equal(result.count, 0);
}

TEST(result_parse_refuses_anything_but_a_list_of_parts)
{
    expect_refused("{}");
    expect_refused("null");
    expect_refused("[1]");
    expect_refused("[{\"type\":\"video\"}]");
    expect_refused("[{\"type\":\"text\",\"text\":\"good\"},{\"type\":\"text\"}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result_text_reads_text_and_names_the_rest),
        cmocka_unit_test(result_survives_json_and_back),
        cmocka_unit_test(result_json_names_kind_and_mime_type),
        cmocka_unit_test(result_makes_broken_bytes_readable),
        cmocka_unit_test(result_parse_refuses_anything_but_a_list_of_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
