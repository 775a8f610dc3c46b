#ifndef RUNNEL_CORE_MODEL_MODEL_H
#define RUNNEL_CORE_MODEL_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/net/http_client.h"
#include "core/net/loop.h"

/*
 * model.h -- one turn of a model: a request out, its answer in pieces.
 *
 * The request is one of Chat Completions, or of the Responses API for upstreams that are
 * configured so. There we ask for `store: false` and read the answer as if it came from anywhere:
 * state, tools and events are ours.
 *
 * Any server that says it speaks Chat Completions should work, so this is where their habits
 * end: usage absent or in a chunk of its own, tool-call deltas without index or without id,
 * ids repeated in every delta, whole arguments in one chunk, arguments as an object instead of
 * a string, an empty object before the arguments, the `function_call` of old, `extra_content` that
 * must come back with a call (Gemini's thought signatures), `reasoning`,
 * `reasoning_content` or `reasoning_details`, `refusal`, characters cut in two, a finish_reason in
 * words of its own, CRLF and multi-line SSE, a missing [DONE], errors inside the stream, and JSON
 * answers to a request that asked for a stream. Reasoning that a server leaves within the text
 * (<think>) is text.
 *
 * Everything happens on the loop's thread. Which upstream serves a model is decided by the
 * table of upstreams, fixed at start.
 *
 * Complete is an answer that had a finish_reason or [DONE], or response.completed or its like, or
 * was one whole JSON value; how the connection ended proves nothing. A body that goes on without saying anything after that is
 * given a moment, then cut.
 *
 * Retries: a failed or cut connection, 408, 409, 429 (unless a quota is used up), 5xx and an
 * error of that kind inside the stream are tried again, at most MODEL_RETRY_LIMIT times, with
 * back-off and jitter or as Retry-After says, as long as nothing was announced and the total
 * deadline, which holds for all attempts together, allows it. After the first piece, never, and
 * never after a deadline. A request refused because of what we added to it (stream_options, or
 * reasoning.encrypted_content in `include`) is sent once without.
 */

#define MODEL_RETRY_LIMIT 2
#define MODEL_RETRY_AFTER_LIMIT \
    (60 * NS_PER_SECOND)                    /* a longer wait than this is not waited for */
#define MODEL_TURN_LIMIT ((size_t)16 << 20) /* bytes of one answer */
#define MODEL_CALL_LIMIT 128                /* tool calls of one answer */
#define MODEL_EXTRA_LIMIT \
    ((size_t)256 << 10) /* bytes of JSON attached to one call; what is longer is dropped */

struct tokenizer;

enum model_dialect {
    MODEL_DIALECT_CHAT,      /* POST /chat/completions */
    MODEL_DIALECT_RESPONSES, /* POST /responses */
};

struct model_upstream {
    const char *name;
    enum model_dialect dialect;
    const char *url;           /* ends in /v1, no slash after it */
    const char *api_key;       /* NULL for none */
    const char *const *models; /* patterns: "*", "gpt-*", exact names; ends with NULL */
    struct http_timeouts timeouts;
    int64_t context_tokens;      /* what its models can read and write together; 0: not known */
    const char *tokenizer_file;  /* see tokenizer.h; NULL: tokens are estimated */
    const char *tokenizer_split; /* NULL: as the file's name says */
    struct tokenizer *tokenizer; /* NULL until model_upstreams_load() */
};

/* Loads the tokenizers, one for each file. ERR_INVALID names the upstream; nothing is left loaded. */
enum err_code model_upstreams_load(struct model_upstream *list, size_t count,
                                   struct err *err) MUST_CHECK;
void model_upstreams_unload(struct model_upstream *list, size_t count);

/* The first upstream of the list that serves `model`, or NULL. */
const struct model_upstream *model_upstream_find(const struct model_upstream *list,
                                                 size_t count, const char *model);

/* Why the model stopped. */
enum model_finish {
    MODEL_FINISH_STOP,
    MODEL_FINISH_LENGTH, /* token limit */
    MODEL_FINISH_TOOL_CALLS,
    MODEL_FINISH_CONTENT_FILTER,
};

struct model_usage { /* tokens; all 0 and known=false when the upstream did not say */
    bool known;
    int64_t input;
    int64_t cached;
    int64_t output;
    int64_t reasoning;
};

enum model_item_kind {
    MODEL_ITEM_MESSAGE,
    MODEL_ITEM_REASONING,
};

/* A message or a reasoning that is complete, of upstreams that have such. */
struct model_item {
    enum model_item_kind kind;
    const char *id;                /* the upstream's; NULL when it has none */
    const char *encrypted_content; /* of reasoning, to be sent back with it; or NULL */
};

/* Pieces of the answer, in order. Text is valid UTF-8, not NUL-terminated, and lives during the
 * call. Each callback may cancel the turn. None is NULL. */
struct model_events {
    void (*text)(void *arg, const char *text, size_t length);
    void (*reasoning)(void *arg, const char *text, size_t length);
    void (*refusal)(void *arg, const char *text, size_t length);
    void (*summary)(void *arg, const char *text, size_t length); /* of the reasoning */

    /* Of the text so far, in the words of the Responses API; borrowed. */
    void (*annotation)(void *arg, const json_t *annotation);

    /* Of the tokens of the text that comes next, as in logprobs.h; borrowed. Only from servers that
     * were asked for them, and not with every text. */
    void (*logprobs)(void *arg, json_t *tokens);

    /* What follows begins a new content part, even if it is of the same kind. */
    void (*part_end)(void *arg);
    /* What was said is one whole item, and what follows another. Reasoning of which nothing may be
     * told has no other event than this. Some upstreams do not have items; what they say is one
     * item as long as it is of one kind. */
    void (*item_end)(void *arg, const struct model_item *item);

    /* A tool call begins. `call` counts from 0 and calls begin in that order; the id is the
     * model's or, when it sent none or one it had used before in this answer, made here ("call_...").
     * Borrowed. Then its arguments in pieces, and its end: a later item or the end of the turn. A
     * call that the token limit has cut does not end. Calls of custom tools have one argument,
     * `input`. */
    void (*call_begin)(void *arg, unsigned call, const char *id, const char *name);
    void (*call_arguments)(void *arg, unsigned call, const char *text, size_t length);
    /* What the upstream has attached to the call, to have it back with the call: a JSON object that
     * is nobody else's business. At most once, right before the call's end; borrowed. */
    void (*call_extra)(void *arg, unsigned call, const json_t *extra);
    void (*call_end)(void *arg, unsigned call);

    /* Last, exactly one of the two, unless cancelled. The turn is gone when it returns; cancelling
     * it inside is allowed and does nothing. A turn with tool calls ends with
     * MODEL_FINISH_TOOL_CALLS even if the server called that "stop", unless it was cut short. */
    void (*done)(void *arg, enum model_finish finish, const struct model_usage *usage);
    /* error->code is ERR_UPSTREAM, ERR_TIMEOUT, ERR_LIMIT (429 or 402; error->word is
     * "rate_limit_exceeded" or "insufficient_quota") or ERR_INVALID (the upstream refused the
     * request with another 4xx: error->text is its message, error->word
     * e.g. "context_length_exceeded" when it said so, error->reason REASON_NO_MODEL when it lacks the model). 401 and 403 are ERR_UPSTREAM
     * and quote nothing: they are about the operator's key. error->text is valid UTF-8. */
    void (*failed)(void *arg, const struct err *error);
};

struct model_turn;

/* Sends `request` (a whole body in the upstream's dialect, without stream fields; what it has in `include`
 * takes the place of what would be asked for; borrowed,
 * rendered to text before this returns) and reports to `events`, which must live as long as the turn. No
 * callback comes before this has returned. */
struct model_turn *model_turn_start(struct loop *loop, const struct model_upstream *upstream,
                                    const json_t *request, const struct model_events *events,
                                    void *arg);
void model_turn_cancel(struct model_turn *turn);

#endif
