/*
 * InspectDOMStructure -- the elements of a page as a tree, for a model that looks for a selector.
 */

#include "core/base/json.h"
#include "handlers/handlers.h"
#include "handlers/support/web_page.h"

#define SHOWN 8000

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    json_auto_t *page = NULL;
    enum err_code rc = web_page(call,
                                json_build("{s:s, s:I, s:b}", "outline",
                                           json_get_string(args, "entrySelector", "body"),
                                           "depth", json_get_int(args, "maxDepth", 4), "text",
                                           json_get_bool(args, "includeText", true)),
                                &page, ret_result, err);

    if (rc || !page)
        return rc;
    web_page_result(ret_result, "Looked at the page's structure",
                    json_get_string(page, "url", ""), json_get_string(page, "text", ""));
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"url\"],"
    " \"properties\": {" WEB_PAGE_URL
    "  \"description\": \"The page's URL, with http:// or https://.\"},"
    "\"entrySelector\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000,"
    "  \"default\": \"body\", \"description\": \"A CSS selector: where the tree begins.\"},"
    "\"maxDepth\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 50, \"default\": 4,"
    "  \"description\": \"How deep the tree goes.\"},"
    "\"includeText\": {\"type\": \"boolean\", \"default\": true,"
    "  \"description\": \"Whether the beginning of texts is shown.\"}}}";

static const char *const tags[] = {"web", "html", NULL};

const struct tool_handler inspect_dom_structure_handler = {
    .name = "InspectDOMStructure",
    .group = "web",
    .description = "Fetches a page of the web and returns the tree of its elements with ids, "
                   "classes and selectors, to find a selector for ExtractHTML.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_WAITS_FOR_WEB | TOOL_FOREIGN,
    .shown_limit = SHOWN,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .timeout_seconds = 90,
    .returns = {"string", "a line for each element"},
    .tags = tags,
    .run = run,
};
