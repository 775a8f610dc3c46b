#ifndef RUNNEL_CORE_PICTURE_PICTURE_MODEL_H
#define RUNNEL_CORE_PICTURE_PICTURE_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * picture_model.h -- pictures from an upstream: POST /images/generations and /images/edits.
 *
 *     rc = picture_model_draw(model, &order, &picture, err);
 *     ...
 *     picture_clear(&picture);
 *
 * The thread waits, and the request runs on a loop. Nothing is sent that the order does not name: servers other than
 * OpenAI's refuse members that they do not know.
 *
 * Retries: after a connection that failed before an answer, 409, 429 unless a quota is used up, and 5xx, at most
 * PICTURE_RETRY_LIMIT times, with a pause as Retry-After says. Not after any other answer, and not after a deadline:
 * the upstream may have drawn, and a picture costs money. A request that is refused for its `stream` is sent once more
 * without previews.
 *
 * Any thread but a loop's, several at a time.
 */

struct egress_rules;
struct loop;
struct picture_model;

#define PICTURE_RETRY_LIMIT   2
#define PICTURE_PREVIEW_LIMIT 3                 /* `partial_images` of OpenAI's */
#define PICTURE_SOURCE_LIMIT  ((size_t)16)      /* pictures that one edit begins with */
#define PICTURE_ADDED_LIMIT   ((size_t)1 << 20) /* bytes of an answer beside its pictures */

struct picture_model_options {
    const char *url;     /* ends in /v1, no slash after it */
    const char *api_key; /* NULL for none */
    const char *model;
    bool legacy;            /* the server wants response_format, and has no streams */
    size_t picture_limit;   /* bytes of a picture; a larger one fails */
    double timeout_seconds; /* for all attempts together */
    const struct egress_rules *egress; /* where a picture that comes as a URL may lie */
    /* Takes out of the messages what the operator keeps from models. NULL: nothing */
    enum err_code (*mask)(void *arg, json_t *messages, struct err *err);
    void *mask_arg;
    struct loop *(*any_loop)(void *arg); /* as of http_ask.h */
    void *loop_arg;
};

/* Copies the options and the texts; the rest outlives the model. */
struct picture_model *picture_model_new(const struct picture_model_options *options);
/* All that draw end with ERR_CANCELLED, and all that come. The loops must still run. */
void picture_model_close(struct picture_model *model);
/* No thread may be drawing. NULL is fine. */
void picture_model_free(struct picture_model *model);

/* A picture that is there already. */
struct picture_source {
    struct buf bytes;
    const char *type; /* "image/png"; a constant */
};

struct picture_order {
    const char *prompt;
    const json_t *members; /* of the request, as they are: size, quality ... An object */
    unsigned previews;     /* 0 to PICTURE_PREVIEW_LIMIT */
    const struct picture_source *sources;
    size_t source_count;               /* 0: a new picture. Otherwise these are edited */
    const struct picture_source *mask; /* where the first of them may change; or NULL */
    int cancel_fd;                     /* as of http_ask_read() */
    /* A preview: {"b64_json", and what else the upstream said}. On the thread that draws. ERR_CANCELLED ends it */
    enum err_code (*preview)(void *arg, const json_t *event);
    void *arg;
};

/* Owned: picture_clear(). */
struct picture {
    struct buf base64;
    size_t bytes; /* of the picture */
    json_t *
        facts; /* what the upstream said of it: revised_prompt, size, quality, background, output_format, usage */
    json_t *
        error; /* of a failure that the upstream has explained: {"code", "message", "param", "type"}; or NULL */
};
void picture_clear(struct picture *picture);

/* ERR_OK: *ret_picture has the picture. After an error it has at most `error`, and is cleared, too.
 *
 * ERR_INVALID: the upstream refuses the order, err->text says why. ERR_LIMIT: it has too much to do. ERR_TOO_LARGE:
 * more than picture_limit. ERR_TIMEOUT. ERR_UPSTREAM: it has failed, or its answer is no picture. ERR_CANCELLED. */
enum err_code picture_model_draw(struct picture_model *model, const struct picture_order *order,
                                 struct picture *ret_picture, struct err *err) MUST_CHECK;

/* Begins to fetch a picture that a stranger has named by its URL: public addresses only. NULL: the URL is none. Several
 * may be on their way at once; each is awaited or dropped (http_ask.h). */
struct http_ask *picture_model_fetch(struct picture_model *model, const char *url);

/* Waits for it. Errors as above, also those of the URL, for which there is no ask. */
enum err_code picture_model_fetched(struct http_ask *asked, const char *url, int cancel_fd,
                                    struct buf *ret_bytes, struct err *err) MUST_CHECK;

#endif
