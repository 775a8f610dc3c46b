/*
 * html.c -- walks gumbo's tree.
 *
 * The walk follows the parents' links back up and uses no stack: a page of a million nested elements is a tree that
 * deep. For the same reason the tree is not released by gumbo, but block by block.
 */

#include "core/document/html.h"

#include <gumbo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/document/text_writer.h"

/* ---- Elements ---- */

static bool is_one_of(GumboTag tag, const GumboTag *tags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tags[i] == tag)
            return true;
    }
    return false;
}

static bool is_left_out(GumboTag tag)
{
    static const GumboTag tags[] = {GUMBO_TAG_SCRIPT,   GUMBO_TAG_STYLE,   GUMBO_TAG_TEMPLATE,
                                    GUMBO_TAG_NAV,      GUMBO_TAG_IFRAME,  GUMBO_TAG_OBJECT,
                                    GUMBO_TAG_SELECT,   GUMBO_TAG_BUTTON,  GUMBO_TAG_SVG,
                                    GUMBO_TAG_CANVAS,   GUMBO_TAG_AUDIO,   GUMBO_TAG_VIDEO,
                                    GUMBO_TAG_NOSCRIPT, GUMBO_TAG_TEXTAREA};

    return is_one_of(tag, tags, COUNT_OF(tags));
}

/* Blocks with an empty line around them. */
static bool is_paragraph(GumboTag tag)
{
    static const GumboTag tags[] = {
        GUMBO_TAG_P,   GUMBO_TAG_UL, GUMBO_TAG_OL,         GUMBO_TAG_DL,     GUMBO_TAG_TABLE,
        GUMBO_TAG_PRE, GUMBO_TAG_H1, GUMBO_TAG_H2,         GUMBO_TAG_H3,     GUMBO_TAG_H4,
        GUMBO_TAG_H5,  GUMBO_TAG_H6, GUMBO_TAG_BLOCKQUOTE, GUMBO_TAG_FIGURE, GUMBO_TAG_TITLE};

    return is_one_of(tag, tags, COUNT_OF(tags));
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

    return is_one_of(tag, tags, COUNT_OF(tags));
}

/* ---- Tables ---- */

/* A table with blocks in its cells is layout: its cells are written as blocks. */
static bool is_layout(GumboTag tag)
{
    static const GumboTag tags[] = {GUMBO_TAG_TABLE, GUMBO_TAG_PRE, GUMBO_TAG_H1, GUMBO_TAG_H2,
                                    GUMBO_TAG_H3,    GUMBO_TAG_H4,  GUMBO_TAG_H5, GUMBO_TAG_H6};

    return is_one_of(tag, tags, COUNT_OF(tags));
}

static const GumboVector *children_of(const GumboNode *node)
{
    if (node->type == GUMBO_NODE_DOCUMENT)
        return &node->v.document.children;
    if (node->type == GUMBO_NODE_ELEMENT && !is_left_out(node->v.element.tag))
        return &node->v.element.children;
    return NULL;
}

/* The node after `node` and what is in it, within `top`. NULL at the end. */
static const GumboNode *next_beside(const GumboNode *node, const GumboNode *top)
{
    for (; node != top; node = node->parent) {
        const GumboVector *siblings = children_of(node->parent);
        size_t next = node->index_within_parent + 1;

        if (next < siblings->length)
            return siblings->data[next];
    }
    return NULL;
}

/* Looks no further than the first block. So tables inside of tables are not looked through again and again. */
static bool has_data(const GumboNode *table)
{
    const GumboNode *node = table;

    do {
        const GumboVector *children = children_of(node);

        node = children && children->length ? children->data[0] : next_beside(node, table);
    } while (node && !(node->type == GUMBO_NODE_ELEMENT && is_layout(node->v.element.tag)));
    return !node;
}

/* ---- Writing ---- */

/* Empty cells beside the first one. Browsers, too, believe no more than 1,000. */
static size_t span_of(const GumboElement *cell)
{
    const GumboAttribute *span = gumbo_get_attribute(&cell->attributes, "colspan");
    long columns = span ? strtol(span->value, NULL, 10) : 1;

    return columns < 1 || columns > 1000 ? 1 : (size_t)columns;
}

/* Enters a part of a table that has data. */
static void enter_table(struct text_writer *writer, const GumboNode *node)
{
    GumboTag tag = node->v.element.tag;

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

static void write_text(struct text_writer *writer, const char *text)
{
    text_writer_add(writer, text, strlen(text));
}

static void enter(struct text_writer *writer, const GumboNode *node)
{
    const GumboElement *element = &node->v.element;
    GumboTag tag = element->tag;

    break_around(writer, tag);
    writer->lists += is_list(tag);
    if (writer->tables || (tag == GUMBO_TAG_TABLE && has_data(node)))
        enter_table(writer, node);
    if (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6) {
        text_writer_heading(writer, tag - GUMBO_TAG_H1 + 1);
    } else if (tag == GUMBO_TAG_LI) {
        text_writer_item(writer, writer->lists);
    } else if (tag == GUMBO_TAG_IMG) {
        const GumboAttribute *alternative = gumbo_get_attribute(&element->attributes, "alt");

        if (alternative)
            write_text(writer, alternative->value);
    } else if (tag == GUMBO_TAG_PRE) {
        writer->exact++;
    }
}

static void leave(struct text_writer *writer, const GumboElement *element)
{
    GumboTag tag = element->tag;

    if (tag == GUMBO_TAG_PRE)
        writer->exact--;
    writer->lists -= is_list(tag);
    break_around(writer, tag);
    if (!writer->tables)
        return;
    if (tag == GUMBO_TAG_TABLE)
        text_writer_table_end(writer);
    else if (tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH)
        text_writer_cells(writer, span_of(element) - 1);
}

/* ---- The walk ---- */

/* Visits one node; its children come next. */
static void visit(struct text_writer *writer, const GumboNode *node)
{
    if (node->type == GUMBO_NODE_ELEMENT && !is_left_out(node->v.element.tag))
        enter(writer, node);
    else if (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_CDATA ||
             node->type == GUMBO_NODE_WHITESPACE)
        write_text(writer, node->v.text.text);
}

/* The node after `node` in the order of the page, when its children are done: the next sibling, or that of
 * a parent. NULL at the end. */
static const GumboNode *after(struct text_writer *writer, const GumboNode *node)
{
    for (; node->parent; node = node->parent) {
        const GumboVector *siblings = children_of(node->parent);
        size_t next = node->index_within_parent + 1;

        if (node->type == GUMBO_NODE_ELEMENT && !is_left_out(node->v.element.tag))
            leave(writer, &node->v.element);
        if (next < siblings->length)
            return siblings->data[next];
    }
    return NULL;
}

/* ---- Memory ---- */

/* What gumbo allocates, in a list. Its own way to release a tree is a recursion as deep as the tree. */
struct block {
    struct block *next, **place;
    max_align_t bytes[];
};

static void *allocate(void *list, size_t size)
{
    struct block **first = list;
    struct block *block = mem_zeroed(1, sizeof(*block) + size);

    block->next = *first;
    block->place = first;
    if (block->next)
        block->next->place = &block->next;
    *first = block;
    return block->bytes;
}

static void release(void *list, void *bytes)
{
    struct block *block;

    (void)list;
    if (!bytes)
        return;
    block = CONTAINER_OF(bytes, struct block, bytes);
    *block->place = block->next;
    if (block->next)
        block->next->place = block->place;
    free(block);
}

static void release_all(struct block *block)
{
    while (block) {
        struct block *next = block->next;

        free(block);
        block = next;
    }
}

void html_write(struct text_writer *writer, const char *html, size_t length)
{
    GumboOptions options = kGumboDefaultOptions;
    struct block *blocks = NULL;
    GumboOutput *output;
    const GumboNode *node;

    options.max_errors = 0;
    options.allocator = allocate;
    options.deallocator = release;
    options.userdata = &blocks;
    output = gumbo_parse_with_options(&options, html, length);
    node = output ? output->document : NULL;
    while (node && !text_writer_is_full(writer)) {
        const GumboVector *children = children_of(node);

        visit(writer, node);
        node = children && children->length ? children->data[0] : after(writer, node);
    }
    release_all(blocks);
}
