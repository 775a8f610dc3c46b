#ifndef RUNNEL_HANDLERS_SUPPORT_WEB_PARAGRAPHS_H
#define RUNNEL_HANDLERS_SUPPORT_WEB_PARAGRAPHS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * paragraphs.h -- the paragraphs of a page that have some words, and their places. Pure.
 *
 * A paragraph ends at an empty line. A word may be several; letters are found in either case. A place is a row of
 * paragraphs, and is named by its first character and its length in characters.
 */

/* Places that are shown; more are counted. */
#define PARAGRAPHS_SHOWN ((size_t)50)

struct paragraph;

struct paragraphs {
    struct paragraph *list;
    size_t count;
    size_t found; /* that have the words */
};

/* `words` is a list of strings; `all`: a paragraph must have each. The text is borrowed. */
struct paragraphs paragraphs_find(const char *text, const json_t *words, bool all);
void paragraphs_clear(struct paragraphs *paragraphs);

/* Adds the places, each behind a line with its number, `begin` and `limit`. Of what stands around a paragraph that was
 * found, `around` paragraphs are shown before and behind it. */
void paragraphs_show(const struct paragraphs *paragraphs, size_t around, struct buf *out);

#endif
