#ifndef RUNNEL_CORE_EDIT_NUMBERED_H
#define RUNNEL_CORE_EDIT_NUMBERED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * numbered.h -- some lines of a file with their numbers, as a model reads them.
 *
 *      9<tab>nine
 *     10<tab>ten
 *
 *     [Showing lines 9-10 of 12 total lines]
 *
 * The file comes in pieces, and needs to come only until the lines are complete. A file that ends with a line break has
 * an empty last line.
 *
 * Pure functions: any thread.
 */

#define NUMBERED_LINES        ((size_t)2000) /* where a call says nothing, and at most */
#define NUMBERED_LINE_LETTERS ((size_t)2000) /* of a line; the rest is cut */

struct numbered {
    size_t first, last; /* lines that are wanted, from 1 */
    size_t line;        /* the current one; at the end, how many the file has */
    size_t letters;     /* of the current line */
    struct buf text;    /* owned: the wanted lines so far, separated by LF */
};

/* `lines` is 1 to NUMBERED_LINES. */
void numbered_init(struct numbered *numbered, size_t first, size_t lines);
void numbered_clear(struct numbered *numbered);

/* Adds a piece. False: the lines are complete. Further pieces only count. */
bool numbered_add(struct numbered *numbered, const char *bytes, size_t length);

/* The text, which the caller frees. `ended`: the pieces were the whole file. NULL: it has fewer lines than `first`. */
char *numbered_finish(struct numbered *numbered, bool ended);

#endif
