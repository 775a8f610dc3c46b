#ifndef RUNNEL_CORE_RUN_TURN_OVERLAP_H
#define RUNNEL_CORE_RUN_TURN_OVERLAP_H

#include <stddef.h>

/*
 * overlap.h -- which passage a paragraph was written from, for models that do not cite.
 *
 * A paragraph is cited when it shares most of its rarer words with one passage and with no other: at least
 * OVERLAP_SHARE percent with this one, and with each other less than half as many. Otherwise it is not: a wrong
 * citation is worse than none. Rarer are words that stand in at most half of the passages, or in one; a paragraph
 * with fewer than OVERLAP_WORDS of them says too little.
 *
 * Words are those of core/retrieval/words.h, so it works in all languages that a search works in.
 *
 * The time is linear in the texts, with a logarithm. What is beyond OVERLAP_TEXT_LIMIT is not looked at: this runs
 * on a loop. Pure.
 */

#define OVERLAP_SHARE      60
#define OVERLAP_WORDS      4
#define OVERLAP_TEXT_LIMIT ((size_t)256 << 10) /* bytes of all passages, and of the text */

struct overlap_passage {
    const char *text;
    size_t length;
};

/* A paragraph that is cited. */
struct overlap {
    size_t end;     /* of the paragraph in the text, without the white space behind it */
    size_t passage; /* index */
};

/* The paragraphs of a text that are cited, in their order. Paragraphs end at an empty line, or where a line of a list
 * or a heading begins. The caller frees the array; NULL if it is empty. */
struct overlap *overlap_find(const char *text, size_t length,
                             const struct overlap_passage *passages, size_t count,
                             size_t *ret_count);

#endif
