#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_tools.h"
#include "tests/support/test.h"

static json_t *read_page(const char *text)
{
    json_auto_t *page = json_parse_own(text);
    json_t *tools = json_array();

    assert_int_equal(mcp_tools_add_page(tools, page, NULL), ERR_OK);
    return tools;
}

TEST(a_tool_is_shown_as_it_was_listed)
{
    json_auto_t *tools =
        read_page("{\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"inputSchema\":{\"x\":1},"
                  "\"annotations\":{\"title\":\"T\",\"readOnlyHint\":true,\"other\":1,"
                  "\"idempotentHint\":\"yes\"}},"
                  "{\"name\":\"b\",\"inputSchema\":{}}]}");
    AUTO_FREE char *text = json_text(tools);

    assert_string_equal(text,
                        "[{\"name\":\"a\",\"description\":\"d\",\"input_schema\":{\"x\":1},"
                        "\"annotations\":{\"readOnlyHint\":true,\"title\":\"T\"}},"
                        "{\"name\":\"b\",\"description\":\"\",\"input_schema\":{},"
                        "\"annotations\":null}]");
}

TEST(tools_that_cannot_be_used_are_left_out)
{
    json_auto_t *tools = read_page("{\"tools\":[7,{},{\"name\":7,\"inputSchema\":{}},"
                                   "{\"name\":\"a\"},{\"name\":\"a\",\"inputSchema\":[]},{"
                                   "\"name\":\"ok\",\"inputSchema\":{}},"
                                   "{\"name\":\"ok\",\"inputSchema\":{\"second\":true}}]}");
    AUTO_FREE char *text = json_text(tools);

    assert_int_equal(json_array_size(tools), 1);
    assert_null(strstr(text, "second"));
}

/* Each list gives a tool the same name, and different tools different ones. */
TEST(a_tool_that_cannot_be_called_by_its_name_is_renamed)
{
    static const char *const names[] = {
        "", "a b", "a_b", "a\tb", "\xC3\xA4", "\xC3\xB6", "a\xE2\x80\xAEz",
    };
    json_auto_t *page = json_build("{s:[]}", "tools");
    json_auto_t *tools = json_array();
    json_auto_t *again = json_array();
    json_auto_t *seen = json_object();
    char longer[2 * MCP_NAME_LIMIT];
    size_t i;
    json_t *tool;

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    for (i = 0; i < COUNT_OF(names); i++)
        json_array_append_new(json_object_get(page, "tools"),
                              json_build("{s:s, s:{}}", "name", names[i], "inputSchema"));
    json_array_append_new(json_object_get(page, "tools"),
                          json_build("{s:s, s:{}}", "name", longer, "inputSchema"));
    assert_int_equal(mcp_tools_add_page(tools, page, NULL), ERR_OK);
    assert_int_equal(mcp_tools_add_page(again, page, NULL), ERR_OK);
    assert_true(json_equal(tools, again));
    assert_int_equal(json_array_size(tools), COUNT_OF(names) + 1);
    json_array_foreach (tools, i, tool) {
        const char *given = i < COUNT_OF(names) ? names[i] : longer;
        const char *name = json_get_string(tool, "name", "");
        const char *original = mcp_tool_original_name(tool);

        assert_true(mcp_name_is_fit(name));
        assert_null(json_object_get(seen, name));
        json_set_bool(seen, name, true);
        assert_string_equal(original ? original : name, given);
        assert_true(!original == mcp_name_is_fit(given));
    }
}

/* F109: a client may send a list, and the person who approves sees the listed name only. */
TEST(no_other_tool_hides_behind_a_name)
{
    static const char *const forged[] = {
        "{\"name\":\"read\",\"runnel\":{\"original_name\":\"delete\"}}",
        "{\"name\":\"read\",\"runnel\":{\"original_name\":\"delete all\"}}",
        "{\"name\":\"read\",\"runnel\":{\"original_name\":7}}",
        "{\"name\":\"read\",\"runnel\":7}",
    };

    for (size_t i = 0; i < COUNT_OF(forged); i++) {
        json_auto_t *tool = json_parse_own(forged[i]);

        assert_null(mcp_tool_original_name(tool));
    }
}

TEST(a_schema_has_a_size_limit)
{
    AUTO_FREE char *filler = mem_new_array(char, MCP_SCHEMA_LIMIT + 1);
    json_auto_t *page = NULL;
    json_auto_t *tools = json_array();

    memset(filler, 'x', MCP_SCHEMA_LIMIT);
    page = json_build("{s:[{s:s, s:{s:s}}]}", "tools", "name", "a", "inputSchema", "x", filler);
    assert_int_equal(mcp_tools_add_page(tools, page, NULL), ERR_OK);
    assert_int_equal(json_array_size(tools), 0);
}

TEST(a_list_has_a_limit_of_tools)
{
    json_auto_t *tools = json_array();

    for (size_t i = 0; i <= MCP_TOOL_LIMIT; i++) {
        AUTO_FREE char *name = mem_printf("t%zu", i);
        json_auto_t *page =
            json_build("{s:[{s:s, s:{}}]}", "tools", "name", name, "inputSchema");
        enum err_code rc = mcp_tools_add_page(tools, page, NULL);

        assert_int_equal(rc, i < MCP_TOOL_LIMIT ? ERR_OK : ERR_LIMIT);
    }
}

TEST(a_list_has_a_size_limit)
{
    AUTO_FREE char *filler = mem_new_array(char, MCP_SCHEMA_LIMIT);
    json_auto_t *tools = json_array();
    enum err_code rc = ERR_OK;
    size_t i;

    memset(filler, 'x', MCP_SCHEMA_LIMIT - 100);
    for (i = 0; i < MCP_TOOL_LIMIT && !rc; i++) {
        AUTO_FREE char *name = mem_printf("t%zu", i);
        json_auto_t *page = json_build("{s:[{s:s, s:{s:s}}]}", "tools", "name", name,
                                       "inputSchema", "x", filler);

        rc = mcp_tools_add_page(tools, page, NULL);
    }
    assert_int_equal(rc, ERR_LIMIT);
    assert_in_range(i, 16, 18);
}

TEST(a_page_without_a_list_is_refused)
{
    json_auto_t *tools = json_array();
    json_auto_t *page = json_parse_own("{\"tools\":{}}");

    assert_int_equal(mcp_tools_add_page(tools, page, NULL), ERR_UPSTREAM);
}

/* F109: the model must not read what is invisible to the person who approves. */
TEST(a_description_loses_hidden_characters)
{
    static const char *const texts[][2] = {
        {"plain\ttext\n", "plain\ttext\n"},
        {"\x1b[31mred\x07", "[31mred"},
        {"a\xE2\x80\xAE"
         "b\xE2\x80\x8B"
         "c\xE2\x81\xA6"
         "d\xEF\xBB\xBF"
         "e",
         "abcde"},
        {"tag\xF3\xA0\x81\xA1!", "tag!"},
        {"\xC3\xA4\xE4\xBD\xA0\xF0\x9F\x98\x80", "\xC3\xA4\xE4\xBD\xA0\xF0\x9F\x98\x80"},
        {"bad\xFF", "bad\xEF\xBF\xBD"},
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        AUTO_FREE char *clean = mcp_clean_description(texts[i][0]);

        assert_string_equal(clean, texts[i][1]);
    }
}

TEST(a_description_is_cut_at_a_character)
{
    AUTO_BUF text = {0};
    AUTO_FREE char *clean = NULL;

    buf_add_text(&text, "x");
    while (text.length < 2 * MCP_DESCRIPTION_LIMIT)
        buf_add_text(&text, "\xC3\xA4");
    clean = mcp_clean_description(text.data);
    assert_int_equal(strlen(clean), MCP_DESCRIPTION_LIMIT - 1);
}

TEST(a_filter_keeps_the_tools_that_it_names)
{
    static const char *const filters[][2] = {
        {"null", "rwp"},
        {"[]", ""},
        {"[\"w\",\"x\"]", "w"},
        {"{}", "rwp"},
        {"{\"tool_names\":[\"r\"]}", "r"},
        {"{\"read_only\":true}", "r"},
        {"{\"read_only\":false}", "wp"},
        {"{\"read_only\":true,\"tool_names\":[\"w\"]}", ""},
    };
    json_auto_t *tools = read_page(
        "{\"tools\":[{\"name\":\"r\",\"inputSchema\":{},"
        "\"annotations\":{\"readOnlyHint\":true}},"
        "{\"name\":\"w\",\"inputSchema\":{},\"annotations\":{\"readOnlyHint\":false}},"
        "{\"name\":\"p\",\"inputSchema\":{}}]}");

    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        json_auto_t *filter = json_loads(filters[i][0], JSON_DECODE_ANY, NULL);
        json_auto_t *kept = mcp_tools_allowed(tools, filter);
        AUTO_BUF names = {0};
        size_t n;
        json_t *tool;

        buf_add_text(&names, "");
        json_array_foreach (kept, n, tool)
            buf_add_text(&names, json_get_string(tool, "name", "?"));
        assert_string_equal(names.data ? names.data : "", filters[i][1]);
    }
}

TEST(function_names_are_accepted_by_every_upstream)
{
    AUTO_FREE char *plain = mcp_function_name("docs", "search");
    AUTO_FREE char *dotted = mcp_function_name("docs", "a.b");
    AUTO_FREE char *slashed = mcp_function_name("docs", "a/b");
    AUTO_FREE char *longer = mcp_function_name("a-label-that-goes-on-for-quite-a-while",
                                               "a_tool_that_does_not_know_when_to_stop");

    assert_string_equal(plain, "docs__search");
    assert_memory_equal(dotted, "docs__a_b_", 10);
    assert_string_not_equal(dotted, slashed);
    assert_int_equal(strlen(longer), MCP_FUNCTION_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_is_shown_as_it_was_listed),
        cmocka_unit_test(tools_that_cannot_be_used_are_left_out),
        cmocka_unit_test(a_tool_that_cannot_be_called_by_its_name_is_renamed),
        cmocka_unit_test(no_other_tool_hides_behind_a_name),
        cmocka_unit_test(a_schema_has_a_size_limit),
        cmocka_unit_test(a_list_has_a_limit_of_tools),
        cmocka_unit_test(a_list_has_a_size_limit),
        cmocka_unit_test(a_page_without_a_list_is_refused),
        cmocka_unit_test(a_description_loses_hidden_characters),
        cmocka_unit_test(a_description_is_cut_at_a_character),
        cmocka_unit_test(a_filter_keeps_the_tools_that_it_names),
        cmocka_unit_test(function_names_are_accepted_by_every_upstream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
