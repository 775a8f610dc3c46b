/*
 * html.c -- walks gumbo's tree.
 *
 * The walk follows the parents' links back up and uses no stack: a page of a million nested elements is a tree that
 * deep. The tree is not released, because gumbo does that by recursion, and the child ends anyway.
 */

#include "core/document/html.h"

#include <ctype.h>
#include <gumbo.h>
#include <stdbool.h>

#include "core/base/compiler.h"

/* What is being written. White space is collapsed, so what is due is known only with the next letter. */
struct writer {
    struct buf *text;
    unsigned newlines; /* due before the next letter */
    bool blank;        /* due, too */
    unsigned exact;    /* depth of elements whose white space counts */
};

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
        GUMBO_TAG_DIV,     GUMBO_TAG_SECTION, GUMBO_TAG_ARTICLE, GUMBO_TAG_HEADER,
        GUMBO_TAG_FOOTER,  GUMBO_TAG_MAIN,    GUMBO_TAG_ASIDE,   GUMBO_TAG_TR,
        GUMBO_TAG_LI,      GUMBO_TAG_DT,      GUMBO_TAG_DD,      GUMBO_TAG_HR,
        GUMBO_TAG_CAPTION, GUMBO_TAG_ADDRESS, GUMBO_TAG_FORM,    GUMBO_TAG_FIGCAPTION,
        GUMBO_TAG_BR,      GUMBO_TAG_FIELDSET};

    return is_one_of(tag, tags, COUNT_OF(tags));
}

/* ---- Writing ---- */

static void due_newlines(struct writer *writer, unsigned count)
{
    if (writer->newlines < count)
        writer->newlines = count;
    writer->blank = false;
}

static void write_due(struct writer *writer)
{
    for (; writer->newlines && writer->text->length; writer->newlines--)
        buf_add_char(writer->text, '\n');
    writer->newlines = 0;
    if (writer->blank && writer->text->length)
        buf_add_char(writer->text, ' ');
    writer->blank = false;
}

static void write_mark(struct writer *writer, const char *mark)
{
    write_due(writer);
    buf_add_text(writer->text, mark);
}

static void write_text(struct writer *writer, const char *text)
{
    for (; *text; text++) {
        if (!writer->exact && isspace((unsigned char)*text)) {
            writer->blank = writer->newlines == 0;
            continue;
        }
        write_due(writer);
        buf_add_char(writer->text, *text);
    }
}

static void enter(struct writer *writer, const GumboElement *element)
{
    GumboTag tag = element->tag;

    if (is_paragraph(tag))
        due_newlines(writer, 2);
    else if (is_block(tag))
        due_newlines(writer, 1);
    if (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6) {
        static const char marks[] = "###### ";

        write_mark(writer, marks + (GUMBO_TAG_H6 - tag));
    } else if (tag == GUMBO_TAG_LI) {
        write_mark(writer, "- ");
    } else if ((tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH) && !writer->newlines &&
               writer->text->length) {
        write_mark(writer, " | ");
    } else if (tag == GUMBO_TAG_IMG) {
        const GumboAttribute *alternative = gumbo_get_attribute(&element->attributes, "alt");

        if (alternative)
            write_text(writer, alternative->value);
    } else if (tag == GUMBO_TAG_PRE) {
        writer->exact++;
    }
}

static void leave(struct writer *writer, GumboTag tag)
{
    if (tag == GUMBO_TAG_PRE)
        writer->exact--;
    if (is_paragraph(tag))
        due_newlines(writer, 2);
    else if (is_block(tag))
        due_newlines(writer, 1);
}

/* ---- The walk ---- */

static const GumboVector *children_of(const GumboNode *node)
{
    if (node->type == GUMBO_NODE_DOCUMENT)
        return &node->v.document.children;
    if (node->type == GUMBO_NODE_ELEMENT && !is_left_out(node->v.element.tag))
        return &node->v.element.children;
    return NULL;
}

/* Visits one node; its children come next. */
static void visit(struct writer *writer, const GumboNode *node)
{
    if (node->type == GUMBO_NODE_ELEMENT && !is_left_out(node->v.element.tag))
        enter(writer, &node->v.element);
    else if (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_CDATA ||
             node->type == GUMBO_NODE_WHITESPACE)
        write_text(writer, node->v.text.text);
}

/* The node after `node` in the order of the page, when its children are done: the next sibling, or that of
 * a parent. NULL at the end. */
static const GumboNode *after(struct writer *writer, const GumboNode *node)
{
    for (; node->parent; node = node->parent) {
        const GumboVector *siblings = children_of(node->parent);
        size_t next = node->index_within_parent + 1;

        if (node->type == GUMBO_NODE_ELEMENT && !is_left_out(node->v.element.tag))
            leave(writer, node->v.element.tag);
        if (next < siblings->length)
            return siblings->data[next];
    }
    return NULL;
}

void html_add_text(struct buf *text, const char *html, size_t length)
{
    GumboOptions options = kGumboDefaultOptions;
    struct writer writer = {.text = text};
    GumboOutput *output;
    const GumboNode *node;

    options.max_errors = 0;
    output = gumbo_parse_with_options(&options, html, length);
    node = output ? output->document : NULL;
    while (node && text->length <= HTML_TEXT_MAX) {
        const GumboVector *children = children_of(node);

        visit(&writer, node);
        node = children && children->length ? children->data[0] : after(&writer, node);
    }
}
