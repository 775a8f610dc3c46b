/*
 * embeddings.c -- batches on their way.
 *
 *   texts ─▶ batch: masked, prefixed, cut into pieces ─▶ http_ask ─▶ checked ─▶ means of pieces ─▶ take()
 *
 * EMBEDDINGS_AT_ONCE batches are under way, and the oldest is waited for, so vectors are taken in the order of the
 * texts.
 *
 * A refusal (400) does not say which text of a batch is too long, in words that all servers share. So a refused batch
 * is asked again in halves, and a refused text in shorter pieces.
 *
 * A server that is too slow for batches is asked for smaller ones by the next request, and for one at a time, because
 * its clock runs for those that wait behind another, too. What it can do is remembered, and quick answers make batches
 * larger again. The request itself ends: a server that is silent would hold its caller while it is asked for ever less.
 */

#include "core/ingest/embeddings.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/ingest/embeddings_answer.h"
#include "core/net/http_ask.h"
#include "core/retrieval/vectors.h"
#include "core/retrieval/words.h"

#define ANSWER_LIMIT ((size_t)32 << 20)
#define CONNECT_NS   (10 * NS_PER_SECOND)
#define PIECE_TOKENS ((size_t)64) /* a refused text is not cut into shorter ones */

#define QUICK 32 /* an answer in this part of its seconds lets batches grow */

/* How the upstream sends vectors: found out by its first answer. */
enum form { FORM_UNKNOWN, FORM_PACKED, FORM_NUMBERS };

struct embeddings {
    struct embeddings_options options;
    struct http_asks *asks;
    char *url;
    char *authorization; /* a header, or NULL */
    atomic_int form;
    /* Texts that it embeds in time; EMBEDDINGS_BATCH: several batches, too */
    atomic_size_t fits;
    atomic_ullong requests, errors, tokens;
};

struct embeddings *embeddings_new(const struct embeddings_options *options)
{
    struct embeddings *embeddings = mem_new(struct embeddings);

    *embeddings = (struct embeddings){
        .options = *options,
        .asks = http_asks_new(options->any_loop, options->loop_arg),
        .url = mem_printf("%s/embeddings", options->url),
    };
    atomic_store(&embeddings->fits, EMBEDDINGS_BATCH);
    if (options->api_key)
        embeddings->authorization = mem_printf("Authorization: Bearer %s", options->api_key);
    return embeddings;
}

void embeddings_close(struct embeddings *embeddings)
{
    http_asks_close(embeddings->asks);
}

void embeddings_free(struct embeddings *embeddings)
{
    if (!embeddings)
        return;
    http_asks_free(embeddings->asks);
    free(embeddings->url);
    free(embeddings->authorization);
    free(embeddings);
}

const struct embeddings_options *embeddings_options(const struct embeddings *embeddings)
{
    return &embeddings->options;
}

void embeddings_stats(const struct embeddings *embeddings, struct embeddings_stats *ret_stats)
{
    *ret_stats = (struct embeddings_stats){.requests = atomic_load(&embeddings->requests),
                                           .errors = atomic_load(&embeddings->errors),
                                           .tokens = atomic_load(&embeddings->tokens)};
}

/* ---- A batch: what is sent ---- */

struct batch {
    size_t first, count;             /* of the request's texts */
    size_t pieces[EMBEDDINGS_BATCH]; /* of each text */
    size_t piece_count;              /* of all */
    size_t piece_tokens;             /* none has more */
    enum form form;                  /* as it was asked */
    uint64_t sent_ns;
    struct http_ask *ask;
};

struct making {
    struct embeddings *embeddings;
    const struct embeddings_request *request;
    uint64_t pause_ns;
    uint64_t last_ns; /* no batch is begun later */
};

static size_t tokens_of(const char *text)
{
    return words_tokens(NULL, text, strlen(text));
}

static size_t pieces_of(const char *text, size_t piece_tokens)
{
    size_t tokens = tokens_of(text);

    return tokens > piece_tokens ? (tokens + piece_tokens - 1) / piece_tokens : 1;
}

/* Pieces of about the same length. Each has some dozens of characters at least. */
static void add_pieces(json_t *input, const char *prefix, const char *text, size_t count)
{
    size_t length = strlen(text);

    for (; count; count--) {
        size_t fits = count > 1 ? utf8_fit(text, length / count) : length;
        AUTO_FREE char *piece = mem_printf("%s%.*s", prefix, (int)fits, text);

        json_array_append_new(input, json_string(piece));
        text += fits;
        length -= fits;
    }
}

/* What the operator keeps from models is taken out before anything else is decided. */
static enum err_code mask(const struct embeddings *embeddings, const char *text,
                          json_t **ret_messages, struct err *err)
{
    const struct embeddings_options *options = &embeddings->options;
    json_t *messages = json_build("[{s:s, s:s}]", "role", "user", "content", text);
    enum err_code rc = options->mask ? options->mask(options->mask_arg, messages, err) : ERR_OK;

    if (rc)
        json_decref(messages);
    else
        *ret_messages = messages;
    return rc;
}

static enum form form_of(const struct embeddings *embeddings)
{
    return (enum form)atomic_load(&embeddings->form);
}

/* A search waits for one answer, and has no time for another. */
static size_t fits_of(const struct making *making)
{
    return making->request->kind == EMBEDDINGS_DOCUMENT ? atomic_load(&making->embeddings->fits)
                                                        : EMBEDDINGS_BATCH;
}

/* Fills the batch with texts from `first` on, at most `limit`, as pieces in *ret_input. */
static enum err_code fill(const struct making *making, size_t limit, struct batch *batch,
                          json_t **ret_input, struct err *err)
{
    const struct embeddings_request *request = making->request;
    const struct embeddings_options *options = &making->embeddings->options;
    const char *prefix =
        request->kind == EMBEDDINGS_QUERY ? options->query_prefix : options->document_prefix;
    json_t *input = json_array();
    size_t most = batch->form == FORM_PACKED ? EMBEDDINGS_BATCH : EMBEDDINGS_BATCH_FLOATS;
    size_t tokens = 0;

    most = most < fits_of(making) ? most : fits_of(making);
    limit = limit < most ? limit : most;
    while (batch->count < limit) {
        json_auto_t *messages = NULL;
        const char *text;
        size_t more;
        enum err_code rc = mask(making->embeddings, request->texts[batch->first + batch->count],
                                &messages, err);

        if (rc) {
            json_decref(input);
            return rc;
        }
        text = json_get_string(json_array_get(messages, 0), "content", "");
        more = tokens_of(text);
        batch->pieces[batch->count] = pieces_of(text, batch->piece_tokens);
        if (batch->count && (batch->piece_count + batch->pieces[batch->count] > most ||
                             tokens + more > EMBEDDINGS_BATCH_TOKENS))
            break;
        add_pieces(input, prefix, text, batch->pieces[batch->count]);
        batch->piece_count += batch->pieces[batch->count++];
        tokens += more;
    }
    *ret_input = input;
    return ERR_OK;
}

static void send_batch(const struct making *making, struct batch *batch, json_t *input)
{
    struct embeddings *embeddings = making->embeddings;
    const struct embeddings_options *options = &embeddings->options;
    const char *headers[] = {"Content-Type: application/json", embeddings->authorization, NULL};
    json_auto_t *body = NULL;
    char *text;

    body = json_build("{s:s, s:O, s:s}", "model", options->model, "input", input,
                      "encoding_format", batch->form == FORM_NUMBERS ? "float" : "base64");
    if (options->dimensions)
        json_set_int(body, "dimensions", options->dimensions);
    text = json_text(body);
    batch->sent_ns = clock_mono_ns();
    batch->ask = http_ask_start(
        embeddings->asks, &(struct http_ask_request){
                              .url = embeddings->url,
                              .headers = headers,
                              .body = text,
                              .length = strlen(text),
                              .answer_limit = ANSWER_LIMIT,
                              .connect_ns = CONNECT_NS,
                              .total_ns = clock_ns_from_seconds(making->request->seconds)});
    atomic_fetch_add(&embeddings->requests, 1);
}

static bool is_late(const struct making *making)
{
    return clock_mono_ns() >= making->last_ns;
}

static enum err_code begin(const struct making *making, size_t first, size_t limit,
                           size_t piece_tokens, enum form form, struct batch *ret_batch,
                           struct err *err)
{
    struct batch batch = {.first = first, .piece_tokens = piece_tokens, .form = form};
    json_t *input;
    enum err_code rc;

    if (is_late(making))
        return err_set(err, ERR_TIMEOUT,
                       "the embeddings model has not made all vectors in %.15g seconds",
                       making->request->all_seconds);
    rc = fill(making, limit, &batch, &input, err);
    if (rc)
        return rc;
    send_batch(making, &batch, input);
    json_decref(input);
    *ret_batch = batch;
    return ERR_OK;
}

/* ---- A batch: what comes back ---- */

/* The vectors of pieces become those of their texts, in place. */
static void join_pieces(const struct batch *batch, const struct embedded *embedded)
{
    uint32_t dimensions = embedded->dimensions;
    const float *piece = embedded->vectors;

    for (size_t i = 0; i < batch->count; i++) {
        float *vector = embedded->vectors + i * dimensions;

        memmove(vector, piece, dimensions * sizeof(*vector));
        piece += dimensions;
        for (size_t n = 1; n < batch->pieces[i]; n++, piece += dimensions) {
            for (uint32_t at = 0; at < dimensions; at++)
                vector[at] += piece[at];
        }
        if (batch->pieces[i] > 1)
            vectors_normalize(vector, dimensions);
    }
}

static enum err_code take(struct making *making, const struct batch *batch,
                          const struct http_answer *answer, struct err *err)
{
    const struct embeddings_request *request = making->request;
    struct embeddings *embeddings = making->embeddings;
    struct embedded embedded;
    enum err_code rc = embeddings_answer_read(answer->bytes, answer->length, batch->piece_count,
                                              request->dimensions, &embedded, err);

    if (rc)
        return rc;
    atomic_store(&embeddings->form, embedded.packed ? FORM_PACKED : FORM_NUMBERS);
    atomic_fetch_add(&embeddings->tokens, embedded.tokens);
    join_pieces(batch, &embedded);
    rc = request->take(request->arg, batch->first, batch->count, embedded.vectors,
                       embedded.dimensions, err);
    free(embedded.vectors);
    return rc;
}

/* llama.cpp says so of a text with more tokens than its --ubatch-size, with the status of a failure. */
static bool is_of_text(int status, const char *complaint)
{
    return status == 400 || status == 413 || status == 422 ||
           (status == 500 && strstr(complaint, "too large to process"));
}

/* Any answer but one with vectors. The upstream's own words about its key are not for logs. */
static enum err_code refuse(struct making *making, const struct http_answer *answer,
                            struct err *err)
{
    AUTO_FREE char *complaint = embeddings_answer_complaint(answer->bytes, answer->length);
    bool quoted = *complaint && answer->status != 401 && answer->status != 403;
    enum err_code rc = is_of_text(answer->status, complaint)            ? ERR_INVALID
                       : answer->status == 429 || answer->status == 402 ? ERR_LIMIT
                                                                        : ERR_UPSTREAM;

    making->pause_ns = answer->retry_after_ns;
    return err_set(err, rc, "the embeddings model answered with status %d%s%s", answer->status,
                   quoted ? ": " : "", quoted ? complaint : "");
}

/* Batches of documents from now on. */
static void shrink(const struct making *making, const struct batch *batch)
{
    size_t half = batch->count > 1 ? batch->count / 2 : 1;

    if (making->request->kind == EMBEDDINGS_DOCUMENT && half < fits_of(making))
        atomic_store(&making->embeddings->fits, half);
}

/* A batch of a quarter says enough: twice the size, and several of them, still are in time. */
static void grow(struct making *making, const struct batch *batch)
{
    size_t fits = fits_of(making);
    uint64_t quick_ns = clock_ns_from_seconds(making->request->seconds) / QUICK;

    if (fits < EMBEDDINGS_BATCH && batch->count * 4 >= fits &&
        clock_mono_ns() - batch->sent_ns < quick_ns)
        atomic_store(&making->embeddings->fits,
                     fits * 2 < EMBEDDINGS_BATCH ? fits * 2 : EMBEDDINGS_BATCH);
}

/* Waits for the batch, whose ask is gone then. */
static enum err_code finish(struct making *making, struct batch *batch, struct err *err)
{
    struct http_answer answer = {0};
    enum err_code rc = http_ask_wait(TAKE(batch->ask), &answer, err);

    if (rc == ERR_TIMEOUT)
        shrink(making, batch);
    if (!rc && answer.status == 200)
        grow(making, batch);
    if (!rc && FAULT("embeddings.answer"))
        rc = err_set(err, ERR_UPSTREAM, "a fault in an answer with vectors");
    if (!rc)
        rc = answer.status == 200 ? take(making, batch, &answer, err)
                                  : refuse(making, &answer, err);
    http_answer_clear(&answer);
    if (rc && rc != ERR_CANCELLED)
        atomic_fetch_add(&making->embeddings->errors, 1);
    return rc;
}

/* ---- All of them ---- */

static enum err_code make_range(struct making *making, size_t first, size_t count,
                                size_t piece_tokens, struct err *err);

/* A batch that the model refuses, in another way: as numbers, in halves, in shorter pieces. */
static enum err_code make_refused(struct making *making, const struct batch *batch,
                                  struct err *err)
{
    size_t half = batch->count / 2, tokens;
    enum err_code rc;

    if (batch->form == FORM_UNKNOWN) {
        struct batch again;

        rc = begin(making, batch->first, batch->count, batch->piece_tokens, FORM_NUMBERS,
                   &again, err);
        if (!rc)
            rc = finish(making, &again, err);
        if (rc != ERR_INVALID)
            return rc;
    }
    if (half) {
        rc = make_range(making, batch->first, half, batch->piece_tokens, err);
        return rc ? rc
                  : make_range(making, batch->first + half, batch->count - half,
                               batch->piece_tokens, err);
    }
    tokens = tokens_of(making->request->texts[batch->first]);
    tokens = (tokens < batch->piece_tokens ? tokens : batch->piece_tokens) / 2;
    if (tokens < PIECE_TOKENS)
        return err->code;
    return make_range(making, batch->first, 1, tokens, err);
}

static enum err_code settle(struct making *making, struct batch *batch, struct err *err)
{
    enum err_code rc = finish(making, batch, err);

    return rc == ERR_INVALID ? make_refused(making, batch, err) : rc;
}

/* One after the other. */
static enum err_code make_range(struct making *making, size_t first, size_t count,
                                size_t piece_tokens, struct err *err)
{
    enum err_code rc = ERR_OK;

    for (size_t end = first + count; !rc && first < end;) {
        struct batch batch;

        rc = begin(making, first, end - first, piece_tokens, form_of(making->embeddings),
                   &batch, err);
        if (!rc)
            rc = settle(making, &batch, err);
        first += rc ? 0 : batch.count;
    }
    return rc;
}

/* Batches that are under way: from `done` to `begun`. */
struct flight {
    struct batch batches[EMBEDDINGS_AT_ONCE];
    size_t begun, done;
};

static struct batch *batch_of(struct flight *flight, size_t n)
{
    return &flight->batches[n % EMBEDDINGS_AT_ONCE];
}

static void drop(struct flight *flight)
{
    for (; flight->done < flight->begun; flight->done++)
        http_ask_drop(batch_of(flight, flight->done)->ask);
}

enum err_code embeddings_make(struct embeddings *embeddings,
                              const struct embeddings_request *request, uint64_t *ret_pause_ns,
                              struct err *err)
{
    struct making making = {.embeddings = embeddings,
                            .request = request,
                            .last_ns =
                                clock_mono_ns() + clock_ns_from_seconds(request->all_seconds)};
    struct flight flight = {0};
    size_t next = 0;
    struct err why = {0};
    enum err_code rc = ERR_OK;

    while (!rc && (next < request->count || flight.done < flight.begun)) {
        size_t at_once = fits_of(&making) < EMBEDDINGS_BATCH ? 1 : EMBEDDINGS_AT_ONCE;
        size_t under_way = flight.begun - flight.done;

        /* What is under way may still be in time. */
        if (next < request->count && under_way < at_once && !(under_way && is_late(&making))) {
            struct batch *batch = batch_of(&flight, flight.begun);

            rc = begin(&making, next, request->count - next,
                       embeddings->options.max_input_tokens, form_of(embeddings), batch, &why);
            next += rc ? 0 : batch->count;
            flight.begun += !rc;
        } else {
            rc = settle(&making, batch_of(&flight, flight.done++), &why);
        }
    }
    drop(&flight);
    *ret_pause_ns = making.pause_ns;
    if (rc && err)
        *err = why;
    return rc;
}
