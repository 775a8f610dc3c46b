#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_result.h"
#include "tests/support/test.h"

static struct tool_result result;
static bool failed;

static enum err_code read_result(const char *text)
{
    json_auto_t *given = json_parse_own(text);

    tool_result_clear(&result);
    return mcp_result_read(given, &result, &failed, NULL);
}

TEST(every_block_becomes_a_part)
{
    assert_int_equal(
        read_result("{\"content\":[{\"type\":\"text\",\"text\":\"t\"},"
                    "{\"type\":\"image\",\"data\":\"aGk=\",\"mimeType\":\"image/png\"},"
                    "{\"type\":\"audio\",\"data\":\"aGk=\",\"mimeType\":\"audio/wav\"},"
                    "{\"type\":\"resource\",\"resource\":{\"uri\":\"x:a\",\"text\":\"r\"}},"
                    "{\"type\":\"resource\",\"resource\":{\"uri\":\"x:b\",\"blob\":\"aGk=\"}},"
                    "{\"type\":\"resource_link\",\"uri\":\"https://e/x\"},"
                    "{\"type\":\"new\",\"x\":1}]}"),
        ERR_OK);
    assert_int_equal(result.count, 7);
    assert_false(failed);
    assert_string_equal(result.parts[0].data, "t");
    assert_int_equal(result.parts[1].kind, TOOL_PART_IMAGE);
    assert_string_equal(result.parts[1].data, "aGk=");
    assert_string_equal(result.parts[1].mime_type, "image/png");
    assert_int_equal(result.parts[2].kind, TOOL_PART_FILE);
    assert_string_equal(result.parts[3].data, "r");
    assert_int_equal(result.parts[4].kind, TOOL_PART_FILE);
    assert_string_equal(result.parts[4].url, "x:b");
    assert_int_equal(result.parts[5].kind, TOOL_PART_URL);
    assert_string_equal(result.parts[5].url, "https://e/x");
    assert_string_equal(result.parts[6].data, "{\"type\":\"new\",\"x\":1}");
}

TEST(structured_content_becomes_text_without_other_content)
{
    assert_int_equal(read_result("{\"structuredContent\":{\"a\":1}}"), ERR_OK);
    assert_int_equal(result.count, 1);
    assert_string_equal(result.parts[0].data, "{\"a\":1}");
    assert_int_equal(read_result("{\"content\":[{\"type\":\"text\",\"text\":\"t\"}],"
                                 "\"structuredContent\":{\"a\":1}}"),
                     ERR_OK);
    assert_int_equal(result.count, 1);
}

TEST(a_failed_tool_is_reported)
{
    assert_int_equal(read_result("{\"content\":[],\"isError\":true}"), ERR_OK);
    assert_true(failed);
}

TEST(an_invalid_result_is_refused)
{
    json_auto_t *many = json_object();
    json_t *blocks = json_array();

    assert_int_equal(read_result("{}"), ERR_UPSTREAM);
    assert_int_equal(read_result("{\"content\":\"text\"}"), ERR_UPSTREAM);
    for (size_t i = 0; i <= MCP_CONTENT_LIMIT; i++)
        json_array_append_new(blocks, json_build("{s:s, s:s}", "type", "text", "text", "x"));
    json_set(many, "content", blocks);
    assert_int_equal(mcp_result_read(many, &result, &failed, NULL), ERR_UPSTREAM);
}

TEST(incomplete_blocks_do_no_harm)
{
    assert_int_equal(read_result("{\"content\":[7,null,{},{\"type\":\"image\"},"
                                 "{\"type\":\"resource\"},{\"type\":\"text\",\"text\":7},"
                                 "{\"type\":\"resource_link\"}]}"),
                     ERR_OK);
    assert_int_equal(result.count, 7);
}

static int clear(void **state)
{
    (void)state;
    tool_result_clear(&result);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_becomes_a_part),
        cmocka_unit_test(structured_content_becomes_text_without_other_content),
        cmocka_unit_test(a_failed_tool_is_reported),
        cmocka_unit_test(an_invalid_result_is_refused),
        cmocka_unit_test(incomplete_blocks_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, clear);
}
