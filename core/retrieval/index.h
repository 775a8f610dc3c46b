#ifndef RUNNEL_CORE_RETRIEVAL_INDEX_H
#define RUNNEL_CORE_RETRIEVAL_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/retrieval/segment.h"

/*
 * retrieval/index.h -- all segments of one document in one piece of memory. Pure: any thread.
 *
 *   TERMS | BITS | INT8        each begins at a multiple of INDEX_ALIGN; the last two are there together, or not
 *
 * One piece, and not three: it is one file of a cache and one row of a table, and it is there whole or not at all. What
 * older versions have written is an index of words alone.
 */

#define INDEX_ALIGN ((size_t)64)

struct index {
    struct segment terms;
    struct segment bits; /* without chunks, if there are no vectors; so is int8 */
    struct segment int8;
    uint32_t model; /* that made the vectors; 0: no vectors */
};

/* The bytes are borrowed, as in segment_open(). ERR_INVALID: they are no index, or damaged. */
enum err_code index_open(const void *bytes, size_t length, struct index *ret_index,
                         struct err *err) MUST_CHECK;

/* Adds zeros, so that the next segment may follow. */
void index_pad(struct buf *bytes);

#endif
