#include "core/document/page/page_task.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/html.h"
#include "core/document/page/page.h"
#include "core/document/page/page_main.h"
#include "core/document/page/page_outline.h"
#include "core/document/page/page_select.h"
#include "core/document/plain_text.h"
#include "core/document/reading.h"
#include "core/document/tasks.h"
#include "core/document/xhtml.h"
#include "core/net/egress.h"

/* Bytes at the beginning of a page in which browsers look for its encoding. */
#define META_BYTES ((size_t)1024)

/* ---- Its encoding ---- */

static void decode(const json_t *want, const char *bytes, size_t length, struct buf *html)
{
    AUTO_FREE char *begin = mem_strndup(bytes, length < META_BYTES ? length : META_BYTES);
    AUTO_FREE char *named = plain_text_charset(json_get_string(want, "content_type", ""));
    AUTO_FREE char *meta = plain_text_charset(begin);
    bool fits = named && plain_text_may_be(named, bytes, length);
    AUTO_BUF decoded = {0};

    plain_text_add_as(&decoded, fits || !meta ? named : meta, bytes, length);
    if (decoded.length && strncmp(decoded.data, "<?xml", 5) == 0)
        xhtml_to_html(html, decoded.data, decoded.length);
    else
        buf_add(html, decoded.data ? decoded.data : "", decoded.length);
}

/* ---- What it says of itself ---- */

static json_t *clean(const struct buf *text)
{
    AUTO_FREE char *clean = json_clean_utf8(text->data ? text->data : "", text->length);

    return json_string(clean);
}

static void set_text(json_t *page, const char *key, const char *value)
{
    AUTO_BUF text = {0};
    struct text_writer writer = {.text = &text};

    if (!value || json_object_get(page, key))
        return;
    text_writer_add(&writer, value, strnlen(value, 1000));
    if (text.length)
        json_set(page, key, clean(&text));
}

static void take_meta(json_t *page, const struct html_node *node)
{
    static const char *const rows[][2] = {
        {"author", "author"},           {"article:author", "author"},
        {"description", "description"}, {"og:description", "description"},
        {"og:site_name", "site"},       {"article:published_time", "published"},
        {"date", "published"},          {"dc.date", "published"}};
    const char *name = html_attribute(node, "name");
    const char *property = name ? name : html_attribute(node, "property");

    for (size_t i = 0; property && i < COUNT_OF(rows); i++) {
        if (strcasecmp(property, rows[i][0]) == 0)
            set_text(page, rows[i][1], html_attribute(node, "content"));
    }
}

static void describe(json_t *page, const struct html_tree *tree)
{
    size_t html = page_find(tree, 0, GUMBO_TAG_HTML);
    size_t body = page_find(tree, 0, GUMBO_TAG_BODY);

    set_text(page, "language", html ? html_attribute(&tree->nodes[html], "lang") : NULL);
    for (size_t i = 1; i < body; i++) {
        const struct html_node *node = &tree->nodes[i];

        if (html_tag(node) == GUMBO_TAG_TITLE && node->end > i + 1)
            set_text(page, "title", html_text(node + 1));
        else if (html_tag(node) == GUMBO_TAG_META)
            take_meta(page, node);
    }
    if (tree->is_cut)
        json_set(page, "cut", json_true());
}

/* Where its references begin, if it says so. The caller frees. */
static char *base_of(const json_t *want, const struct html_tree *tree)
{
    size_t base = page_find(tree, 0, GUMBO_TAG_BASE);
    const char *url = json_get_string(want, "url", "");
    const char *own = base ? html_attribute(&tree->nodes[base], "href") : NULL;
    char *resolved = own ? egress_url_resolve(url, own) : NULL;

    return resolved ? resolved : mem_strdup(url);
}

/* ---- Views ---- */

static void write_markdown(const json_t *want, struct html_tree *tree, struct buf *out)
{
    AUTO_FREE char *base = base_of(want, tree);
    const struct html_markdown style = {
        .links = json_is_true(json_object_get(want, "links")),
        .images = json_is_true(json_object_get(want, "images")),
        .base = base,
    };
    struct text_writer writer = {.text = out};
    size_t main = page_main(tree);

    html_write_markdown(&writer, tree, main, &style);
}

struct elements {
    const struct html_tree *tree;
    struct buf *out;
    size_t count, shown, limit;
    bool is_full;
};

/* Whole elements, until the limit. All are counted. */
static bool take_element(void *arg, size_t node)
{
    struct elements *elements = arg;
    AUTO_BUF html = {0};

    elements->count++;
    if (elements->is_full)
        return true;
    page_add_html(&html, elements->tree, node);
    if (elements->shown && elements->out->length + html.length > elements->limit) {
        elements->is_full = true;
        return true;
    }
    if (elements->shown++)
        buf_add_text(elements->out, "\n\n");
    buf_add(elements->out, html.data ? html.data : "", html.length);
    return true;
}

static bool take_first(void *arg, size_t node)
{
    *(size_t *)arg = node;
    return false;
}

static json_t *problem(const char *sentence)
{
    return json_build("{s:s}", "problem", sentence);
}

static const char not_a_selector[] =
    "The selector is none that is understood: use tags, .class, #id, [attribute=value], "
    ":nth-child(n), blanks, > and commas.";

/* NULL, or what is wrong. */
static const char *write_selected(const json_t *want, const struct html_tree *tree,
                                  struct buf *out, json_t *page)
{
    bool outline = json_get_int(want, "view", 0) == PAGE_OUTLINE;
    struct page_selector *selector =
        page_selector_parse(json_get_string(want, "selector", "body"));
    struct elements elements = {
        .tree = tree, .out = out, .limit = (size_t)json_get_int(want, "limit", 0)};
    size_t top = 0;

    if (!selector)
        return not_a_selector;
    if (outline)
        page_select(selector, tree, take_first, &top);
    else
        page_select(selector, tree, take_element, &elements);
    page_selector_free(selector);
    if (outline && top)
        page_outline(out, tree, top, (unsigned)json_get_int(want, "depth", 4),
                     json_is_true(json_object_get(want, "text")));
    if (!outline)
        json_set(page, "count", json_integer((json_int_t)elements.count));
    if (!outline && elements.shown < elements.count)
        json_set(page, "shown", json_integer((json_int_t)elements.shown));
    return out->length ? NULL : "No element of the page is meant by the selector.";
}

json_t *page_make(const json_t *want, const char *bytes, size_t length)
{
    json_t *page = json_object();
    AUTO_BUF html = {0}, text = {0};
    const char *wrong = NULL;
    struct html_tree tree;

    decode(want, bytes, length, &html);
    html_tree_parse(html.data ? html.data : "", html.length, PAGE_NODES_MAX, PAGE_DEPTH_MAX,
                    &tree);
    describe(page, &tree);
    if (json_get_int(want, "view", 0) == PAGE_MARKDOWN)
        write_markdown(want, &tree, &text);
    else
        wrong = write_selected(want, &tree, &text, page);
    html_tree_clear(&tree);
    if (wrong) {
        json_decref(page);
        return problem(wrong);
    }
    json_set(page, "text", clean(&text));
    return page;
}

int task_page(void)
{
    size_t length;
    const char *bytes = task_input(&length);
    const char *end = bytes ? memchr(bytes, '\n', length) : NULL;
    json_auto_t *want = end ? json_loadb(bytes, (size_t)(end - bytes), 0, NULL) : NULL;
    json_auto_t *page = NULL;
    AUTO_FREE char *dumped = NULL;

    if (!want)
        return READING_DAMAGED;
    page = page_make(want, end + 1, length - (size_t)(end + 1 - bytes));
    dumped = json_dumps(page, JSON_COMPACT);
    return task_output(dumped ? dumped : "{}", dumped ? strlen(dumped) : 2);
}
