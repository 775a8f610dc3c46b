#ifndef RUNNEL_CORE_INGEST_EMBEDDINGS_H
#define RUNNEL_CORE_INGEST_EMBEDDINGS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/net/loop.h"

/*
 * embeddings.h -- texts as vectors, by the operator's model behind POST /v1/embeddings.
 *
 * Texts go out in batches of at most EMBEDDINGS_BATCH texts and EMBEDDINGS_BATCH_TOKENS tokens, several at once, over
 * the loops. A text that is too long for the model is cut, and its vector is the mean of its pieces' vectors: as the
 * settings say beforehand, and again when the model refuses it. Vectors are asked for in base64, and as numbers from a
 * server that does not know that.
 *
 * A batch that is not answered in time ends its request. The next requests for documents have smaller batches, one at a
 * time, until answers are quick. There is no second attempt here: a document is tried again from its row, and a search
 * does without (search.h).
 *
 * Any thread that may wait. Several at once.
 */

#define EMBEDDINGS_BATCH        ((size_t)64)
#define EMBEDDINGS_BATCH_FLOATS ((size_t)16) /* of a server that sends numbers as text */
#define EMBEDDINGS_BATCH_TOKENS ((size_t)50000)
#define EMBEDDINGS_AT_ONCE      ((size_t)4) /* batches of one caller */
#define EMBEDDINGS_TOKENS_MIN   128         /* of the setting max_input_tokens */

struct embeddings;

/* Borrowed until embeddings_free(). */
struct embeddings_options {
    const char *url;     /* of the upstream; ends in /v1 */
    const char *api_key; /* NULL for none */
    const char *model;
    uint32_t dimensions;         /* asked of the model; 0: as many as it has */
    const char *query_prefix;    /* written before each query, or "" */
    const char *document_prefix; /* before each chunk */
    size_t max_input_tokens;     /* at least EMBEDDINGS_TOKENS_MIN */
    /* What stands before requests to models (hooks.before_send); may be NULL. `messages` are [{"role", "content"}]. */
    enum err_code (*mask)(void *arg, json_t *messages, struct err *err);
    void *mask_arg;
    struct loop *(*any_loop)(void *arg);
    void *loop_arg;
};

struct embeddings *embeddings_new(const struct embeddings_options *options);

/* All that wait end with ERR_CANCELLED, and all that come. Twice is fine. */
void embeddings_close(struct embeddings *embeddings);
void embeddings_free(struct embeddings *embeddings); /* NULL is fine; no thread may be asking */

const struct embeddings_options *embeddings_options(const struct embeddings *embeddings);

/* How it is asked. */
enum embeddings_kind { EMBEDDINGS_DOCUMENT, EMBEDDINGS_QUERY };
struct embeddings_request {
    enum embeddings_kind kind;
    const char *const *texts;
    size_t count;
    uint32_t dimensions; /* that the vectors must have; 0: any */
    double seconds;      /* for each batch */
    double
        all_seconds; /* no batch is begun later, so a caller waits for at most the sum of both */
    /* Gets vectors as they come, for the texts from `first` on, in their order. An error of it ends the request. */
    enum err_code (*take)(void *arg, size_t first, size_t count, const float *vectors,
                          uint32_t dimensions, struct err *err);
    void *arg;
};

/* ERR_LIMIT: the upstream is busy; *ret_pause_ns is how long it wants to be left alone, 0 if it did not say.
 * ERR_UPSTREAM, ERR_TIMEOUT: it failed, or was too slow for all texts. ERR_INVALID: it refuses one of the texts.
 * ERR_CANCELLED: closed. What was taken before stays taken. */
enum err_code embeddings_make(struct embeddings *embeddings,
                              const struct embeddings_request *request, uint64_t *ret_pause_ns,
                              struct err *err) MUST_CHECK;

/* Since the start, for metrics. */
struct embeddings_stats {
    uint64_t requests;
    uint64_t errors;
    uint64_t tokens; /* as the upstream counts */
};
void embeddings_stats(const struct embeddings *embeddings, struct embeddings_stats *ret_stats);

#endif
