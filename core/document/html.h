#ifndef RUNNEL_CORE_DOCUMENT_HTML_H
#define RUNNEL_CORE_DOCUMENT_HTML_H

#include <stddef.h>

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

#endif
