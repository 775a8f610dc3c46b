#ifndef RUNNEL_CORE_RUN_CITATION_LINK_H
#define RUNNEL_CORE_RUN_CITATION_LINK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * link.h -- the links of Markdown in a text, to pages of the web.
 *
 *   [example.org](https://example.org/page)    ([example.org](<https://example.org/page> "A title"))
 *
 * Parentheses that stand right around a link belong to it. A picture, "![...](...)", is none. A URL ends at a blank or
 * a bracket; parentheses in it are paired, as in Markdown. Code is not looked at differently: a model that cites in
 * code has cited all the same.
 *
 * The time is linear in the text. Pure functions: any thread.
 */

/* A link in a text; borrowed from it. */
struct link {
    const char *begin, *end; /* with the parentheses around it */
    const char *url;
    size_t url_length;
};

/* The first link at or behind `from`, which must be no place within a link. False: there is no other. */
bool link_find(const char *from, struct link *ret_link);

/* The URL in the form in which two of one page are equal: without fragment, utm_source and a slash at the end, scheme
 * and host in small letters. The caller frees. */
char *link_page(const char *url, size_t length);

#endif
