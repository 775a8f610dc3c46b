#ifndef RUNNEL_CORE_DOCUMENT_PAGE_PAGE_SELECT_H
#define RUNNEL_CORE_DOCUMENT_PAGE_PAGE_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/document/html_tree.h"

/*
 * page_select.h -- which elements of a page a CSS selector means.
 *
 * The forms: `p`, `*`, `#id`, `.class`, `[name]`, `[name=value]` and its variants with ~ | ^ $ and *, `:nth-child(n)`,
 * all of them joined; "a b" and "a > b"; several selectors with commas between them.
 *
 * A page is looked through once, from the first element to the last. Each remembers in bits how far the selector has
 * come with it and with the elements around it. So no selector takes more than its length times the page.
 *
 * For compute children: the selector is a stranger's, too.
 */

#define PAGE_SELECTOR_LIMIT ((size_t)1000) /* bytes */
#define PAGE_STEPS_LIMIT    ((size_t)32)   /* elements that a selector names, all together */
#define PAGE_TESTS_LIMIT    ((size_t)64)   /* conditions on them */

struct page_selector;

/* NULL: it is none of the forms, or too long. */
struct page_selector *page_selector_parse(const char *text);
void page_selector_free(struct page_selector *selector);

/* Calls take() for each element that is meant, in the order of the page, until it returns false. */
void page_select(const struct page_selector *selector, const struct html_tree *tree,
                 bool (*take)(void *arg, size_t node), void *arg);

#endif
