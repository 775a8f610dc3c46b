#ifndef RUNNEL_CORE_MODEL_MODEL_H
#define RUNNEL_CORE_MODEL_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/net/http_client.h"
#include "core/net/loop.h"

/*
 * model.h -- one turn of a model: a request out, its answer in pieces.
 *
 * The request is one of Chat Completions, or of the Responses API for upstreams that are
 * configured so. The latter get `store: false`: state, tools and events of a response belong to this
 * server, and the upstream is only a source of text and calls.
 *
 * Any server that claims to speak Chat Completions should work, so this is where their habits end:
 *
 *   calls      deltas without index or id; ids repeated in every delta; whole arguments in one chunk;
 *              arguments as an object; an empty object before the arguments; the older function_call;
 *              extra_content that must come back with a call (Gemini's thought signatures)
 *   reasoning  in `reasoning`, `reasoning_content` or `reasoning_details`, some of which must come back.
 *              Reasoning that a server leaves within the text (<think>) is text.
 *   text       `refusal`; characters cut in two
 *   stream     CRLF and multi-line events; no [DONE]; unusual values of finish_reason; errors inside the
 *              stream; no usage, or usage in a chunk of its own; JSON instead of a stream
 *
 * Everything happens on the loop's thread. Which upstream serves a model is decided by the
 * table of upstreams, fixed at start.
 *
 * An answer is complete when it had a finish_reason or [DONE], or response.completed or its like, or
 * was one whole JSON value; how the connection ended proves nothing. A body that does not end soon after
 * that is cut.
 *
 * Retries: the request is sent again after a failed or cut connection, 408, 409, 5xx, and 429 unless a quota
 * is used up; also when such an error comes inside the stream. It is sent again at most MODEL_RETRY_LIMIT
 * times, with back-off and jitter, or as Retry-After says. The total deadline holds for all attempts
 * together. After the first piece or a deadline there are no retries. A request that is refused for a
 * member that was added here (stream_options, or reasoning.encrypted_content in `include`) is sent once
 * without it.
 */

#define MODEL_RETRY_LIMIT       2
#define MODEL_RETRY_AFTER_LIMIT (60 * NS_PER_SECOND) /* longer than this no retry waits */
#define MODEL_TURN_LIMIT        ((size_t)16 << 20)   /* bytes of one answer */
#define MODEL_CALL_LIMIT        128                  /* tool calls of one answer */
#define MODEL_HOSTED_LIMIT \
    ((size_t)64 << 20) /* bytes of calls that the upstream has executed itself */
#define MODEL_EXTRA_LIMIT \
    ((size_t)256 << 10) /* bytes of JSON attached to one call; what is longer is dropped */

struct tokenizer;

enum model_dialect {
    MODEL_DIALECT_CHAT,      /* POST /chat/completions */
    MODEL_DIALECT_RESPONSES, /* POST /responses */
};

/* With which of its answers an upstream gets its reasoning back. */
enum model_reasoning {
    MODEL_REASONING_AUTO, /* where makers of models demand or advise it: context.h */
    MODEL_REASONING_ALWAYS,
    MODEL_REASONING_NEVER,
};

struct model_upstream {
    const char *name;
    enum model_dialect dialect;
    enum model_reasoning reasoning;
    const char *url;           /* ends in /v1, no slash after it */
    const char *api_key;       /* NULL for none */
    const char *const *models; /* patterns: "*", "gpt-*", exact names; ends with NULL */
    struct http_timeouts timeouts;
    bool reads_files;            /* `inputs` in its configuration has `file` */
    bool text_only;              /* `inputs` is there and has no `image` */
    int64_t context_tokens;      /* what its models can read and write together; 0: not known */
    const char *tokenizer_file;  /* see tokenizer.h; NULL: tokens are estimated */
    const char *tokenizer_split; /* NULL: as the file's name says */
    struct tokenizer *tokenizer; /* NULL until model_upstreams_load() */
    /* Types of tools that it executes itself, as its operator says: "web_search"; ends with NULL. NULL: none. Only in
     * the dialect of responses */
    const char *const *passes;
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

struct model_usage { /* tokens; all 0 and known=false when the upstream sent none */
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

/* Why a turn failed. err.code is one of
 *
 *   ERR_UPSTREAM  the upstream failed, or answered 401 or 403. The text then quotes nothing, because
 *                 these are about the operator's key.
 *   ERR_TIMEOUT   a deadline passed
 *   ERR_LIMIT     429 or 402; err.word is "rate_limit_exceeded" or "insufficient_quota"
 *   ERR_INVALID   the upstream refused the request with another 4xx. The text is its message;
 *                 err.word is a code such as "context_length_exceeded", if it sent one;
 *                 err.reason is REASON_NO_MODEL if it lacks the model.
 *
 * err.text is valid UTF-8. */
struct model_failure {
    struct err err;
    uint64_t retry_after_ns;  /* as the upstream said; 0: it did not say */
    struct model_usage usage; /* as in done() */
};

/* A complete message or reasoning, from upstreams that have items. */
struct model_item {
    enum model_item_kind kind;
    const char *id;                /* the upstream's, or NULL */
    const char *encrypted_content; /* of reasoning, to be sent back with it; or NULL */
};

/* A call that the upstream executes itself (struct model_upstream, passes), as the JSON that it has written: of any
 * shape, but UTF-8. All are borrowed. An upstream may send no stage, and more stages than it should; begin and end come
 * once for each call. */
struct model_hosted_events {
    void (*begin)(void *arg, const char *type); /* of the item: "web_search_call" */
    /* `stage` stands behind the item's type in the name of the event: "searching" */
    void (*stage)(void *arg, const char *stage, const json_t *event);
    /* The complete item. One that the upstream has not completed has no members, or a status that says so */
    void (*end)(void *arg, const json_t *item);
};

/* Pieces of the answer, in order. Text is valid UTF-8, not NUL-terminated, and lives during the
 * call. Each callback may cancel the turn. None is NULL, but for `hosted`. */
struct model_events {
    void (*text)(void *arg, const char *text, size_t length);
    void (*reasoning)(void *arg, const char *text, size_t length);
    /* For reasoning that goes back to the upstream, in Chat Completions. The first: the reasoning that comes
     * next is in this member of the message ("reasoning_content", "reasoning"). The second: a whole
     * entry of `reasoning_details`, which may have the text of the reasoning again, or be opaque. Entries
     * come in their order, and any time before the turn ends. Borrowed. */
    void (*reasoning_member)(void *arg, const char *member);
    void (*reasoning_detail)(void *arg, const json_t *detail);
    void (*refusal)(void *arg, const char *text, size_t length);
    void (*summary)(void *arg, const char *text, size_t length); /* of the reasoning */

    /* An annotation of the text so far, in the form of the Responses API; borrowed. */
    void (*annotation)(void *arg, const json_t *annotation);

    /* Log probabilities of the text that comes next, as in logprobs.h; borrowed. Only when the request
     * wants them, and not with every text. */
    void (*logprobs)(void *arg, json_t *tokens);

    /* What follows begins a new content part, even if it is of the same kind. */
    void (*part_end)(void *arg);
    /* The text so far is one whole item, and a new one follows. Reasoning that is encrypted has no
     * other event than this. From upstreams without items, text of one kind is one item. */
    void (*item_end)(void *arg, const struct model_item *item);

    /* A tool call begins. `call` counts from 0 and calls begin in that order; the id is the
     * model's or, when it sent none or one it had used before in this answer, made here ("call_...").
     * Borrowed. Then its arguments in pieces, and its end: a later item or the end of the turn. A
     * call that the token limit has cut does not end. Calls of custom tools have one argument,
     * `input`. */
    void (*call_begin)(void *arg, unsigned call, const char *id, const char *name);
    void (*call_arguments)(void *arg, unsigned call, const char *text, size_t length);
    /* An opaque JSON object that the upstream has attached to the call and wants back with it. At most
     * once, right before the call's end; borrowed. */
    void (*call_extra)(void *arg, unsigned call, const json_t *extra);
    void (*call_end)(void *arg, unsigned call);

    const struct model_hosted_events *hosted; /* NULL: such calls are left out */

    /* All that has been read is reported, and more may come. A fast upstream sends many pieces in one read: what a
     * piece leads to can wait for this, and is then done once. Not behind done() and failed(). */
    void (*read_end)(void *arg);

    /* One of the two is called last, exactly once, unless the turn is cancelled. The turn is freed when
     * it returns; cancelling it inside is allowed and does nothing. A turn with tool calls ends with
     * MODEL_FINISH_TOOL_CALLS even if the server called that "stop", unless it was cut short. Usage is
     * of all attempts together: an upstream may bill one that failed. */
    void (*done)(void *arg, enum model_finish finish, const struct model_usage *usage);
    void (*failed)(void *arg, const struct model_failure *failure);
};

struct model_turn;

/* Sends `request` and reports to `events`, which must live as long as the turn. The request is a whole
 * body in the upstream's dialect, without stream fields; borrowed, and rendered to text before this
 * returns. Its own `include`, if any, is sent instead of the usual one. `past`: elements of one of its arrays that
 * were rendered before; NULL: none. No callback comes before this has returned. */
struct model_turn *model_turn_start(struct loop *loop, const struct model_upstream *upstream,
                                    const json_t *request, const struct json_splice *past,
                                    const struct model_events *events, void *arg);
void model_turn_cancel(struct model_turn *turn);

/* Right behind the start, and once: sent(arg) is called on the loop when the text of the request is in memory no
 * longer, because its answer has begun or the turn has ended. */
void model_turn_when_sent(struct model_turn *turn, void (*sent)(void *arg), void *arg);

#endif
