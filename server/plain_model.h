#ifndef RUNNEL_SERVER_PLAIN_MODEL_H
#define RUNNEL_SERVER_PLAIN_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/model/model.h"
#include "core/net/loop.h"

/*
 * plain_model.h -- a model that is asked by a worker, and whose answer is one text: without a stream, without tools.
 *
 *     ask = plain_model_ask(model, &question);
 *     rc = plain_model_wait(model, ask, &answer, err);    // the ask is gone now
 *
 * Turns of a run use core/model, which streams on a loop. There is no second attempt here: the caller knows what it
 * does without an answer.
 *
 * Any thread that may wait. Several at once.
 */

struct http_ask; /* core/net/http_ask.h */
struct plain_model;

/* `upstream` and `name` are borrowed until plain_model_free(). `any_loop` is that of http_ask.h. */
struct plain_model *plain_model_new(const struct model_upstream *upstream, const char *name,
                                    struct loop *(*any_loop)(void *arg), void *loop_arg);

/* All that wait get nothing, and all that come. */
void plain_model_close(struct plain_model *model);
void plain_model_free(struct plain_model *model); /* NULL is fine; no thread may be asking */

struct plain_question {
    const char *instructions;
    const char *text;    /* what the instructions are about; NULL: a picture alone */
    const char *picture; /* a data URL; NULL: none */
    size_t answer_limit; /* bytes of the answer */
    double seconds;
};

/* Everything is copied. */
struct http_ask *plain_model_ask(const struct plain_model *model,
                                 const struct plain_question *question);

struct plain_answer {
    char *text;              /* the caller's; NULL after an error */
    uint64_t retry_after_ns; /* 0: it did not say */
};

/* ERR_INVALID: the upstream refuses this question. ERR_UPSTREAM: another status, or no text in the answer. ERR_LIMIT:
 * 429. ERR_TIMEOUT, ERR_CANCELLED: as http_ask_wait(). */
enum err_code plain_model_wait(const struct plain_model *model, struct http_ask *ask,
                               struct plain_answer *ret_answer, struct err *err) MUST_CHECK;

/* The text of an answer, in either dialect; NULL: it has none. Pure. The caller frees. */
char *plain_model_text(enum model_dialect dialect, const char *answer, size_t length);

#endif
