#ifndef RUNNEL_CORE_DOCUMENT_XHTML_H
#define RUNNEL_CORE_DOCUMENT_XHTML_H

#include <stddef.h>

#include "core/base/buf.h"

/*
 * xhtml.h -- XHTML for a reader of HTML. Pure.
 *
 * "<title/>" becomes "<title></title>". HTML's own parser takes the slash for a slip, and looks for the end of the
 * title until the end of the page.
 */

void xhtml_to_html(struct buf *html, const char *xhtml, size_t length);

#endif
