#ifndef RUNNEL_CORE_RETRIEVAL_FOLD_H
#define RUNNEL_CORE_RETRIEVAL_FOLD_H

#include <stddef.h>
#include <stdint.h>

/*
 * retrieval/fold.h -- letters that count as the same: without case, accents and width. Pure.
 */

/* The letter that stands for this one; itself if it is no letter. */
uint32_t fold_letter(uint32_t point);

/* The ASCII letters of a ligature such as U+FB01; NULL for all else. */
const char *fold_several(uint32_t point);

#endif
