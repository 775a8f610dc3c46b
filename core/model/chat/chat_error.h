#ifndef RUNNEL_CORE_MODEL_CHAT_CHAT_ERROR_H
#define RUNNEL_CORE_MODEL_CHAT_CHAT_ERROR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * chat_error.h -- what an upstream says when it refuses, in our words.
 *
 * Servers agree on HTTP statuses and on little else: the body may be OpenAI's envelope, an
 * error that is a bare string, {"message": ...}, {"detail": ...}, a list around any of them,
 * plain text or a page for browsers; and an error inside a stream has no status at all. The two
 * dialects refuse in the same words.
 * Everything is reduced to a status, a message and a word, and these to one struct err.
 */

struct chat_failure {
    struct err err;
    bool temporary; /* asking the same again may help */
};

/* The answer had this status, 300 or more. Returns failure->err.code, never ERR_OK. */
enum err_code chat_error_status(int status, const char *body, size_t length,
                                struct chat_failure *failure);

/* A JSON answer, or a chunk of one, that may hold an error: ERR_OK when it does not. */
enum err_code chat_error_in(const json_t *answer, struct chat_failure *failure);

/* Data of an SSE event whose name says that it is an error. Never ERR_OK. */
enum err_code chat_error_event(const char *data, size_t length, struct chat_failure *failure);

/* The connection was lost, as our own fault points have it. */
enum err_code chat_error_lost(struct chat_failure *failure);

/* The upstream broke down: ERR_UPSTREAM with a text of ours. */
enum err_code chat_error_broken(struct chat_failure *failure, const char *format, ...)
    PRINTF_LIKE(2, 3);

#endif
