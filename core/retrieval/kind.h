#ifndef RUNNEL_CORE_RETRIEVAL_KIND_H
#define RUNNEL_CORE_RETRIEVAL_KIND_H

#include <stdint.h>

/*
 * retrieval/kind.h -- what a character does to the words around it. Pure.
 */

enum kind {
    KIND_SEPARATES, /* blanks, punctuation, most symbols */
    KIND_LETTER,    /* letters and digits */
    KIND_MARK,      /* belongs to the letter before it, and does not count */
    KIND_RUN,       /* a sign of a script without blanks */
    KIND_LONE,      /* a word by itself, such as an emoji */
};

/* Of a character that was folded (fold.h), or of one without case. */
enum kind kind_of(uint32_t point);

#endif
