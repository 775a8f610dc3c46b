#ifndef RUNNEL_HANDLERS_SUPPORT_WEB_OPENED_PAGE_H
#define RUNNEL_HANDLERS_SUPPORT_WEB_OPENED_PAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/tool/tool.h"

/*
 * opened_page.h -- a page for the tools that come along with a search in the web: their call is a web_search_call with
 * an action of its own.
 */

/* The member of `parameters` for the page, without a comma behind it. */
#define OPENED_PAGE_URL                                                      \
    "\"url\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4096," \
    "  \"description\": \"The page's URL, with http:// or https://.\"}"

#define OPENED_PAGE_FLAGS                                                       \
    (TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_HOSTED | TOOL_ALONG | TOOL_OPENS | \
     TOOL_NEEDS_WEB_SEARCH | TOOL_WAITS_FOR_WEB | TOOL_FOREIGN)

/* False: the request wants results alone, and no page of them. */
bool opened_page_serves(const json_t *entry);

/* Opens the item with the action, and fetches the page of its `url` as Markdown with links. Takes `action`. *ret_page
 * stays untouched after an error, and also if ERR_OK comes back with a result that has failed: the model then reads
 * why, and the item has its action. */
enum err_code opened_page(struct tool_call *call, json_t *action, json_t **ret_page,
                          struct tool_result *ret_result, struct err *err) MUST_CHECK;

/* Adds the lines before the text: the title and the URL, by which the page is cited. */
void opened_page_head(const json_t *page, struct buf *out);

/* Result: the text, the action, and the page as a source that may be cited. Takes `action`. */
void opened_page_result(struct tool_result *result, json_t *action, const json_t *page,
                        const char *text);

#endif
