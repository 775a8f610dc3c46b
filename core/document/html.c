/*
 * html.c -- writes the nodes of a page, from the first to the last.
 */

#include "core/document/html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/net/egress.h"

/* ---- Elements ---- */

bool html_is_no_text(GumboTag tag)
{
    static const GumboTag tags[] = {GUMBO_TAG_SCRIPT,  GUMBO_TAG_STYLE,  GUMBO_TAG_TEMPLATE,
                                    GUMBO_TAG_IFRAME,  GUMBO_TAG_OBJECT, GUMBO_TAG_SELECT,
                                    GUMBO_TAG_BUTTON,  GUMBO_TAG_SVG,    GUMBO_TAG_CANVAS,
                                    GUMBO_TAG_AUDIO,   GUMBO_TAG_VIDEO,  GUMBO_TAG_NOSCRIPT,
                                    GUMBO_TAG_TEXTAREA};

    return html_is_one_of(tag, tags, COUNT_OF(tags));
}

/* Blocks with an empty line around them. */
static bool is_paragraph(GumboTag tag)
{
    static const GumboTag tags[] = {
        GUMBO_TAG_P,   GUMBO_TAG_UL, GUMBO_TAG_OL,         GUMBO_TAG_DL,     GUMBO_TAG_TABLE,
        GUMBO_TAG_PRE, GUMBO_TAG_H1, GUMBO_TAG_H2,         GUMBO_TAG_H3,     GUMBO_TAG_H4,
        GUMBO_TAG_H5,  GUMBO_TAG_H6, GUMBO_TAG_BLOCKQUOTE, GUMBO_TAG_FIGURE, GUMBO_TAG_TITLE};

    return html_is_one_of(tag, tags, COUNT_OF(tags));
}

/* Blocks that begin a line. */
static bool is_block(GumboTag tag)
{
    static const GumboTag tags[] = {
        GUMBO_TAG_DIV,    GUMBO_TAG_SECTION,    GUMBO_TAG_ARTICLE, GUMBO_TAG_HEADER,
        GUMBO_TAG_FOOTER, GUMBO_TAG_MAIN,       GUMBO_TAG_ASIDE,   GUMBO_TAG_TR,
        GUMBO_TAG_TD,     GUMBO_TAG_TH,         GUMBO_TAG_LI,      GUMBO_TAG_DT,
        GUMBO_TAG_DD,     GUMBO_TAG_HR,         GUMBO_TAG_CAPTION, GUMBO_TAG_ADDRESS,
        GUMBO_TAG_FORM,   GUMBO_TAG_FIGCAPTION, GUMBO_TAG_BR,      GUMBO_TAG_FIELDSET};

    return html_is_one_of(tag, tags, COUNT_OF(tags));
}

/* ---- Tables ---- */

/* A table with blocks in its cells is layout: its cells are written as blocks. */
static bool is_layout(GumboTag tag)
{
    static const GumboTag tags[] = {GUMBO_TAG_TABLE, GUMBO_TAG_PRE, GUMBO_TAG_H1, GUMBO_TAG_H2,
                                    GUMBO_TAG_H3,    GUMBO_TAG_H4,  GUMBO_TAG_H5, GUMBO_TAG_H6};

    return html_is_one_of(tag, tags, COUNT_OF(tags));
}

/* ---- The walk ---- */

struct walk {
    struct text_writer *writer;
    const struct html_tree *tree;
    const struct html_markdown *style; /* NULL: the form of document.h */
    unsigned quotes;                   /* depth */
};

static bool is_left_out(const struct html_node *node)
{
    GumboTag tag = html_tag(node);

    return node->left_out || html_is_no_text(tag) || tag == GUMBO_TAG_NAV;
}

/* Looks no further than the first block. So tables inside of tables are not looked through again and again. */
static bool has_data(const struct html_tree *tree, size_t table)
{
    size_t end = tree->nodes[table].end;

    for (size_t i = table + 1; i < end;) {
        if (is_layout(html_tag(&tree->nodes[i])))
            return false;
        i = is_left_out(&tree->nodes[i]) ? tree->nodes[i].end : i + 1;
    }
    return true;
}

/* ---- Writing ---- */

static void write_text(struct text_writer *writer, const char *text)
{
    text_writer_add(writer, text, strlen(text));
}

/* Empty cells beside the first one. Browsers, too, believe no more than 1,000. */
static size_t span_of(const struct html_node *cell)
{
    const char *span = html_attribute(cell, "colspan");
    long columns = span ? strtol(span, NULL, 10) : 1;

    return columns < 1 || columns > 1000 ? 1 : (size_t)columns;
}

/* Enters a part of a table that has data. */
static void enter_table(struct text_writer *writer, GumboTag tag)
{
    if (tag == GUMBO_TAG_TABLE)
        text_writer_table(writer);
    else if (tag == GUMBO_TAG_TR)
        text_writer_row(writer);
    else if (tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH)
        text_writer_cells(writer, 1);
}

static bool is_list(GumboTag tag)
{
    return tag == GUMBO_TAG_UL || tag == GUMBO_TAG_OL;
}

/* A list inside of a list is no paragraph of its own. */
static void break_around(struct text_writer *writer, GumboTag tag)
{
    if (is_paragraph(tag) && !(is_list(tag) && writer->lists))
        text_writer_break(writer, 2);
    else if (is_paragraph(tag) || is_block(tag))
        text_writer_break(writer, 1);
}

/* ---- Markdown ---- */

/* There is a letter in it. */
static bool has_text(const struct html_tree *tree, size_t top)
{
    for (size_t i = top + 1; i < tree->nodes[top].end;) {
        const char *text = html_text(&tree->nodes[i]);

        if (text && text[strspn(text, " \t\r\n\f")])
            return true;
        i = is_left_out(&tree->nodes[i]) ? tree->nodes[i].end : i + 1;
    }
    return false;
}

/* Where the link of the element leads to; NULL: nowhere else. The caller frees. */
static char *target_of(const struct walk *walk, const struct html_node *node, const char *name)
{
    const char *reference = html_attribute(node, name);

    if (!reference || !*reference || *reference == '#' || !walk->style->base)
        return NULL;
    return egress_url_resolve(walk->style->base, reference);
}

static void write_target(struct text_writer *writer, const char *url)
{
    write_text(writer, "](");
    /* What would end the link. */
    for (; *url; url++) {
        if (*url == '(' || *url == ')')
            write_text(writer, *url == '(' ? "%28" : "%29");
        else
            text_writer_add(writer, url, 1);
    }
    write_text(writer, ")");
}

static bool is_link(const struct walk *walk, size_t node)
{
    AUTO_FREE char *url = NULL;

    if (!walk->style || !walk->style->links || !has_text(walk->tree, node))
        return false;
    url = target_of(walk, &walk->tree->nodes[node], "href");
    return url != NULL;
}

static void write_image(const struct walk *walk, const struct html_node *node)
{
    const char *alternative = html_attribute(node, "alt");
    AUTO_FREE char *url = NULL;

    if (!walk->style) {
        write_text(walk->writer, alternative ? alternative : "");
        return;
    }
    url = walk->style->images ? target_of(walk, node, "src") : NULL;
    if (!url)
        return;
    write_text(walk->writer, "![");
    write_text(walk->writer, alternative ? alternative : "");
    write_target(walk->writer, url);
}

/* An item of an ordered list has its number, and stands as deep as others. */
static void write_item(const struct walk *walk, const struct html_node *node)
{
    struct html_node *list = &walk->tree->nodes[node->parent];
    char mark[64];
    unsigned level = walk->writer->lists < 8 ? walk->writer->lists : 8;

    if (!walk->style || html_tag(list) != GUMBO_TAG_OL) {
        text_writer_item(walk->writer, walk->writer->lists);
        return;
    }
    (void)snprintf(mark, sizeof(mark), "%*s%u. ", level ? 2 * ((int)level - 1) : 0, "",
                   ++list->items);
    text_writer_break(walk->writer, 1);
    text_writer_mark(walk->writer, mark);
}

/* "python", if the page says so in the way of CommonMark: <pre><code class="language-python">. */
static void add_language(struct buf *fence, const struct html_tree *tree, size_t pre)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+#-_";

    for (size_t i = pre; i < pre + 2 && i < tree->nodes[pre].end; i++) {
        const char *class = html_attribute(&tree->nodes[i], "class");
        const char *at = class ? strstr(class, "language-") : NULL;

        if (at) {
            at += strlen("language-");
            buf_add(fence, at,
                    strnlen(at, strspn(at, letters) < 24 ? strspn(at, letters) : 24));
            return;
        }
    }
}

static const char *fence_of(const struct html_tree *tree, size_t pre)
{
    for (size_t i = pre + 1; i < tree->nodes[pre].end; i++) {
        const char *text = html_text(&tree->nodes[i]);

        if (text && strstr(text, "```"))
            return "``````";
    }
    return "```";
}

static void enter_pre(const struct walk *walk, size_t node)
{
    AUTO_BUF fence = {0};

    if (walk->style && !walk->writer->exact && !walk->writer->tables) {
        buf_add_text(&fence, fence_of(walk->tree, node));
        add_language(&fence, walk->tree, node);
        buf_add_char(&fence, '\n');
        text_writer_mark(walk->writer, fence.data);
    }
    walk->writer->exact++;
}

static void leave_pre(const struct walk *walk, size_t node)
{
    struct buf *text = walk->writer->text;

    if (--walk->writer->exact || !walk->style || walk->writer->tables)
        return;
    while (text->length && text->data[text->length - 1] == '\n')
        text->data[--text->length] = '\0';
    text_writer_break(walk->writer, 1);
    text_writer_mark(walk->writer, fence_of(walk->tree, node));
}

/* Code in a line of text. */
static bool is_code(const struct walk *walk, size_t node)
{
    GumboTag tag = html_tag(&walk->tree->nodes[node]);

    return walk->style && !walk->writer->exact &&
           (tag == GUMBO_TAG_CODE || tag == GUMBO_TAG_TT || tag == GUMBO_TAG_SAMP ||
            tag == GUMBO_TAG_KBD) &&
           walk->tree->nodes[node].end == node + 2 && has_text(walk->tree, node) &&
           !strchr(html_text(&walk->tree->nodes[node + 1]), '`');
}

/* ---- Nodes ---- */

static void enter(struct walk *walk, size_t at)
{
    const struct html_node *node = &walk->tree->nodes[at];
    struct text_writer *writer = walk->writer;
    GumboTag tag = html_tag(node);

    break_around(writer, tag);
    writer->lists += is_list(tag);
    walk->quotes += tag == GUMBO_TAG_BLOCKQUOTE;
    if (writer->tables || (tag == GUMBO_TAG_TABLE && has_data(walk->tree, at)))
        enter_table(writer, tag);
    if (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6)
        text_writer_heading(writer, tag - GUMBO_TAG_H1 + 1);
    else if (tag == GUMBO_TAG_LI)
        write_item(walk, node);
    else if (tag == GUMBO_TAG_IMG)
        write_image(walk, node);
    else if (tag == GUMBO_TAG_PRE)
        enter_pre(walk, at);
    else if (tag == GUMBO_TAG_A && is_link(walk, at))
        write_text(writer, "[");
    else if (is_code(walk, at))
        write_text(writer, "`");
}

static void leave(struct walk *walk, size_t at)
{
    const struct html_node *node = &walk->tree->nodes[at];
    struct text_writer *writer = walk->writer;
    GumboTag tag = html_tag(node);

    if (tag == GUMBO_TAG_PRE) {
        leave_pre(walk, at);
    } else if (tag == GUMBO_TAG_A && is_link(walk, at)) {
        AUTO_FREE char *url = target_of(walk, node, "href");

        write_target(writer, url);
    } else if (is_code(walk, at)) {
        write_text(writer, "`");
    }
    writer->lists -= is_list(tag);
    walk->quotes -= tag == GUMBO_TAG_BLOCKQUOTE;
    break_around(writer, tag);
    if (!writer->tables)
        return;
    if (tag == GUMBO_TAG_TABLE)
        text_writer_table_end(writer);
    else if (tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH)
        text_writer_cells(writer, span_of(node) - 1);
}

/* A paragraph of a quotation is one line, and begins with the mark. */
static void visit_text(const struct walk *walk, const char *text)
{
    struct text_writer *writer = walk->writer;

    if (walk->style && walk->quotes && writer->newlines > 1 && !writer->exact &&
        text[strspn(text, " \t\r\n\f")])
        text_writer_mark(writer, "> ");
    write_text(writer, text);
}

static void write_nodes(struct walk *walk, size_t top)
{
    const struct html_tree *tree = walk->tree;
    size_t end = tree->nodes[top].end, open = top;

    for (size_t i = top; i < end && !text_writer_is_full(walk->writer);) {
        const struct html_node *node = &tree->nodes[i];
        const char *text = html_text(node);

        while (tree->nodes[open].end <= i) {
            leave(walk, open);
            open = tree->nodes[open].parent;
        }
        if (text) {
            visit_text(walk, text);
        } else if (is_left_out(node)) {
            i = node->end;
            continue;
        } else {
            enter(walk, i);
            open = i;
        }
        i++;
    }
    for (; open != top; open = tree->nodes[open].parent)
        leave(walk, open);
    leave(walk, top);
}

void html_write_markdown(struct text_writer *writer, const struct html_tree *tree, size_t top,
                         const struct html_markdown *style)
{
    write_nodes(&(struct walk){.writer = writer, .tree = tree, .style = style}, top);
}

void html_write(struct text_writer *writer, const char *html, size_t length)
{
    struct html_tree tree;

    html_tree_parse(html, length, UINT32_MAX - 1, SIZE_MAX - 1, &tree);
    write_nodes(&(struct walk){.writer = writer, .tree = &tree}, 0);
    html_tree_clear(&tree);
}
