#ifndef RUNNEL_CORE_DOCUMENT_HTML_H
#define RUNNEL_CORE_DOCUMENT_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "core/document/html_tree.h"
#include "core/document/text_writer.h"

/*
 * html.h -- an HTML page as text that a model reads well.
 *
 * Headings, items of lists and tables become what document.h says. Scripts, styles, navigation, forms' controls and
 * comments are left out. Pictures are their alternative text. For compute children: the parser is a library that
 * reads hostile bytes.
 */

/* Writes the text of a page in UTF-8. Stops when the writer is full. */
void html_write(struct text_writer *writer, const char *html, size_t length);

/* Markdown instead: code stands in fences, items of ordered lists have numbers, quotations begin with "> ". */
struct html_markdown {
    bool links;       /* they keep where they lead to */
    bool images;      /* as "![text](url)"; otherwise they are left out */
    const char *base; /* URL that references begin at */
};

/* Writes what is in the node `top` of a tree, without what is left out. Changes `items` of its nodes. */
void html_write_markdown(struct text_writer *writer, const struct html_tree *tree, size_t top,
                         const struct html_markdown *style);

/* Scripts, styles, controls of forms and the like: no text of a page. */
bool html_is_no_text(GumboTag tag);

#endif
