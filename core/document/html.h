#ifndef RUNNEL_CORE_DOCUMENT_HTML_H
#define RUNNEL_CORE_DOCUMENT_HTML_H

#include <stddef.h>

#include "core/base/buf.h"

/*
 * html.h -- an HTML page as text that a model reads well.
 *
 * Headings become lines that begin with "#", items of lists begin with "- ", cells of a row are divided by " | ",
 * and blocks by empty lines. Scripts, styles, navigation, forms' controls and comments are left out. Pictures
 * are their alternative text. For compute children: the parser is a library that reads hostile bytes.
 */

/* Adds the text of a page in UTF-8. Gives up beyond HTML_TEXT_MAX bytes of text. */
#define HTML_TEXT_MAX ((size_t)64 << 20)

void html_add_text(struct buf *text, const char *html, size_t length);

#endif
