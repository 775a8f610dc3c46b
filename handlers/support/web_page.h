#ifndef RUNNEL_HANDLERS_SUPPORT_WEB_PAGE_H
#define RUNNEL_HANDLERS_SUPPORT_WEB_PAGE_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/tool/cut.h"
#include "core/tool/tool.h"

/* web_page.h -- a page of the Web for the tools of the group web. */

/* Bytes of a URL and of a selector in arguments. */
#define WEB_PAGE_URL "\"url\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4096,"

/* Fetches the page of the argument `url`; takes `query`, which is tool_call_page()'s without the URL. *ret_page stays
 * untouched after an error. An error that has a code is a result, {"code", "message", "url"}: then *ret_page stays
 * untouched, too, and ERR_OK comes back. */
enum err_code web_page(struct tool_call *call, json_t *query, json_t **ret_page,
                       struct tool_result *ret_result, struct err *err) MUST_CHECK;

/* Result: the text, and a title for people. */
void web_page_result(struct tool_result *result, const char *title, const char *url,
                     const char *text);

/* For `cut` of a handler: what stands before the first empty line is always shown, and of the rest the characters from
 * `begin` on, as many as `limit` says, with a line about what is missing. */
char *web_page_cut(const char *text, const struct cut_rule *rule, struct cut_shown *ret_shown);

#endif
