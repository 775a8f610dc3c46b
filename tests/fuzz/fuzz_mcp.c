/*
 * What an MCP server sends, as a list of tools and as a result. All that is accepted can be
 * stored, and can be offered to a model under a name that upstreams accept.
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_message.h"
#include "core/mcp/mcp_result.h"
#include "core/mcp/mcp_tools.h"

static void read_list(const json_t *value)
{
    json_auto_t *tools = json_array();
    AUTO_FREE char *text = NULL;
    size_t i;
    json_t *tool;

    if (mcp_tools_add_page(tools, value, NULL))
        return;
    text = json_text(tools);
    assert(strlen(text) <= MCP_LIST_LIMIT);
    json_array_foreach (tools, i, tool) {
        AUTO_FREE char *name = mcp_function_name("label", json_get_string(tool, "name", ""));

        assert(*name && strlen(name) <= MCP_FUNCTION_LIMIT);
        assert(strlen(json_get_string(tool, "description", "")) <= MCP_DESCRIPTION_LIMIT);
    }
}

static void read_result(const json_t *value)
{
    struct tool_result result = {0};
    bool failed = false;

    if (mcp_result_read(value, &result, &failed, NULL) == ERR_OK) {
        json_auto_t *parts = tool_result_json(&result);
        AUTO_FREE char *text = tool_result_text(&result);

        assert(json_array_size(parts) == result.count);
        assert(json_valid_utf8(text, strlen(text)));
    }
    tool_result_clear(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_auto_t *value = NULL;

    if (json_parse((const char *)data, size, &value, NULL) != ERR_OK)
        return 0;
    read_list(value);
    read_result(value);
    if (mcp_message_kind(value, 1) == MCP_MESSAGE_REQUEST)
        free(mcp_reply_text(value));
    return 0;
}
