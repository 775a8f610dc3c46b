/*
 * find_in_page -- the paragraphs of a page that have a text. It comes along with web_search.
 *
 * Their places are characters of what open_page shows of the page, so that it can read on there.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/source.h"
#include "handlers/handlers.h"
#include "handlers/support/web/opened_page.h"
#include "handlers/support/web/paragraphs.h"

#define SHOWN ((size_t)8000) /* characters */

static void add_found(struct buf *out, const json_t *page, const char *pattern)
{
    json_auto_t *words = json_build("[s]", pattern);
    CLEANUP(paragraphs_clear)
    struct paragraphs found = paragraphs_find(json_get_string(page, "text", ""), words, true);
    AUTO_BUF places = {0};

    buf_addf(out, "Found in %zu of %zu paragraphs.\n\n", found.found, found.count);
    paragraphs_show(&found, 0, &places);
    if (places.length)
        source_add_quoted(out, places.data);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *pattern = json_get_string(args, "pattern", "");
    json_auto_t *action = json_build("{s:s, s:s, s:s}", "type", "find_in_page", "url",
                                     json_get_string(args, "url", ""), "pattern", pattern);
    json_auto_t *page = NULL;
    AUTO_BUF text = {0};
    enum err_code rc = opened_page(call, json_incref(action), &page, ret_result, err);

    if (rc || !page)
        return rc;
    opened_page_head(page, &text);
    add_found(&text, page, pattern);
    opened_page_result(ret_result, json_incref(action), page, text.data);
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"url\", \"pattern\"],"
    " \"properties\": {" OPENED_PAGE_URL ","
    " \"pattern\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 200,"
    "  \"description\": \"Plain text to look for; upper and lower case count as the same.\"}}}";

const struct tool_handler find_in_page_handler = {
    .name = "find_in_page",
    .type = "web_search",
    .group = "hosted",
    .description = "Opens a page of the web and returns the paragraphs that have a text, each "
                   "with its place, which open_page takes as begin.",
    .parameters = parameters,
    .flags = OPENED_PAGE_FLAGS,
    .item = &web_search_item,
    .serves = opened_page_serves,
    .shown_limit = SHOWN,
    .timeout_seconds = 90,
    .run = run,
};
