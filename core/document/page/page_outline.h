#ifndef RUNNEL_CORE_DOCUMENT_PAGE_PAGE_OUTLINE_H
#define RUNNEL_CORE_DOCUMENT_PAGE_PAGE_OUTLINE_H

#include "core/base/buf.h"
#include "core/document/html_tree.h"

/*
 * page_outline.h -- the elements of a page, for a reader who looks for a selector; and elements as HTML.
 *
 * For compute children.
 */

#define PAGE_OUTLINE_LINES ((size_t)2000)
#define PAGE_OUTLINE_TEXT  ((size_t)50) /* characters of a text that are shown */
#define PAGE_OUTLINE_NAMES ((size_t)3)  /* classes of an element that are shown */
#define PAGE_OUTLINE_NAME  ((size_t)30) /* bytes of one; longer ones are made by machines */
#define PAGE_OUTLINE_PATH  ((size_t)5)  /* elements of a path */

/* A line for each element, indented by its depth, down to `depth` levels below `top`:
 *
 *     - div.box "A text…" (html > body > div.box) */
void page_outline(struct buf *out, const struct html_tree *tree, size_t top, unsigned depth,
                  bool with_text);

/* An element with all that is in it, without what cannot be seen. */
void page_add_html(struct buf *out, const struct html_tree *tree, size_t top);

#endif
