#ifndef RUNNEL_CORE_DOCUMENT_PAGE_PAGE_MAIN_H
#define RUNNEL_CORE_DOCUMENT_PAGE_PAGE_MAIN_H

#include "core/document/html_tree.h"

/*
 * page_main.h -- which part of a page a person came to read.
 *
 * First everything that says of itself that it is something else is left out: navigation, heads and feet of the page,
 * sidebars, advertisements, controls. So are lists of links to places of the page, and columns of links. Then the
 * smallest element that still has nearly all of the remaining text is the main one, or the one that the page calls so.
 * What is left at its beginning and end and consists of links is left out, too. Nothing is left out that has most of
 * the page's text: then its name was misleading.
 *
 * Linear in the nodes of the page. For compute children.
 */

/* Returns the main element, and marks what is left out of it. */
size_t page_main(struct html_tree *tree);

/* The first element with the tag in `top`; 0: it has no such element. */
size_t page_find(const struct html_tree *tree, size_t top, GumboTag tag);

#endif
