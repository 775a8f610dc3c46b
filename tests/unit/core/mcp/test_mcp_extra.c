/* F102: resources and prompts of MCP servers. */

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_extra.h"
#include "core/mcp/mcp_result.h"
#include "core/mcp/mcp_tools.h"
#include "tests/support/test.h"

static const char all_extras[] = "{\"resources\":true,\"prompts\":true}";

/* The names of all tools of a server with extras, one after another. The caller frees. */
static char *names(const char *tools, const char *capabilities, const char *request)
{
    json_auto_t *list = json_parse_own(tools);
    json_auto_t *able = json_parse_own(capabilities);
    json_auto_t *wanted = json_parse_own(request);
    AUTO_BUF text = {0};
    size_t i;
    json_t *tool;

    mcp_extra_add(list, able, wanted);
    json_array_foreach (list, i, tool) {
        buf_add_text(&text, json_get_string(tool, "name", ""));
        buf_add_text(&text, mcp_extra_of(tool, wanted) ? "+ " : " ");
    }
    buf_add(&text, "", 0);
    return buf_take(&text);
}

static void assert_names(const char *tools, const char *capabilities, const char *request,
                         const char *expected)
{
    AUTO_FREE char *found = names(tools, capabilities, request);

    assert_string_equal(found ? found : "", expected);
}

TEST(extras_are_added_where_request_and_server_have_them)
{
    const char both[] = "{\"resources\":{},\"prompts\":{}}";

    assert_names("[]", both, all_extras,
                 "list_resources+ read_resource+ list_prompts+ get_prompt+ ");
    assert_names("[]", "{\"prompts\":{}}", all_extras, "list_prompts+ get_prompt+ ");
    assert_names("[]", both, "{\"resources\":true}", "list_resources+ read_resource+ ");
    assert_names("[{\"name\":\"x\"}]", both, "{\"resources\":false}", "x ");
    assert_names("[{\"name\":\"x\"}]", both, NULL, "x ");
    assert_names("[{\"name\":\"x\"}]", NULL, all_extras, "x ");
    assert_names("[{\"name\":\"x\"}]", "{\"resources\":true}", all_extras, "x ");
}

TEST(a_tool_of_the_server_with_the_same_name_is_kept)
{
    assert_names("[{\"name\":\"read_resource\"}]", "{\"resources\":{}}", all_extras,
                 "read_resource list_resources+ ");
    assert_names("[{\"name\":\"x\",\"runnel\":{\"method\":\"resources/read\"}}]", "{}",
                 all_extras, "x ");
}

TEST(a_full_list_stays_as_it_is)
{
    json_auto_t *tools = json_array();
    json_auto_t *able = json_parse_own("{\"resources\":{}}");
    json_auto_t *wanted = json_parse_own(all_extras);

    while (json_array_size(tools) < MCP_TOOL_LIMIT)
        json_array_append_new(tools, json_build("{s:s}", "name", "x"));
    mcp_extra_add(tools, able, wanted);
    assert_int_equal(json_array_size(tools), MCP_TOOL_LIMIT);
}

static const struct mcp_extra *find(const char *name, const char *method)
{
    json_auto_t *tool = json_build("{s:s, s:{s:s}}", "name", name, "runnel", "method", method);
    json_auto_t *wanted = json_parse_own(all_extras);

    return mcp_extra_of(tool, wanted);
}

/* Adds a page of resources. */
static enum err_code add(json_t *gathered, const char *text)
{
    const struct mcp_extra *extra = find("list_resources", "resources/list");
    json_auto_t *page = json_parse_own(text);

    return mcp_listing_add(&extra->listings[1], gathered, page, NULL);
}

TEST(entries_of_a_list_are_made_fit)
{
    json_auto_t *gathered = json_object();
    AUTO_FREE char *text = NULL;

    assert_int_equal(
        add(gathered, "{\"resources\":[{\"uri\":\"x:a\",\"name\":\"A\\u200b\",\"size\":7,"
                      "\"description\":\"d\",\"mimeType\":\"text/plain\"},{\"uri\":\"\"},"
                      "{\"uri\":\"x:\\u202eb\"},{\"name\":\"no uri\"},7,{\"uri\":\"x:c\"}]}"),
        ERR_OK);
    text = json_text(gathered);
    assert_string_equal(text, "{\"resources\":[{\"uri\":\"x:a\",\"name\":\"A\",\"description\":"
                              "\"d\",\"mimeType\":\"text/plain\"},{\"uri\":\"x:c\"}]}");
    assert_int_equal(add(gathered, "{\"resources\":{}}"), ERR_UPSTREAM);
}

TEST(a_list_has_limits)
{
    json_auto_t *gathered = json_object();
    json_auto_t *large = json_object();
    AUTO_FREE char *filler = mem_printf("%04000d", 0);
    AUTO_FREE char *one = mem_printf("{\"resources\":[{\"uri\":\"x:a\",\"name\":\"%s\","
                                     "\"description\":\"%s\"}]}",
                                     filler, filler);
    enum err_code rc = ERR_OK;

    for (size_t i = 0; i < MCP_ENTRY_LIMIT; i++)
        assert_int_equal(add(gathered, "{\"resources\":[{\"uri\":\"x:a\"}]}"), ERR_OK);
    assert_null(json_object_get(gathered, "more"));
    assert_int_equal(add(gathered, "{\"resources\":[{\"uri\":\"x:b\"}]}"), ERR_OK);
    assert_true(json_get_bool(gathered, "more", false));
    assert_int_equal(json_array_size(json_object_get(gathered, "resources")), MCP_ENTRY_LIMIT);
    for (size_t i = 0; !rc && i < MCP_ENTRY_LIMIT; i++)
        rc = add(large, one);
    assert_int_equal(rc, ERR_LIMIT);
}

/* The converted result of the method, as text; "" when it is invalid. The caller frees. */
static char *shown(const char *name, const char *method, const char *given)
{
    json_auto_t *result = json_parse_own(given);
    json_auto_t *made = find(name, method)->result(result);

    return made ? json_text(made) : mem_strdup("");
}

TEST(contents_become_parts)
{
    AUTO_FREE char *text =
        shown("read_resource", "resources/read",
              "{\"contents\":[{\"uri\":\"x:a\",\"text\":\"t\"},"
              "{\"uri\":\"x:b\",\"mimeType\":\"image/png\",\"blob\":\"aGk=\"}]}");
    AUTO_FREE char *none = shown("read_resource", "resources/read", "{\"content\":[]}");

    assert_string_equal(text, "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":"
                              "\"x:a\",\"text\":\"t\"}},{\"type\":\"image\",\"data\":\"aGk=\","
                              "\"mimeType\":\"image/png\"}]}");
    assert_string_equal(none, "");
}

TEST(messages_of_a_prompt_name_their_role)
{
    AUTO_FREE char *text = shown(
        "get_prompt", "prompts/get",
        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"hi\"}},"
        "{\"role\":\"assistant\",\"content\":{\"type\":\"image\",\"data\":\"x\"}},7]}");
    AUTO_FREE char *none = shown("get_prompt", "prompts/get", "{}");

    assert_string_equal(text, "{\"content\":[{\"type\":\"text\",\"text\":\"user: hi\"},"
                              "{\"type\":\"text\",\"text\":\"assistant:\"},"
                              "{\"type\":\"image\",\"data\":\"x\"},"
                              "{\"type\":\"text\",\"text\":\"user:\"}]}");
    assert_string_equal(none, "");
}

/* A list of `count` empty objects, as {key: [...]}. */
static char *so_many(const char *key, size_t count)
{
    json_auto_t *given = json_object();
    json_t *list = json_array();

    json_object_set_new(given, key, list);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_object());
    return json_text(given);
}

TEST(results_have_limits)
{
    AUTO_FREE char *fits = so_many("contents", MCP_CONTENT_LIMIT);
    AUTO_FREE char *beyond = so_many("contents", MCP_CONTENT_LIMIT + 1);
    AUTO_FREE char *said = so_many("messages", MCP_CONTENT_LIMIT + 1);
    AUTO_FREE char *junk = so_many("resources", MCP_ENTRIES_READ + 1);
    AUTO_FREE char *whole = shown("read_resource", "resources/read", fits);
    AUTO_FREE char *none = shown("read_resource", "resources/read", beyond);
    AUTO_FREE char *silence = shown("get_prompt", "prompts/get", said);
    json_auto_t *gathered = json_object();

    assert_true(strlen(whole) > MCP_CONTENT_LIMIT);
    assert_string_equal(none, "");
    assert_string_equal(silence, "");
    assert_int_equal(add(gathered, junk), ERR_OK);
    assert_true(json_get_bool(gathered, "more", false));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(extras_are_added_where_request_and_server_have_them),
        cmocka_unit_test(a_tool_of_the_server_with_the_same_name_is_kept),
        cmocka_unit_test(a_full_list_stays_as_it_is),
        cmocka_unit_test(entries_of_a_list_are_made_fit),
        cmocka_unit_test(a_list_has_limits),
        cmocka_unit_test(contents_become_parts),
        cmocka_unit_test(messages_of_a_prompt_name_their_role),
        cmocka_unit_test(results_have_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
