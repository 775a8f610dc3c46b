#ifndef RUNNEL_SERVER_FAKEMODEL_REPLY_INTERNAL_H
#define RUNNEL_SERVER_FAKEMODEL_REPLY_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/ids.h"
#include "server/fakemodel/prompt.h"
#include "server/fakemodel/reply.h"
#include "server/fakemodel/script.h"

/*
 * fakemodel/reply_internal.h -- an answer as the dialects see it that give it its form.
 *
 * fakemodel/reply.c walks over the pieces and lets things go wrong; fakemodel/chat.c,
 * fakemodel/responses.c and fakemodel/events.c say what a piece looks like.
 */

#define REPLY_TEXT_LIMIT ((size_t)16 << 20) /* of what a whole answer holds with `repeat` */

enum reply_stage {
    STAGE_BEGIN,
    STAGE_PIECES,
    STAGE_FINISH,
    STAGE_USAGE,
    STAGE_DONE,
    STAGE_OVER,
};

struct reply {
    const struct script_answer *answer; /* NULL: only `body` */
    const struct reply_shape *shape;
    enum reply_part start;
    int status;
    int retry_after;
    bool stream;
    const char *content_type;

    /* A JSON answer, or a page. */
    struct buf body;
    enum reply_part body_end;
    size_t body_sent; /* how much of it is sent */

    /* A stream. */
    json_t *pieces; /* those of the text stand together and are repeated */
    size_t text_from;
    size_t text_count;
    size_t repeat;
    size_t position; /* of the next piece, repetitions counted */
    enum reply_stage stage;
    char id[ID_SIZE];
    json_int_t created;
    char *model;
    char *finish_reason; /* NULL: none */
    bool wants_usage;
    bool wants_logprobs;
    json_t *usage; /* NULL: none */

    /* Of a Responses stream: how far it is. */
    json_int_t events;  /* so far */
    json_t *output;     /* the items; the last one may be open */
    json_t *open;       /* that one, borrowed; or NULL */
    const char *kind;   /* of the pieces that it is made of */
    struct buf growing; /* of its open part, or its arguments */
};

/* How a dialect writes an answer. */
struct reply_shape {
    const char *id_prefix;
    bool ends_with_done; /* "[DONE]" */
    /* Fills reply->pieces, text_from and text_count. */
    void (*make_pieces)(struct reply *reply, const struct prompt *prompt);
    /* A JSON answer, and one that says that it failed. New references. NULL: always a stream. */
    json_t *(*whole)(struct reply *reply, const struct prompt *prompt);
    json_t *(*whole_error)(struct reply *reply, json_t *error);
    /* The stages of a stream; what has nothing to say adds nothing. */
    void (*begin)(struct reply *reply, struct buf *out);
    void (*piece)(struct reply *reply, struct buf *out, json_t *piece);
    void (*finish)(struct reply *reply, struct buf *out);
    void (*usage)(struct reply *reply, struct buf *out);
    void (*error)(struct reply *reply, struct buf *out, json_t *error);
};

extern const struct reply_shape reply_chat;
extern const struct reply_shape reply_responses;
extern const struct reply_shape reply_events;

/* An event as the script's dialect writes it. `name` may be NULL; takes the value. */
void reply_add_event(const struct reply *reply, struct buf *out, const char *name,
                     json_t *value);

/* {"error": ...}, takes the error: how Chat Completions tells one within a stream. */
void reply_add_error(struct reply *reply, struct buf *out, json_t *error);

/* As reply_add_event(), with data that is text. Each of its lines is a data line. */
void reply_add_data(const struct reply *reply, struct buf *out, const char *name,
                    const char *text);

/* With repetitions. */
size_t reply_piece_total(const struct reply *reply);
json_t *reply_piece_at(const struct reply *reply, size_t position);

#endif
