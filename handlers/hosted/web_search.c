/*
 * web_search_call -- the item of a search in the web: an action of the type "search" with its query.
 *
 * OpenAI has further actions (opening a page, finding in it). A tool that has them fills in another action.
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
