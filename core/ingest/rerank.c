/*
 * rerank.c -- a request for each query, all on their way at once.
 *
 * The passages are the same in each, so they are masked once.
 */

#include "core/ingest/rerank.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/ingest/model_rest.h"
#include "core/ingest/search.h"
#include "core/net/http_ask.h"

#define ANSWER_LIMIT ((size_t)8 << 20) /* servers may repeat the passages */
#define CONNECT_NS   (2 * NS_PER_SECOND)

struct reranker {
    struct rerank_options options;
    struct http_asks *asks;
    char *url;
    char *authorization; /* a header, or NULL */
    struct model_rest rest;
    atomic_bool logits; /* its scores are: one was beyond 0 ... 1 */
};

struct reranker *reranker_new(const struct rerank_options *options)
{
    struct reranker *reranker = mem_new(struct reranker);

    *reranker = (struct reranker){
        .options = *options,
        .asks = http_asks_new(options->any_loop, options->loop_arg),
        .url = mem_printf("%s/rerank", options->url),
    };
    if (options->api_key)
        reranker->authorization = mem_printf("Authorization: Bearer %s", options->api_key);
    return reranker;
}

void reranker_close(struct reranker *reranker)
{
    http_asks_close(reranker->asks);
}

void reranker_free(struct reranker *reranker)
{
    if (!reranker)
        return;
    http_asks_free(reranker->asks);
    free(reranker->url);
    free(reranker->authorization);
    free(reranker);
}

const struct rerank_options *reranker_options(const struct reranker *reranker)
{
    return &reranker->options;
}

/* ---- The answer ---- */

static enum err_code refuse(struct err *err, const char *what)
{
    return err_set(err, ERR_UPSTREAM, "the re-ranker's answer %s", what);
}

static enum err_code take_score(const json_t *result, size_t count, bool *seen, double *scores,
                                struct err *err)
{
    const json_t *score = json_object_get(result, "relevance_score");
    json_int_t index = json_get_int(result, "index", -1);

    if (!score)
        score = json_object_get(result, "score");
    if (index < 0 || (size_t)index >= count || seen[index])
        return refuse(err, "has a place that no passage has, or one twice");
    if (!json_is_number(score) || !isfinite(json_number_value(score)))
        return refuse(err, "has a score that is no number");
    seen[index] = true;
    scores[index] = json_number_value(score);
    return ERR_OK;
}

static void bring_between_0_and_1(double *scores, size_t count, atomic_bool *logits)
{
    for (size_t i = 0; i < count; i++)
        if (scores[i] < 0 || scores[i] > 1)
            atomic_store(logits, true);
    for (size_t i = 0; atomic_load(logits) && i < count; i++)
        scores[i] = 1 / (1 + exp(-scores[i]));
}

enum err_code rerank_answer_read(const char *bytes, size_t length, size_t count,
                                 atomic_bool *logits, double *ret_scores, struct err *err)
{
    AUTO_FREE bool *seen = mem_zeroed(count + 1, sizeof(*seen));
    json_auto_t *answer = NULL;
    const json_t *results;
    size_t i;
    json_t *result;

    if (json_parse(bytes, length, &answer, NULL))
        return refuse(err, "is not JSON");
    results = json_is_array(answer) ? answer : json_object_get(answer, "results");
    if (!json_is_array(results))
        return refuse(err, "has no list of results");
    if (json_array_size(results) != count)
        return refuse(err, "does not have each passage once");
    json_array_foreach (results, i, result) {
        enum err_code rc = take_score(result, count, seen, ret_scores, err);

        if (rc)
            return rc;
    }
    bring_between_0_and_1(ret_scores, count, logits);
    return ERR_OK;
}

/* ---- The request ---- */

/* Queries, then texts, as messages that were masked. */
static enum err_code mask(const struct reranker *reranker, const struct rerank_request *request,
                          json_t **ret_messages, struct err *err)
{
    const struct rerank_options *options = &reranker->options;
    json_t *messages = json_array();
    enum err_code rc;

    for (size_t i = 0; i < request->query_count + request->count; i++)
        json_array_append_new(messages,
                              json_build("{s:s, s:s}", "role", "user", "content",
                                         i < request->query_count
                                             ? request->queries[i]
                                             : request->texts[i - request->query_count]));
    rc = options->mask ? options->mask(options->mask_arg, messages, err) : ERR_OK;
    if (rc)
        json_decref(messages);
    else
        *ret_messages = messages;
    return rc;
}

static json_t *texts_of(const json_t *messages, size_t first)
{
    json_t *texts = json_array();

    for (size_t i = first; i < json_array_size(messages); i++)
        json_array_append(texts, json_object_get(json_array_get(messages, i), "content"));
    return texts;
}

static struct http_ask *ask(const struct reranker *reranker, json_t *query, json_t *texts,
                            double seconds)
{
    const struct rerank_options *options = &reranker->options;
    const char *headers[] = {"Content-Type: application/json", reranker->authorization, NULL};
    bool is_tei = options->dialect == RERANK_TEI;
    json_auto_t *body =
        json_build("{s:O, s:O}", "query", query, is_tei ? "texts" : "documents", texts);
    char *text;

    if (options->model)
        json_set_string(body, "model", options->model);
    if (is_tei)
        json_set_bool(body, "truncate", true);
    text = json_text(body);
    return http_ask_start(reranker->asks, &(struct http_ask_request){
                                              .url = reranker->url,
                                              .headers = headers,
                                              .body = text,
                                              .length = strlen(text),
                                              .answer_limit = ANSWER_LIMIT,
                                              .connect_ns = CONNECT_NS,
                                              .total_ns = clock_ns_from_seconds(seconds),
                                          });
}

/* What is wrong with texts is their own fault, and not a reason to leave the model alone. */
static enum err_code code_of(int status)
{
    if (status == 400 || status == 413 || status == 422)
        return ERR_INVALID;
    return status == 429 ? ERR_LIMIT : ERR_UPSTREAM;
}

static enum err_code wait(struct reranker *reranker, struct http_ask *ask, size_t count,
                          double *ret_scores, uint64_t *ret_pause_ns, struct err *err)
{
    struct http_answer answer;
    enum err_code rc = http_ask_wait(ask, &answer, err);

    if (rc)
        return rc;
    if (answer.status < 200 || answer.status > 299)
        rc = err_set(err, code_of(answer.status), "the re-ranker answered with status %d",
                     answer.status);
    else
        rc = rerank_answer_read(answer.bytes, answer.length, count, &reranker->logits,
                                ret_scores, err);
    *ret_pause_ns = answer.retry_after_ns;
    http_answer_clear(&answer);
    return rc;
}

enum err_code rerank(struct reranker *reranker, const struct rerank_request *request,
                     double *ret_scores, struct err *err)
{
    AUTO_FREE double *scores = mem_new_array(double, request->count);
    struct http_ask *asks[SEARCH_QUERIES_LIMIT];
    json_auto_t *messages = NULL;
    json_auto_t *texts = NULL;
    uint64_t pause_ns = 0;
    enum err_code rc = mask(reranker, request, &messages, err);

    if (rc)
        return rc;
    if (!model_rest_may_ask(&reranker->rest, clock_mono_ns()))
        return err_set(err, ERR_CONFLICT, "the re-ranker has failed, and rests");
    texts = texts_of(messages, request->query_count);
    for (size_t i = 0; i < request->query_count; i++)
        asks[i] = ask(reranker, json_object_get(json_array_get(messages, i), "content"), texts,
                      request->seconds);
    for (size_t i = 0; i < request->query_count; i++) {
        if (rc)
            http_ask_drop(asks[i]);
        else
            rc = wait(reranker, asks[i], request->count, scores, &pause_ns, err);
        for (size_t n = 0; !rc && n < request->count; n++)
            ret_scores[n] = i && ret_scores[n] > scores[n] ? ret_scores[n] : scores[n];
    }
    model_rest_note(&reranker->rest, rc, pause_ns, clock_mono_ns());
    return rc;
}
