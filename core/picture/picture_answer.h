#ifndef RUNNEL_CORE_PICTURE_PICTURE_ANSWER_H
#define RUNNEL_CORE_PICTURE_PICTURE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/net/sse_parser.h"
#include "core/picture/picture_model.h"

/*
 * picture_answer.h -- the answer of an upstream of pictures, read as it comes: JSON, or a stream of events.
 *
 * Which one it is shows the first byte, as servers ignore `stream` and say so in no other way.
 *
 * Pure but for the previews, which it hands on. One thread's.
 */

struct picture_answer {
    size_t
        picture_limit; /* bytes of a picture; these three are set by the reader of the answer */
    enum err_code (*preview)(void *arg, const json_t *event);
    void *arg;

    struct buf text; /* of JSON */
    struct sse_parser events;
    bool begun, is_stream;
    bool previewed;         /* a preview was handed on */
    bool complete;          /* the last event has come: nothing more is read */
    struct picture picture; /* base64 is empty until then */
    char *url;              /* where the picture lies, instead of its bytes; or NULL */
    enum err_code rc;       /* of an event */
    struct err err;
};

void picture_answer_clear(struct picture_answer *answer);

/* A piece. ERR_INVALID: an event with an error; answer->picture.error has it. ERR_TOO_LARGE. ERR_UPSTREAM: this is
 * nothing that can be read. Also what preview() returns. */
enum err_code picture_answer_feed(struct picture_answer *answer, const char *bytes, size_t size,
                                  struct err *err) MUST_CHECK;

/* The answer has ended, with this status. ERR_OK: there is a picture, or its URL. Otherwise as of
 * picture_model_draw(). */
enum err_code picture_answer_end(struct picture_answer *answer, int status,
                                 struct err *err) MUST_CHECK;

#endif
