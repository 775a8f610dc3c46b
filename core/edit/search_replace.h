#ifndef RUNNEL_CORE_EDIT_SEARCH_REPLACE_H
#define RUNNEL_CORE_EDIT_SEARCH_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/edit/lines.h"

/*
 * search_replace.h -- edits a text by blocks of lines, as models write them:
 *
 *     <<<<<<< SEARCH
 *     old lines
 *     =======
 *     new lines
 *     >>>>>>> REPLACE
 *
 * A block begins with 6 or 7 `<` and ends with as many `>`, with or without the word. Between its texts is a line of as
 * many `=` as the block has `<`; without that, it is the first line of at least 4. Empty lines at the end of a text do
 * not count. No new lines: the old ones are deleted.
 *
 * Whole lines are compared: as they are, and if that finds nothing, with their white space folded. Each block must
 * match exactly one place, and places must not overlap. All blocks are looked for before the first one is replaced, so
 * the text changes by all of them or not at all.
 *
 * Pure functions: any thread.
 */

#define SEARCH_BLOCKS_LIMIT ((size_t)200)

/* Comparisons of lines. */
#define SEARCH_WORK_LIMIT ((size_t)20000000)

struct search_block {
    struct edit_span search, replace; /* borrowed from the text of the blocks */
    size_t first, lines;              /* filled in: where it is in the text, from 0 */
    size_t added;                     /* lines that take their place */
    bool exact;                       /* the lines are equal; else but for white space */
};

struct search_blocks {
    struct search_block *list; /* owned */
    size_t count;
};

/* What is no block is skipped. ERR_INVALID: more than SEARCH_BLOCKS_LIMIT. */
enum err_code search_blocks_parse(struct edit_span text, struct search_blocks *ret_blocks,
                                  struct err *err) MUST_CHECK;
void search_blocks_clear(struct search_blocks *blocks);

enum search_failure_kind {
    SEARCH_NO_PLACE,
    SEARCH_SEVERAL_PLACES,
    SEARCH_OVERLAP,
    SEARCH_TOO_MUCH
};

/* Why nothing was replaced. */
struct search_failure {
    enum search_failure_kind kind;
    size_t block;     /* from 1 */
    size_t count;     /* places */
    size_t work;      /* comparisons of lines, of all blocks */
    size_t places[4]; /* the first of them, from 1; of an overlap first and last line of both */
};

/* Finds the blocks among the lines `first` to `last` of the text (from 1; 0: no limit), and makes the new text, which
 * the caller frees; it has a NUL that does not count. Its new lines end as those of the text do. False: *ret_failure
 * says why not. */
bool search_blocks_apply(struct search_blocks *blocks, struct edit_span text, size_t first,
                         size_t last, char **ret_text, size_t *ret_length,
                         struct search_failure *ret_failure);

/* A sentence for the model. The caller frees. */
char *search_failure_text(const struct search_failure *failure);

#endif
