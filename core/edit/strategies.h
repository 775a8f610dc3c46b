#ifndef RUNNEL_CORE_EDIT_STRATEGIES_H
#define RUNNEL_CORE_EDIT_STRATEGIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/edit/lines.h"

/*
 * strategies.h -- nine ways to find the text that a model means, from the most exact to the most tolerant.
 *
 * A strategy offers candidates: parts of the file that could be meant. It does not decide. edit.c tries the
 * strategies in the order of the table and knows what makes a candidate good enough.
 *
 * Every comparison takes work from the search, because some inputs cost lines of the file times lines of the text.
 *
 * Pure functions: any thread.
 */

/* Bytes compared by one edit, all strategies together: about a second. They are counted instead of the time, so that
 * an edit ends the same way on every machine. Texts that are not found in the largest file take 80 million. */
#define EDIT_WORK_LIMIT ((int64_t)150 * 1000 * 1000)

/* Letters of one line times letters of the other, beyond which two lines that differ are not alike at all. */
#define EDIT_DISTANCE_LIMIT ((size_t)4 * 1000 * 1000)

/* How alike the lines between two equal ones must be, for the third strategy. */
enum edit_profile {
    EDIT_DEFAULT, /* a single block need not be alike, the best of several at least by 0.3 */
    EDIT_STRICT,  /* at least by 0.65, and the block is at most a quarter longer or shorter */
};

struct edit_search {
    struct edit_lines file;
    struct edit_span find;
    struct edit_lines find_lines;
    enum edit_profile profile;
    int64_t work; /* that is left */
    /* Takes a candidate, which is a part of the file or, by strategies that do not look at it, `find` itself. False:
     * no more of them. */
    bool (*offer)(struct edit_search *search, struct edit_span candidate);
    void *arg; /* for offer() */
};

enum edit_strategy_flags {
    EDIT_EXACT = 1 << 0,     /* its candidate is the text itself */
    EDIT_ANCHORED = 1 << 1,  /* first and last line decide: there must be one between them */
    EDIT_ONE_PLACE = 1 << 2, /* several candidates describe one place */
};

struct edit_strategy {
    const char *name;
    void (*find)(struct edit_search *search);
    unsigned flags;
};

#define EDIT_STRATEGIES ((size_t)9)
extern const struct edit_strategy edit_strategies[EDIT_STRATEGIES];

/* The third and the eighth, in anchors.c. */
void edit_find_block_anchor(struct edit_search *search);
void edit_find_context_aware(struct edit_search *search);

/* How alike two texts are, 0 to 1, by their edit distance in letters. */
double edit_similarity(struct edit_span a, struct edit_span b, int64_t *work);

/* The least number of letters to insert, delete or replace. */
size_t edit_distance(struct edit_span a, struct edit_span b, int64_t *work);

/* The first place of `needle`, which is not empty, in `text`; or NULL. */
const char *edit_find_text(struct edit_span text, struct edit_span needle);

#endif
