#ifndef RUNNEL_CORE_INGEST_RERANK_H
#define RUNNEL_CORE_INGEST_RERANK_H

#include <jansson.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/net/loop.h"

/*
 * rerank.h -- how well passages answer queries, by the operator's model behind POST {url}/rerank.
 *
 * Jina, Cohere, vLLM, llama.cpp and Text Embeddings Inference serve such models. The first four share one form; the
 * last has one of its own (RERANK_TEI). What comes back is checked as a whole: an answer that leaves out a passage is
 * none.
 *
 * A search that gets no scores from here keeps its own order (search.h). So there is no second attempt. After a failure
 * the model rests (model_rest.h).
 *
 * Any thread that may wait. Several at once.
 */

#define RERANK_TEXTS   ((size_t)100) /* passages that a search has judged */
#define RERANK_SECONDS 5.0           /* that a search waits */

struct reranker;

enum rerank_dialect {
    RERANK_COHERE, /* {"query", "documents"} ─▶ {"results": [{"index", "relevance_score"}]} */
    RERANK_TEI,    /* {"query", "texts"} ─▶ [{"index", "score"}] */
};

/* Borrowed until reranker_free(). */
struct rerank_options {
    const char *url;     /* without "/rerank" */
    const char *api_key; /* NULL for none */
    const char *model;   /* NULL: the server has only one */
    enum rerank_dialect dialect;
    /* What stands before requests to models (hooks.before_send); may be NULL. `messages` are [{"role", "content"}]. */
    enum err_code (*mask)(void *arg, json_t *messages, struct err *err);
    void *mask_arg;
    struct loop *(*any_loop)(void *arg);
    void *loop_arg;
};

struct reranker *reranker_new(const struct rerank_options *options);

/* All that wait end with ERR_CANCELLED, and all that come. */
void reranker_close(struct reranker *reranker);
void reranker_free(struct reranker *reranker); /* NULL is fine; no thread may be asking */

const struct rerank_options *reranker_options(const struct reranker *reranker);

struct rerank_request {
    /* At least one; all are asked at once, and the best score counts */
    const char *const *queries;
    size_t query_count;       /* at most SEARCH_QUERIES_LIMIT */
    const char *const *texts; /* at least one */
    size_t count;
    double seconds;
};

/* ret_scores has a place for each text: 0 to 1. ERR_UPSTREAM, ERR_TIMEOUT: no scores, and ret_scores is undefined.
 * ERR_LIMIT: it is busy. ERR_INVALID: it refuses these texts. ERR_CONFLICT: it has failed, and rests. ERR_CANCELLED:
 * closed. */
enum err_code rerank(struct reranker *reranker, const struct rerank_request *request,
                     double *ret_scores, struct err *err) MUST_CHECK;

/* Reads an answer with scores of `count` texts, in either form. Scores beyond 0 ... 1 are taken as logits: the logistic
 * function brings all of them there. *logits is true from then on, and also those of later answers are logits: a score
 * must not depend on what else was found. Several threads may share it. ERR_UPSTREAM says what is wrong: not JSON, a
 * text that is missing or there twice, a score that is no number. */
enum err_code rerank_answer_read(const char *bytes, size_t length, size_t count,
                                 atomic_bool *logits, double *ret_scores,
                                 struct err *err) MUST_CHECK;

#endif
