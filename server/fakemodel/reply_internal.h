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
 * fakemodel/reply_internal.h -- a reply, for the files that give it its form.
 *
 * fakemodel/reply.c walks over the pieces and injects faults. fakemodel/chat.c, fakemodel/responses.c,
 * fakemodel/completion.c, fakemodel/samples.c and fakemodel/events.c are the shapes: they know what a
 * piece looks like.
 */

#define REPLY_TEXT_LIMIT ((size_t)16 << 20) /* bytes of text in a whole answer with `repeat` */

enum reply_stage {
    STAGE_BEGIN,
    STAGE_PIECES,
    STAGE_FINISH,
    STAGE_USAGE,
    STAGE_DONE,
    STAGE_OVER,
};

struct reply {
    const struct script_answer
        *answer; /* borrowed; NULL: an error, of which only `body` is sent */
    const struct reply_shape *shape;
    enum reply_part start;
    int status;
    int retry_after;
    bool stream;
    const char *content_type;

    /* An answer that is not a stream. */
    struct buf body;
    enum reply_part body_end; /* what follows the last byte; for a stream, too */
    size_t body_sent;         /* bytes of it that were taken */

    /* The pieces of an answer. */
    json_t *pieces;    /* an array; the shape knows what each is */
    size_t text_from;  /* the pieces of the text, which `repeat` repeats: from here, */
    size_t text_count; /* so many */
    size_t repeat;     /* how often they are sent; at least once */
    size_t position;   /* of the next piece, with repetitions */
    enum reply_stage stage;
    char id[ID_SIZE];
    json_int_t created;
    char *model;
    char *finish_reason; /* NULL: none */
    bool wants_usage;
    bool wants_logprobs;
    json_t *usage; /* NULL: none */

    /* Of a Responses stream: how far it is. */
    json_int_t events;  /* events so far: the next sequence number */
    json_t *output;     /* the items; the last one may be open */
    json_t *open;       /* the open item, borrowed from `output`; or NULL */
    const char *kind;   /* the kind of its open part; NULL: no part is open */
    struct buf growing; /* the text of that part, or the call's arguments */
};

/* How a dialect writes an answer. The callbacks add bytes to `out`, or none. */
struct reply_shape {
    const char *id_prefix;
    bool ends_with_done; /* the last event is [DONE] */
    /* Fills reply->pieces, text_from and text_count. */
    void (*make_pieces)(struct reply *reply, const struct prompt *prompt);
    /* An answer that is not a stream, and one with an error (taken). New references. NULL: the shape has
     * streams only. */
    json_t *(*whole)(struct reply *reply, const struct prompt *prompt);
    json_t *(*whole_error)(struct reply *reply, json_t *error);
    /* Fills reply->body and content_type with a whole answer that is not JSON. False: it is. NULL: it
     * always is. */
    bool (*whole_bytes)(struct reply *reply, const struct prompt *prompt);
    /* The stages of a stream, in this order; error (taken) replaces the rest. */
    void (*begin)(struct reply *reply, struct buf *out);
    void (*piece)(struct reply *reply, struct buf *out, json_t *piece);
    void (*finish)(struct reply *reply, struct buf *out);
    void (*usage)(struct reply *reply, struct buf *out);
    void (*error)(struct reply *reply, struct buf *out, json_t *error);
};

extern const struct reply_shape reply_chat;
extern const struct reply_shape reply_responses;
extern const struct reply_shape reply_completion;
extern const struct reply_shape reply_sample;
extern const struct reply_shape reply_events;

/* Adds an event, with the script's `dialect` of server-sent events. `name` may be NULL. Takes the value. */
void reply_add_event(const struct reply *reply, struct buf *out, const char *name,
                     json_t *value);

/* For stages of a stream that have no bytes. */
void reply_add_nothing(struct reply *reply, struct buf *out);
/* An answer that is {"error": ...}. Takes the error. */
json_t *reply_whole_error(struct reply *reply, json_t *error);

/* {"error": ...}, as Chat Completions reports an error within a stream. Takes the error. */
void reply_add_error(struct reply *reply, struct buf *out, json_t *error);

/* As reply_add_event(), with data that is text. Each line of it becomes a data line. */
void reply_add_data(const struct reply *reply, struct buf *out, const char *name,
                    const char *text);

/* The number of pieces, and the piece at a position, both with repetitions. */
size_t reply_piece_total(const struct reply *reply);
json_t *reply_piece_at(const struct reply *reply, size_t position);

#endif
