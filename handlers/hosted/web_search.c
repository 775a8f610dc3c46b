/*
 * web_search_call -- what the call of a search in the web looks like.
 */

#include "core/base/json.h"
#include "handlers/handlers.h"

static void fill(json_t *fields, const json_t *args, const struct tool_result *result)
{
    (void)result;
    if (args)
        json_set(fields, "action",
                 json_build("{s:s, s:s}", "type", "search", "query",
                            json_get_string(args, "query", "")));
}

const struct tool_item web_search_item = {
    .type = "web_search_call",
    .fields = "{\"action\":{\"type\":\"search\",\"query\":\"\"}}",
    .fill = fill,
};
