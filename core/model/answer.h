#ifndef RUNNEL_CORE_MODEL_ANSWER_H
#define RUNNEL_CORE_MODEL_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/model/chat/chat_calls.h"
#include "core/model/chat/chat_details.h"
#include "core/model/chat/chat_error.h"
#include "core/model/chat/chat_sink.h"
#include "core/model/model.h"
#include "core/model/responses/responses_items.h"
#include "core/net/sse_parser.h"

/*
 * answer.h -- the body of an upstream's answer in, pieces of the answer out.
 *
 * Reads a stream of events or, from servers that do not stream, one JSON answer. Which of the two it
 * is shows in the bytes; the content type may be wrong. The dialect, chat_answer.c or
 * responses_answer.c, reads the JSON. Nothing here knows HTTP beyond the content type, so every habit
 * of every server can be tested with bytes alone.
 *
 * An answer is complete when its dialect has seen the end of it, or when it was one whole JSON
 * value. How the connection ended proves nothing: a cut body may look like a good end.
 *
 * One thread; the callbacks of model.h are called from feed and end. A callback may call
 * answer_stop(). After that, only answer_clear() may follow, once feed or end has returned.
 */

typedef void answer_piece_fn(void *arg, const char *text, size_t length);

enum answer_format {
    ANSWER_FORMAT_OPEN, /* nothing but blanks so far */
    ANSWER_FORMAT_SSE,
    ANSWER_FORMAT_JSON,
};

struct answer {
    struct chat_sink sink;
    const struct answer_dialect *dialect;
    enum answer_format format;
    struct sse_parser parser;
    struct buf body;    /* of a JSON answer */
    struct buf scratch; /* of the scanner */
    union {
        struct chat_calls calls;
        struct responses_items items;
    } state;                      /* the dialect's */
    struct chat_details details;  /* of the reasoning, in Chat Completions */
    const char *reasoning_member; /* the last one that was emitted; constant; or NULL */
    struct model_usage usage;
    enum model_finish finish;
    uint16_t split;               /* first half of a split character: see chat_split_char.h */
    answer_piece_fn *split_in;    /* the kind of piece that it ended */
    bool finish_seen;             /* the model has ended; usage may follow */
    bool done_seen;               /* nothing follows */
    bool ending;                  /* the body has ended: what does not parse was cut */
    enum err_code rc;             /* of the event just read, to be returned by the parser */
    struct chat_failure *failure; /* the caller's, to be filled in */
};

void answer_init(struct answer *answer, enum model_dialect dialect,
                 const struct model_events *events, void *arg);
void answer_clear(struct answer *answer);

/* To be called once, before the body: refuses what cannot be an answer, such as an HTML page. */
enum err_code answer_head(struct answer *answer, const char *content_type,
                          struct chat_failure *failure) MUST_CHECK;

/* ERR_CANCELLED after answer_stop(), otherwise ERR_OK or what goes into model_events.failed. */
enum err_code answer_feed(struct answer *answer, const char *bytes, size_t size,
                          struct chat_failure *failure) MUST_CHECK;

/* The body has ended; `broken` says why if it was cut, and may be NULL. Emits what was held back and
 * ends open calls. ERR_OK: the answer is complete; see answer_finish() and answer->usage. */
enum err_code answer_end(struct answer *answer, const struct err *broken,
                         struct chat_failure *failure) MUST_CHECK;

enum model_finish answer_finish(const struct answer *answer);

/* No more callbacks. */
void answer_stop(struct answer *answer);

/* ---- For the dialects ---- */

/* Each returns ERR_OK, ERR_CANCELLED when a callback stopped the answer, or what failed. */
struct answer_dialect {
    /* The token path: true when the event was a plain piece of text, which was emitted. May be
     * NULL. */
    bool (*scan)(struct answer *answer, const char *data, size_t length, enum err_code *ret_rc);
    /* Reads an event of a stream; reads an answer that is not streamed. Both are JSON objects. */
    enum err_code (*event)(struct answer *answer, const json_t *event);
    enum err_code (*whole)(struct answer *answer, const json_t *whole);
    /* Reads the usage that an event, or an error, has with it. */
    void (*usage)(struct answer *answer, const json_t *value);
    /* Ends what is still open in a complete answer. */
    enum err_code (*end)(struct answer *answer);
    unsigned (*calls)(const struct answer *answer); /* how many there were */
    void (*clear)(struct answer *answer);
    bool ends_with_done; /* [DONE] completes the answer */
};

extern const struct answer_dialect chat_answer;
extern const struct answer_dialect responses_answer;

/* Emits a piece, unless it is empty. Half a character at its end waits for the other half, which may
 * begin the next piece of the same kind. */
enum err_code answer_pass(struct answer *answer, answer_piece_fn *piece, const char *text,
                          size_t length);
/* Something other than a piece comes next: half a character that waits becomes U+FFFD. */
enum err_code answer_settle(struct answer *answer);
/* answer_pass() for a JSON value; nothing happens when it is no string. */
enum err_code answer_pass_string(struct answer *answer, answer_piece_fn *piece,
                                 const json_t *value);
enum err_code answer_pass_annotation(struct answer *answer, const json_t *annotation);
/* Both are for reasoning that goes back. Nothing happens for the member that was emitted last, and for a
 * detail that is NULL. The member is constant. */
enum err_code answer_pass_reasoning_member(struct answer *answer, const char *member);
enum err_code answer_pass_reasoning_detail(struct answer *answer, const json_t *detail);
/* `tokens` as the server wrote them; nothing happens without any. */
enum err_code answer_pass_logprobs(struct answer *answer, const json_t *tokens);
/* Reads an upstream's usage. `input` and `output` are the names of its two counts, and the beginnings
 * of the names of their details. Nothing happens when `usage` is no object. */
void answer_read_usage(struct answer *answer, const json_t *usage, const char *input,
                       const char *output);
/* Counts so many more bytes of the answer; fails beyond MODEL_TURN_LIMIT. */
enum err_code answer_count(struct answer *answer, size_t size);

#endif
