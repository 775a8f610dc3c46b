#ifndef RUNNEL_CORE_DOCUMENT_PAGE_PAGE_H
#define RUNNEL_CORE_DOCUMENT_PAGE_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * page.h -- a page of the Web as a model reads it.
 *
 * HTML is read in a compute child (core/sandbox): as Markdown of its main part, as HTML of the elements that a selector
 * means, or as an outline of its elements. A PDF is its text. JSON is indented. Other text stays as it is. All else is
 * binary and refused.
 */

/* Limits of one page. */
#define PAGE_BYTES_MAX ((size_t)5 << 20)
#define PAGE_NODES_MAX \
    ((size_t)100000) /* elements and texts; what comes behind them is left out */
#define PAGE_DEPTH_MAX ((size_t)512)     /* of elements; deeper ones count as this deep */
#define PAGE_TEXT_MAX  ((size_t)8 << 20) /* bytes of what becomes of it, as JSON */
#define PAGE_JSON_MAX \
    ((size_t)1 << 19) /* bytes of a page that is JSON; a longer one is not indented */
#define PAGE_JSON_LINES_MAX  ((size_t)40000)   /* of it, indented */
#define PAGE_JSON_BLANKS_MAX ((size_t)2 << 20) /* bytes that indenting adds */
#define PAGE_WALL_MS         20000

enum page_view { PAGE_MARKDOWN, PAGE_ELEMENTS, PAGE_OUTLINE };

struct page_source {
    const char *url;          /* where its references begin */
    const char *content_type; /* as its server said; "" when it did not */
    const char *bytes;
    size_t length;
};

struct page_want {
    enum page_view view;
    bool links, images;   /* PAGE_MARKDOWN: they keep where they lead to */
    const char *selector; /* PAGE_ELEMENTS: which; PAGE_OUTLINE: where it begins */
    size_t limit;         /* PAGE_ELEMENTS: characters; at least one element is shown */
    unsigned depth;       /* PAGE_OUTLINE: levels */
    bool text;            /* PAGE_OUTLINE: with the beginning of texts */
};

/* Is a page with this content type read at all? By its head, before its bytes have come. Pure. */
bool page_is_readable(const char *content_type);

/* *ret_page, a new reference: {"text", "title", "author", "description", "published", "site", "language", "count",
 * "cut": true}, each but `text` only if it is known. `count` is that of PAGE_ELEMENTS: how many elements the selector
 * means; `cut`: the page has more than PAGE_NODES_MAX nodes.
 *
 * ERR_INVALID: with REASON_UNSUPPORTED it is binary; with REASON_BAD_TYPE it is no HTML and the view needs that; with
 * REASON_BAD_VALUE the selector is none. ERR_TOO_LARGE, ERR_LIMIT, ERR_INTERNAL and other reasons as for documents
 * (document.h). Blocks for up to PAGE_WALL_MS, for a PDF longer: for workers. */
enum err_code web_page_read(const struct page_source *source, const struct page_want *want,
                            json_t **ret_page, struct err *err) MUST_CHECK;

#endif
