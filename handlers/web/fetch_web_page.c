/*
 * FetchWebPage -- the main part of a page as Markdown, behind a table of what is known of the page.
 *
 * The whole text is the result, which a variable keeps. The model sees the part that `begin` and `limit` name.
 */

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/web_page.h"

#define SHOWN 7000

/* A value of a stranger in a table: one line, without bars. */
static void add_row(struct buf *out, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    buf_addf(out, "| %s | ", name);
    for (; *value; value++) {
        if (*value == '|')
            buf_add_text(out, "\\|");
        else
            buf_add_char(out, (unsigned char)*value < ' ' ? ' ' : *value);
    }
    buf_add_text(out, " |\n");
}

static void add_table(struct buf *out, const json_t *page)
{
    static const char *const rows[][2] = {{"Title", "title"},
                                          {"URL", "url"},
                                          {"Site", "site"},
                                          {"Author", "author"},
                                          {"Published", "published"},
                                          {"Language", "language"},
                                          {"Description", "description"}};

    buf_add_text(out, "| Page | |\n| --- | --- |\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add_row(out, rows[i][0], json_get_string(page, rows[i][1], NULL));
    if (json_get_bool(page, "cut", false))
        add_row(out, "Note", "The page has more elements than are read.");
    buf_add_char(out, '\n');
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    json_auto_t *page = NULL;
    AUTO_FREE char *title = NULL;
    AUTO_BUF text = {0};
    enum err_code rc =
        web_page(call,
                 json_build("{s:b, s:b}", "links", json_get_bool(args, "keepLink", false),
                            "images", json_get_bool(args, "keepImg", false)),
                 &page, ret_result, err);

    if (rc || !page)
        return rc;
    add_table(&text, page);
    buf_add_text(&text, json_get_string(page, "text", ""));
    title = mem_printf("Read %s", json_get_string(page, "url", ""));
    web_page_result(ret_result, title, json_get_string(page, "url", ""), text.data);
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"url\"],"
    " \"properties\": {" WEB_PAGE_URL
    "  \"description\": \"The page's URL, with http:// or https://.\"},"
    "\"begin\": {\"type\": \"integer\", \"minimum\": 0, \"default\": 0,"
    "  \"description\": \"The first character to show.\"},"
    "\"limit\": {\"type\": \"integer\", \"default\": 7000,"
    "  \"description\": \"How many characters to show; 0 or less: all.\"},"
    "\"keepLink\": {\"type\": \"boolean\", \"default\": false,"
    "  \"description\": \"Links keep their URLs.\"},"
    "\"keepImg\": {\"type\": \"boolean\", \"default\": false,"
    "  \"description\": \"Pictures are kept as links.\"}}}";

static const char *const tags[] = {"web", "fetch", NULL};

const struct tool_handler fetch_web_page_handler = {
    .name = "FetchWebPage",
    .group = "web",
    .description =
        "Fetches a page of the web and returns its main content as Markdown, with a table of "
        "its title, author and the like. JSON is indented, of a PDF the text is returned, and "
        "other binary content is refused.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_WAITS_FOR_WEB | TOOL_FOREIGN,
    .shown_limit = SHOWN,
    .cut = web_page_cut,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .timeout_seconds = 90,
    .returns = {"string", "Markdown behind a table"},
    .tags = tags,
    .run = run,
};
