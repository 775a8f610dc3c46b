#ifndef RUNNEL_TESTS_SUPPORT_ANSWER_PIECES_H
#define RUNNEL_TESTS_SUPPORT_ANSWER_PIECES_H

#include <stddef.h>

#include "core/model/answer.h"

/*
 * answer_pieces.h -- an answer of an upstream, as a network cuts it.
 *
 * Pieces of at most `step` bytes, the first of `first`, each in memory of its own: a sanitizer sees
 * who reads beyond its end. Stops at the first error, as a transfer does.
 */
enum err_code answer_feed_pieces(struct answer *answer, const char *bytes, size_t length,
                                 size_t first, size_t step, struct chat_failure *failure);

#endif
