#ifndef RUNNEL_CORE_EDIT_EDIT_H
#define RUNNEL_CORE_EDIT_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/edit/strategies.h"

/*
 * edit.h -- replaces a text that a model remembers, maybe not quite as it is.
 *
 * The strategies are tried in their order, and the first that finds exactly one place decides. A wrong place is worse
 * than an error, which the model reads and mends. So these refuse:
 *
 *   an empty candidate does not count;
 *   a text that occurs several times as it is, is not searched for in another form;
 *   a strategy that finds two places decides nothing, unless one contains the other;
 *   a place much larger than the text is refused (EDIT_SPARE_LINES and EDIT_SPARE_LETTERS);
 *   two lines with nothing between them are no block.
 *
 * If the text ended with a line break, the place has it, too.
 *
 * Pure functions: any thread.
 */

#define EDIT_FILE_LIMIT ((size_t)10 << 20) /* bytes, before and after */
#define EDIT_TEXT_LIMIT ((size_t)1 << 20)  /* bytes of the old and of the new text */

/* A place may have twice the lines of the text and four times its letters, or this much more. */
#define EDIT_SPARE_LINES   ((size_t)3)
#define EDIT_SPARE_LETTERS ((size_t)500)

struct edit_order {
    struct edit_span old_text, new_text; /* borrowed; the new text goes in as it is */
    bool all; /* every occurrence of what is found first, instead of the only one */
    enum edit_profile profile;
};

struct edit_result {
    char *text; /* owned; with a NUL that does not count */
    size_t length;
    size_t replacements;
    const char *strategy;         /* a constant */
    size_t first_line, last_line; /* of the first place, in the text before, from 1 */
};

void edit_result_clear(struct edit_result *result);

/* ERR_INVALID: the texts are equal, or the old one is empty. ERR_NOT_FOUND: nothing like it is in the file.
 * ERR_CONFLICT: several places are. ERR_FORBIDDEN: the place is much larger than the text. ERR_TOO_LARGE: see the
 * limits. ERR_LIMIT: the search took more than EDIT_WORK_LIMIT. The sentences are for the model. */
enum err_code edit_replace(struct edit_span file, const struct edit_order *order,
                           struct edit_result *ret_result, struct err *err) MUST_CHECK;

#endif
