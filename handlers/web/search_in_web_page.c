/*
 * SearchInWebPage -- the paragraphs of a page that have words, each between its neighbours.
 *
 * Their places are characters of what FetchWebPage shows of the page, so that it can read on there. A paragraph ends
 * at an empty line. Letters A to Z are found in either case, others only as they are.
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "handlers/handlers.h"
#include "handlers/support/web_page.h"

#define SHOWN 6000

/* Places that are shown; more are counted. */
#define PLACES_LIMIT ((size_t)50)

struct paragraph {
    const char *begin, *end;
    size_t at; /* characters before it */
    bool found;
};

static bool has(const struct paragraph *paragraph, const char *word)
{
    AUTO_FREE char *text =
        mem_strndup(paragraph->begin, (size_t)(paragraph->end - paragraph->begin));

    return strcasestr(text, word) != NULL;
}

static bool matches(const struct paragraph *paragraph, const json_t *words, bool all)
{
    size_t i;
    json_t *word;

    json_array_foreach (words, i, word) {
        if (has(paragraph, json_string_value(word)) != all)
            return !all;
    }
    return all;
}

/* The caller frees. */
static struct paragraph *divide(const char *text, size_t *ret_count)
{
    struct paragraph *list = NULL;
    size_t count = 0, at = 0;

    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);

        if ((count & (count - 1)) == 0)
            list = mem_resize(list, count ? 2 * count : 1, sizeof(*list));
        list[count++] = (struct paragraph){.begin = text, .end = text + length, .at = at};
        length += end ? strspn(text + length, "\n") : 0;
        at += utf8_count(text, length);
        text += length;
    }
    *ret_count = count;
    return list;
}

/* Neighbours that stand side by side are shown once: from `first` to `last`. */
static void add_place(struct buf *out, const struct paragraph *list, size_t first, size_t last,
                      size_t number)
{
    size_t length = (size_t)(list[last].end - list[first].begin);

    buf_addf(out, "%s[%zu] begin=%zu, limit=%zu\n", number > 1 ? "\n\n" : "", number,
             list[first].at, utf8_count(list[first].begin, length));
    buf_add(out, list[first].begin, length);
}

static void add_places(struct buf *out, const struct paragraph *list, size_t count)
{
    size_t number = 0;

    for (size_t i = 0; i < count; i++) {
        size_t first = i ? i - 1 : 0, last = i;

        if (!list[i].found)
            continue;
        while (last + 1 < count &&
               (list[last].found || list[last + 1].found ||
                (last + 2 < count && list[last + 2].found)) &&
               number < PLACES_LIMIT)
            last++;
        if (number < PLACES_LIMIT)
            add_place(out, list, first, last, ++number);
        i = last;
    }
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    const json_t *words = json_object_get(args, "keywords");
    bool all = strcmp(json_get_string(args, "joinType", "OR"), "AND") == 0;
    json_auto_t *page = NULL;
    AUTO_FREE struct paragraph *list = NULL;
    AUTO_FREE char *title = NULL;
    AUTO_BUF text = {0};
    size_t count, found = 0;
    enum err_code rc = web_page(call, json_object(), &page, ret_result, err);

    if (rc || !page)
        return rc;
    list = divide(json_get_string(page, "text", ""), &count);
    for (size_t i = 0; i < count; i++) {
        list[i].found = matches(&list[i], words, all);
        found += list[i].found;
    }
    buf_addf(&text, "Found in %zu of %zu paragraphs of %s\n\n", found, count,
             json_get_string(page, "url", ""));
    add_places(&text, list, count);
    title = mem_printf("Found in %zu paragraphs", found);
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
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_WAITS_FOR_WEB,
    .shown_limit = SHOWN,
    .permission = {EXECUTION_ASK_ONCE, RESULT_NEVER},
    .timeout_seconds = 90,
    .returns = {"string", "paragraphs with their places"},
    .tags = tags,
    .run = run,
};
