#ifndef RUNNEL_CORE_EDIT_DIFF_H
#define RUNNEL_CORE_EDIT_DIFF_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/edit/lines.h"

/*
 * diff.h -- the difference between two texts, in lines.
 *
 * The least number of lines that go and come (Myers). Where more than DIFF_LINES_LIMIT lines differ, or the search
 * takes more than DIFF_WORK_LIMIT, everything between the equal beginning and the equal end counts as changed: true,
 * but not the least.
 *
 * Pure functions: any thread.
 */

#define DIFF_LINES_LIMIT ((size_t)2000) /* lines that go, and lines that come, together */
#define DIFF_WORK_LIMIT  ((size_t)20 * 1000 * 1000) /* lines compared */
#define DIFF_CONTEXT     ((size_t)3)                /* equal lines around a change */

struct diff_counts {
    size_t additions, deletions; /* lines */
};

/* Compares texts of less than 4 GiB, and adds a unified diff to `out` with the indentation removed that all its lines
 * have. Nothing is added for equal texts. `out` may be NULL. A byte order mark at the beginning is no part of a
 * text. */
struct diff_counts diff_texts(struct edit_span before, struct edit_span after, const char *name,
                              struct buf *out);

#endif
