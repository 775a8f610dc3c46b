#ifndef RUNNEL_CORE_RUN_CITATION_OVERLAP_H
#define RUNNEL_CORE_RUN_CITATION_OVERLAP_H

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
 * This runs on a loop, and the number of paragraphs times that of passages may be large. So what is beyond
 * OVERLAP_TEXT_LIMIT is not looked at, and neither are the paragraphs behind OVERLAP_WORK_LIMIT comparisons. Pure.
 */

#define OVERLAP_SHARE      60
#define OVERLAP_WORDS      4
#define OVERLAP_TEXT_LIMIT ((size_t)256 << 10) /* bytes of all passages, and of the text */
#define OVERLAP_WORK_LIMIT \
    ((size_t)8 << 20) /* of a passage, or of one that has a word, with a paragraph */

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
