#ifndef RUNNEL_CORE_MODEL_CHAT_CHAT_ERROR_H
#define RUNNEL_CORE_MODEL_CHAT_CHAT_ERROR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * chat_error.h -- turns an upstream's error into one struct err.
 *
 * Servers agree on HTTP statuses and on little else: the body may be OpenAI's envelope, an
 * error that is a bare string, {"message": ...}, {"detail": ...}, a list around any of them,
 * plain text or an HTML page; and an error inside a stream has no status at all. Both dialects
 * have the same forms. Everything is reduced to a status, a message and a code, and these to one
 * struct err.
 */

struct chat_failure {
    struct err err;
    bool temporary; /* sending the same request again may help */
};

/* The answer had this status, 300 or more. Returns failure->err.code, never ERR_OK. */
enum err_code chat_error_status(int status, const char *body, size_t length,
                                struct chat_failure *failure);

/* A JSON answer, or a chunk of one, that may hold an error: ERR_OK when it does not. */
enum err_code chat_error_in(const json_t *answer, struct chat_failure *failure);

/* Data of an SSE event whose name says that it is an error. Never ERR_OK. */
enum err_code chat_error_event(const char *data, size_t length, struct chat_failure *failure);

/* The failure of a lost connection, for fault points. */
enum err_code chat_error_lost(struct chat_failure *failure);

/* The upstream has failed: ERR_UPSTREAM with the given text. */
enum err_code chat_error_broken(struct chat_failure *failure, const char *format, ...)
    PRINTF_LIKE(2, 3);

#endif
