/*
 * web_search.c -- rounds: all queries that have no answer yet are asked at once, of one provider.
 */

#include "core/web/web_search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/net/http_ask.h"
#include "core/web/search_cache.h"

#define CONNECT_NS (3 * NS_PER_SECOND)
#define ROUNDS     2 /* that one provider gets */

struct web_searcher {
    struct web_searcher_options options;
    struct http_asks *asks;
    struct search_cache *cache;
    struct lock numbers; /* of the thread that gives numbers */
};

struct web_searcher *web_searcher_new(const struct web_searcher_options *options)
{
    struct web_searcher *searcher = mem_new(struct web_searcher);

    *searcher = (struct web_searcher){
        .options = *options,
        .asks = http_asks_new(options->any_loop, options->loop_arg),
        .cache = search_cache_new(),
    };
    lock_init(&searcher->numbers, LOCK_WEB_NUMBERS);
    return searcher;
}

void web_searcher_close(struct web_searcher *searcher)
{
    http_asks_close(searcher->asks);
}

void web_searcher_free(struct web_searcher *searcher)
{
    if (!searcher)
        return;
    http_asks_free(searcher->asks);
    search_cache_free(searcher->cache);
    lock_destroy(&searcher->numbers);
    free(searcher);
}

/* ---- One query ---- */

/* A query on its way. */
struct errand {
    struct web_question question;
    char *key;       /* of the cache */
    json_t *results; /* NULL: not answered */
    struct http_ask *ask;
};

static char *key_of(const struct web_question *question)
{
    json_auto_t *key = json_build("[s, s?, s?, I, O?]", question->query, question->freshness,
                                  question->country, (json_int_t)question->count,
                                  (json_t *)(uintptr_t)question->domains);

    return json_text(key);
}

static void start(struct web_searcher *searcher, const struct web_provider *provider,
                  struct errand *errand)
{
    struct web_request request;
    size_t length;

    web_provider_ask(provider, &errand->question, &request);
    length = request.body ? strlen(request.body) : 0;
    errand->ask =
        http_ask_start(searcher->asks, &(struct http_ask_request){
                                           .url = request.url,
                                           .headers = (const char *const *)request.headers,
                                           .length = length,
                                           .body = TAKE(request.body),
                                           .answer_limit = WEB_ANSWER_LIMIT,
                                           .connect_ns = CONNECT_NS,
                                           .total_ns = web_provider_timeout_ns(provider),
                                       });
    web_request_clear(&request);
}

static bool is_busy(int status)
{
    return status == 429 || status >= 500;
}

/* How a round has gone. */
struct outcome {
    bool busy;         /* a second round may go better */
    uint64_t pause_ns; /* that the provider wants before it */
};

static enum err_code finish(const struct web_provider *provider, struct errand *errand,
                            struct outcome *outcome, struct err *err)
{
    struct http_answer answer;
    struct err why;
    enum err_code rc = http_ask_wait(TAKE(errand->ask), &answer, &why);

    if (rc)
        return err_set(err, rc, "%s: %s", web_provider_name(provider), why.text);
    rc = web_provider_read(provider, &errand->question, answer.status, answer.bytes,
                           answer.length, &errand->results, err);
    if (rc && is_busy(answer.status)) {
        outcome->busy = true;
        if (answer.retry_after_ns > outcome->pause_ns)
            outcome->pause_ns = answer.retry_after_ns;
    }
    http_answer_clear(&answer);
    return rc;
}

/* ---- Rounds ---- */

/* The queries of a search. */
struct errands {
    struct errand list[WEB_QUERIES_LIMIT];
    size_t count;
};

static bool all_answered(const struct errands *errands)
{
    for (size_t i = 0; i < errands->count; i++) {
        if (!errands->list[i].results)
            return false;
    }
    return true;
}

static enum err_code ask_once(struct web_searcher *searcher,
                              const struct web_provider *provider, struct errands *errands,
                              struct outcome *ret_outcome, struct err *err)
{
    enum err_code rc = ERR_OK;

    *ret_outcome = (struct outcome){.pause_ns = WEB_PAUSE_NS};
    for (size_t i = 0; i < errands->count; i++) {
        if (!errands->list[i].results)
            start(searcher, provider, &errands->list[i]);
    }
    for (size_t i = 0; i < errands->count; i++) {
        struct errand *errand = &errands->list[i];

        if (errand->ask && rc == ERR_CANCELLED)
            http_ask_drop(TAKE(errand->ask));
        else if (errand->ask && finish(provider, errand, ret_outcome, err) == ERR_CANCELLED)
            rc = ERR_CANCELLED;
    }
    return rc;
}

/* ERR_CANCELLED; else the errands say what was found. */
static enum err_code ask_provider(struct web_searcher *searcher,
                                  const struct web_provider *provider,
                                  const struct web_search *search, struct errands *errands,
                                  struct err *err)
{
    struct outcome outcome = {0};

    for (unsigned round = 0; round < ROUNDS && !all_answered(errands); round++) {
        if (round && (!outcome.busy || outcome.pause_ns > WEB_PAUSE_LIMIT_NS))
            break;
        if (search->wait(search->wait_arg, outcome.pause_ns) ||
            ask_once(searcher, provider, errands, &outcome, err))
            return err_set(err, ERR_CANCELLED, "the search was cancelled");
    }
    if (!all_answered(errands))
        log_info("web search: %s", err->text);
    return ERR_OK;
}

/* ---- Results ---- */

/* Two that differ in the part behind # are one page. */
static bool is_new(json_t *seen, const char *url)
{
    AUTO_FREE char *page = mem_strndup(url, strcspn(url, "#"));

    if (json_object_get(seen, page))
        return false;
    json_set_bool(seen, page, true);
    return true;
}

/* The first of each query, then the second of each ... */
static json_t *join(const struct errands *errands, size_t limit)
{
    json_auto_t *seen = json_object();
    json_t *all = json_array();
    bool more = true;

    for (size_t place = 0; more && json_array_size(all) < limit; place++) {
        more = false;
        for (size_t i = 0; i < errands->count && json_array_size(all) < limit; i++) {
            json_t *result = json_array_get(errands->list[i].results, place);

            more = more || result;
            if (result && is_new(seen, json_get_string(result, "url", "")))
                json_array_append(all, result);
        }
    }
    return all;
}

static void keep(struct web_searcher *searcher, const char *run, const struct errands *errands)
{
    for (size_t i = 0; i < errands->count; i++) {
        if (errands->list[i].results)
            search_cache_put(searcher->cache, run, errands->list[i].key,
                             errands->list[i].results);
    }
}

/* ---- Numbers ---- */

/* The URLs of a run by their numbers, in its memory, which has questions as JSON beside them. */
#define NUMBERED ""

char *web_search_result(struct web_searcher *searcher, const char *run, size_t number)
{
    json_auto_t *urls = search_cache_find(searcher->cache, run, NUMBERED);
    const char *url = number ? json_string_value(json_array_get(urls, number - 1)) : NULL;

    return url ? mem_strdup(url) : NULL;
}

/* The number of a URL: the one that it has, else the next. */
static json_int_t number_of(json_t *urls, json_t *places, const char *url)
{
    json_int_t number = json_get_int(places, url, 0);

    if (number)
        return number;
    if (json_array_size(urls) < WEB_NUMBERS_LIMIT)
        json_array_append_new(urls, json_string(url));
    number = (json_int_t)json_object_size(places) + 1;
    json_set_int(places, url, number);
    return number;
}

/* Calls of one turn search at the same time, and each of them must find the numbers that those before it have given. */
static void give_numbers(struct web_searcher *searcher, const char *run, json_t *results)
{
    json_auto_t *urls = NULL;
    json_auto_t *places = json_object();
    size_t i;
    json_t *value;

    lock_acquire(&searcher->numbers);
    urls = search_cache_find(searcher->cache, run, NUMBERED);
    if (!urls)
        urls = json_array();
    json_array_foreach (urls, i, value)
        json_set_int(places, json_string_value(value), (json_int_t)i + 1);
    json_array_foreach (results, i, value)
        json_set_int(value, "number",
                     number_of(urls, places, json_get_string(value, "url", "")));
    search_cache_put(searcher->cache, run, NUMBERED, urls);
    lock_release(&searcher->numbers);
}

/* Some queries without an answer are no failure. */
static bool none_answered(const struct errands *errands)
{
    for (size_t i = 0; i < errands->count; i++) {
        if (errands->list[i].results)
            return false;
    }
    return true;
}

static struct errands errands_of(struct web_searcher *searcher, const struct web_search *search)
{
    struct errands errands = {.count = search->query_count};

    for (size_t i = 0; i < errands.count; i++) {
        struct errand *errand = &errands.list[i];

        errand->question = search->about;
        errand->question.query = search->queries[i];
        errand->key = key_of(&errand->question);
        errand->results = search_cache_find(searcher->cache, search->run, errand->key);
    }
    return errands;
}

static void clear(struct errands *errands)
{
    for (size_t i = 0; i < errands->count; i++) {
        free(errands->list[i].key);
        json_decref(errands->list[i].results);
    }
}

enum err_code web_search(struct web_searcher *searcher, const struct web_search *search,
                         json_t **ret_results, struct err *err)
{
    struct errands errands = errands_of(searcher, search);
    struct err why = {0};
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < searcher->options.count; i++)
        rc = ask_provider(searcher, searcher->options.providers[i], search, &errands, &why);
    if (!rc && none_answered(&errands))
        rc = why.code;
    if (rc) {
        if (err)
            *err = why;
    } else {
        keep(searcher, search->run, &errands);
        *ret_results = join(&errands, search->about.count);
        give_numbers(searcher, search->run, *ret_results);
    }
    clear(&errands);
    return rc;
}
