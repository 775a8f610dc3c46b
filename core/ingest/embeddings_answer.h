#ifndef RUNNEL_CORE_INGEST_EMBEDDINGS_ANSWER_H
#define RUNNEL_CORE_INGEST_EMBEDDINGS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * embeddings_answer.h -- the answer of POST /v1/embeddings, checked. Pure: any thread.
 *
 * Servers send numbers or base64, in any order. What is not whole is refused as a whole: a vector that stands
 * for another text would be found for years.
 */

struct embedded {
    float *vectors;      /* one after the other, in the order of the texts */
    uint32_t dimensions; /* of each */
    uint64_t tokens;     /* that the server has counted; 0: it did not say */
    bool packed;         /* they came in base64 */
};

/* Reads the vectors of `count` texts, at least one. Each has the length 1 then; one of zeros stays so. `dimensions` is
 * what each must have; 0: the same number, up to SEGMENT_DIMENSIONS_MAX. The caller frees the vectors.
 *
 * ERR_UPSTREAM says what is wrong: not JSON, another number of vectors, a place twice, other dimensions, a number that
 * is not finite. */
enum err_code embeddings_answer_read(const char *text, size_t length, size_t count,
                                     uint32_t dimensions, struct embedded *ret_embedded,
                                     struct err *err) MUST_CHECK;

/* The message of an error's body, to be quoted in a sentence; "" without one. The caller frees. */
char *embeddings_answer_complaint(const char *text, size_t length);

#endif
