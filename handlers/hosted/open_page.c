/*
 * open_page -- a page of the web as Markdown, from a character on. It comes along with web_search.
 *
 * The model names the URL, or a result of a search by the number that the search has shown. Numbers count in the memory
 * of the run, which a restart of the server loses: the model then reads that it should say the URL.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/tool/source.h"
#include "handlers/handlers.h"
#include "handlers/support/web/opened_page.h"

#define SHOWN ((size_t)8000) /* characters */

/* The caller frees. */
static char *url_of(const struct tool_call *call)
{
    const json_t *args = tool_call_args(call);
    const char *url = json_get_string(args, "url", NULL);
    json_int_t number = json_get_int(args, "result", 0);
    char *found = NULL;

    if (url)
        return mem_strdup(url);
    if (number > 0)
        found = tool_call_web_result(call, (size_t)number);
    return found ? found : mem_strdup("");
}

/* So many characters from `begin` on, and where they stand if that is not all. */
static void add_part(struct buf *out, const char *text, size_t begin)
{
    size_t count = utf8_count(text, strlen(text));
    size_t from = begin < count ? begin : count;
    size_t end = count - from < SHOWN ? count : from + SHOWN;
    const char *first = utf8_at(text, from);
    AUTO_FREE char *part = mem_strndup(first, (size_t)(utf8_at(first, end - from) - first));

    if (end - from < count)
        buf_addf(out, "Characters %zu to %zu of %zu.", from, end, count);
    if (end < count)
        buf_addf(out, " Read on with begin=%zu.", end);
    buf_add_char(out, '\n');
    source_add_quoted(out, part);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    AUTO_FREE char *url = url_of(call);
    json_auto_t *action = json_build("{s:s, s:s}", "type", "open_page", "url", url);
    json_auto_t *page = NULL;
    AUTO_BUF text = {0};
    enum err_code rc = opened_page(call, json_incref(action), &page, ret_result, err);

    if (rc || !page)
        return rc;
    opened_page_head(page, &text);
    add_part(&text, json_get_string(page, "text", ""),
             (size_t)json_get_int(tool_call_args(call), "begin", 0));
    opened_page_result(ret_result, json_incref(action), page, text.data);
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"properties\": {" OPENED_PAGE_URL ","
    " \"result\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 2000,"
    "  \"description\": \"Instead of the URL: the number of a result.\"},"
    " \"begin\": {\"type\": \"integer\", \"minimum\": 0, \"default\": 0,"
    "  \"description\": \"The first character to show.\"}}}";

const struct tool_handler open_page_handler = {
    .name = "open_page",
    .type = "web_search",
    .group = "hosted",
    .description = "Opens a page of the web and returns its main content as Markdown, 8,000 "
                   "characters at once. Use it when the passage of a result does not answer "
                   "the question.",
    .parameters = parameters,
    .flags = OPENED_PAGE_FLAGS,
    .item = &web_search_item,
    .serves = opened_page_serves,
    .shown_limit = CUT_NO_LIMIT,
    .timeout_seconds = 90,
    .run = run,
};
