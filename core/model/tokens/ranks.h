#ifndef RUNNEL_CORE_MODEL_TOKENS_RANKS_H
#define RUNNEL_CORE_MODEL_TOKENS_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * ranks.h -- byte pair encoding: which bytes make a token, and how many tokens a piece has.
 *
 * The table comes from a rank file in tiktoken's format: a line for each token, with its bytes in
 * base64, a blank and its rank.
 *
 * A table does not change once it is made: any thread.
 */

#define RANKS_FILE_LIMIT  ((size_t)64 << 20) /* bytes of the file */
#define RANKS_TOKEN_LIMIT ((size_t)4000000)  /* tokens in it */
#define RANKS_BYTES_LIMIT ((size_t)1024)     /* of one token */
#define RANKS_PIECE_LIMIT \
    ((size_t)1 << 16) /* longer pieces are counted in parts; a cut costs a token or two \
                       */

struct ranks;

/* Reads the text of a rank file. ERR_INVALID, with the line, for an invalid file, or when one of the
 * 256 single bytes has no token. `name` is for messages. */
enum err_code ranks_parse(const char *name, const char *text, size_t length,
                          struct ranks **ret_ranks, struct err *err) MUST_CHECK;
void ranks_free(struct ranks *ranks);

/* Tokens of one piece. */
size_t ranks_count(const struct ranks *ranks, const char *piece, size_t length);

#endif
