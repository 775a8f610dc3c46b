/*
 * SearchInWebPage -- the paragraphs of a page that have words, each between its neighbours.
 *
 * Their places are characters of what FetchWebPage shows of the page, so that it can read on there.
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/web/paragraphs.h"
#include "handlers/support/web_page.h"

#define SHOWN 6000

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    const json_t *words = json_object_get(args, "keywords");
    bool all = strcmp(json_get_string(args, "joinType", "OR"), "AND") == 0;
    json_auto_t *page = NULL;
    AUTO_FREE char *title = NULL;
    AUTO_BUF text = {0};
    CLEANUP(paragraphs_clear) struct paragraphs found = {0};
    enum err_code rc = web_page(call, json_object(), &page, ret_result, err);

    if (rc || !page)
        return rc;
    found = paragraphs_find(json_get_string(page, "text", ""), words, all);
    buf_addf(&text, "Found in %zu of %zu paragraphs of %s\n\n", found.found, found.count,
             json_get_string(page, "url", ""));
    paragraphs_show(&found, 1, &text);
    title = mem_printf("Found in %zu paragraphs", found.found);
    web_page_result(ret_result, title, json_get_string(page, "url", ""), text.data);
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"url\", "
    "\"keywords\"],"
    " \"properties\": {" WEB_PAGE_URL
    "  \"description\": \"The page's URL, with http:// or https://.\"},"
    "\"keywords\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 20,"
    "  \"items\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 200},"
    "  \"description\": \"Words or phrases to look for.\"},"
    "\"joinType\": {\"type\": \"string\", \"enum\": [\"AND\", \"OR\"], \"default\": \"OR\","
    "  \"description\": \"Whether a paragraph must have all of them, or one.\"}}}";

static const char *const tags[] = {"web", "search", NULL};

const struct tool_handler search_in_web_page_handler = {
    .name = "SearchInWebPage",
    .group = "web",
    .description =
        "Fetches a page of the web and returns the paragraphs that have the keywords, with "
        "their neighbours and their places, which FetchWebPage takes as begin and limit.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_WAITS_FOR_WEB | TOOL_FOREIGN,
    .shown_limit = SHOWN,
    .permission = {EXECUTION_ASK_ONCE, RESULT_NEVER},
    .timeout_seconds = 90,
    .returns = {"string", "paragraphs with their places"},
    .tags = tags,
    .run = run,
};
