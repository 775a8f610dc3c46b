#ifndef RUNNEL_CORE_RETRIEVAL_CUTS_H
#define RUNNEL_CORE_RETRIEVAL_CUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/retrieval/words.h"

/*
 * retrieval/cuts.h -- the places where a text may be cut, one after the other. Pure.
 *
 * A cut lies between two words, before the second: the blanks between them belong to neither chunk. It knows what
 * begins there: a heading, a row, a sentence. Sizes are quarters of a token, counted from the beginning of the text.
 */

/* How good a place is; the last is the best. */
enum cut_rank {
    CUT_LETTERS,   /* within a run of letters that is too long */
    CUT_SIGNS,     /* between two signs of a script without blanks */
    CUT_BLANK,     /* also behind a heading, which belongs to what follows */
    CUT_SENTENCE,  /* behind one */
    CUT_LINE,      /* before a line or a row */
    CUT_PARAGRAPH, /* behind a blank line, or before a page */
    CUT_HEADING,   /* before one */
    CUT_END,       /* of the text */
};

struct cut {
    enum cut_rank rank;
    size_t stop;        /* where the word before it ends */
    size_t at;          /* where the word behind it begins */
    uint64_t size;      /* of the text before `stop` */
    uint64_t size_at;   /* of the text before `at` */
    size_t head_begin;  /* the header of the table that it lies in */
    size_t head_length; /* 0: in no table, or in its header; or the header is too large */
    uint32_t head_size;
    uint32_t page;    /* of what begins here; 0: no form feed so far, see cuts_pages() */
    uint32_t heading; /* the innermost one, for cuts_heading() */
};

struct cuts;

/* `row_limit` is the size of the largest row that stays whole. The text is borrowed. */
struct cuts *cuts_new(const struct token_counter *counter, const char *text, size_t length,
                      uint64_t row_limit);
void cuts_free(struct cuts *cuts);

/* The next cut, beginning with that before the first word. False after CUT_END. */
bool cuts_next(struct cuts *cuts, struct cut *ret_cut);

/* The headings above a cut, from the outermost, which the caller frees. A path of more than `limit` bytes loses its
 * outer headings. */
char *cuts_heading(const struct cuts *cuts, uint32_t heading, size_t limit);

#endif
