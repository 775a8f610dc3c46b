/*
 * ExtractHTML -- elements of a page as HTML, chosen by a CSS selector. Only whole ones are shown.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/web_page.h"

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    json_int_t limit = json_get_int(args, "limit", 5000);
    json_auto_t *page = NULL;
    AUTO_FREE char *title = NULL;
    enum err_code rc = web_page(call,
                                json_build("{s:s, s:I}", "elements",
                                           json_get_string(args, "querySelector", ""), "limit",
                                           limit < 1 ? (json_int_t)CUT_NO_LIMIT : limit),
                                &page, ret_result, err);

    if (rc || !page)
        return rc;
    title = mem_printf("Found %lld elements", (long long)json_get_int(page, "count", 0));
    web_page_result(ret_result, title, json_get_string(page, "url", ""),
                    json_get_string(page, "text", ""));
    return ERR_OK;
}

/* The limit is of whole elements, which the reader of the page has kept. */
static char *show_all(const char *text, const struct cut_rule *rule,
                      struct cut_shown *ret_shown)
{
    struct cut_rule all = *rule;

    all.limit = CUT_NO_LIMIT;
    return cut_text(text, &all, ret_shown);
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"url\", \"querySelector\"],"
    " \"properties\": {" WEB_PAGE_URL
    "  \"description\": \"The page's URL, with http:// or https://.\"},"
    "\"querySelector\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000,"
    "  \"description\": \"A CSS selector: tags, .class, #id, [attribute=value], "
    ":nth-child(n), blanks, > and commas.\"},"
    "\"limit\": {\"type\": \"integer\", \"default\": 5000,"
    "  \"description\": \"About how many characters to show; the first element is shown "
    "whole. 0 or less: all.\"}}}";

static const char *const tags[] = {"web", "html", NULL};

const struct tool_handler extract_html_handler = {
    .name = "ExtractHTML",
    .group = "web",
    .description = "Fetches a page of the web and returns the elements that a CSS selector "
                   "means, as HTML.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_WAITS_FOR_WEB | TOOL_FOREIGN,
    .cut = show_all,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .timeout_seconds = 90,
    .returns = {"string", "HTML"},
    .tags = tags,
    .run = run,
};
