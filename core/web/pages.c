#include "core/web/pages.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/http_ask.h"
#include "core/net/http_client.h"
#include "core/web/page_cache.h"
#include "core/web/provider.h"

#define CONNECT_SECONDS 10

struct pages {
    struct http_asks *asks;
    const struct egress_rules *egress;
    struct page_cache *cache;
};

struct pages *pages_new(const struct pages_options *options)
{
    struct pages *pages = mem_new(struct pages);

    pages->asks = http_asks_new(options->any_loop, options->loop_arg);
    pages->egress = options->egress;
    pages->cache = page_cache_new();
    return pages;
}

void pages_close(struct pages *pages)
{
    http_asks_close(pages->asks);
}

void pages_free(struct pages *pages)
{
    if (!pages)
        return;
    http_asks_free(pages->asks);
    page_cache_free(pages->cache);
    free(pages);
}

/* ---- Errors ---- */

static enum err_code fail(struct err *err, enum err_code code, const char *word,
                          const char *format, ...) PRINTF_LIKE(4, 5);

static enum err_code fail(struct err *err, enum err_code code, const char *word,
                          const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    err_fill(err, code, REASON_UNSET, NULL, format, arguments);
    va_end(arguments);
    if (err)
        err->word = word;
    return code;
}

/* ---- One request ---- */

static bool has_usual_port(const char *url)
{
    AUTO_FREE char *pair = egress_pair_of(url);
    const char *port = pair ? strrchr(pair, ':') : NULL;

    return port && (strcmp(port, ":80") == 0 || strcmp(port, ":443") == 0);
}

static enum err_code check_url(const struct pages *pages, const json_t *domains,
                               const char *url, struct err *err)
{
    struct err why;

    if (strlen(url) > PAGES_URL_LIMIT)
        return fail(err, ERR_INVALID, "INVALID_URL", "The URL has more than %zu bytes.",
                    PAGES_URL_LIMIT);
    if (egress_url_check(url, &why))
        return fail(err, ERR_INVALID, "INVALID_URL", "It is no address of a page: %s.",
                    why.text);
    if (!has_usual_port(url) && !egress_is_open(pages->egress, url))
        return fail(err, ERR_INVALID, "INVALID_URL",
                    "Pages are fetched from ports 80 and 443.");
    if (!web_is_of(domains, url))
        return fail(err, ERR_INVALID, "INVALID_URL",
                    "It is on a site that the request does not allow.");
    return ERR_OK;
}

static bool is_good(int status)
{
    return status >= 200 && status <= 299;
}

static bool wants(const struct http_head *head)
{
    return is_good(head->status) && page_is_readable(head->content_type);
}

/* The network's own sentence may name addresses. */
static enum err_code explain(enum err_code rc, const struct err *why, struct err *err)
{
    if (rc == ERR_TIMEOUT)
        return fail(err, rc, "TIMEOUT", "The page did not come within %d seconds.",
                    PAGES_SECONDS);
    if (rc == ERR_CANCELLED)
        return err_set(err, rc, "%s", why->text);
    if (why->reason == REASON_ADDRESS)
        return fail(err, ERR_INVALID, "INVALID_URL",
                    "Its address is not one of the public internet.");
    if (strncmp(why->text, "the answer of ", strlen("the answer of ")) == 0)
        return fail(err, rc, "FETCH_FAILED", "The page broke off before its end.");
    if (strncmp(why->text, "the answer ", strlen("the answer ")) == 0)
        return fail(err, rc, "FETCH_FAILED", "The page is not taken: %s.", why->text);
    return fail(err, rc, "FETCH_FAILED", "The server of the page could not be reached.");
}

static enum err_code fetch_once(const struct pages *pages, const struct page_ask *ask,
                                const char *url, uint64_t until_ns,
                                struct http_answer *ret_answer, struct err *err)
{
    static const char *const headers[] = {
        "Accept: text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,"
        "application/pdf;q=0.8",
        NULL};
    uint64_t now = clock_mono_ns();
    struct http_ask_request request = {
        .url = url,
        .headers = headers,
        .answer_limit = PAGE_BYTES_MAX,
        .connect_ns = CONNECT_SECONDS * NS_PER_SECOND,
        .total_ns = until_ns > now ? until_ns - now : 1,
        .egress = pages->egress,
        .decodes = true,
        .watched = true,
        .wants = wants,
    };
    struct err why = {0};
    enum err_code rc = check_url(pages, ask->domains, url, err);

    if (rc)
        return rc;
    rc = http_ask_wait_or(http_ask_start(pages->asks, &request), ask->cancel_fd, ret_answer,
                          &why);
    return rc ? explain(rc, &why, err) : ERR_OK;
}

/* ---- Redirects ---- */

/* Where it leads to; NULL: it is no redirect. The caller frees. */
static char *next_of(const struct http_answer *answer, const char *url)
{
    AUTO_FREE char *location = NULL;

    if (answer->status < 300 || answer->status > 399 || !answer->location)
        return NULL;
    location = json_clean_utf8(answer->location, strlen(answer->location));
    return egress_url_resolve(url, location);
}

static enum err_code refuse(const struct http_answer *answer, struct err *err)
{
    if (answer->status == 429)
        return fail(err, ERR_LIMIT, "RATE_LIMIT",
                    "The server of the page is busy (status 429).");
    if (answer->status >= 300 && answer->status <= 399)
        return fail(err, ERR_UPSTREAM, "FETCH_FAILED",
                    "The page redirects to no other page (status %d).", answer->status);
    return fail(err, ERR_UPSTREAM, "FETCH_FAILED",
                "The server of the page answered with status %d.", answer->status);
}

/* *url becomes that of the last redirect. */
static enum err_code fetch(const struct pages *pages, const struct page_ask *ask, char **url,
                           struct http_answer *ret_answer, struct err *err)
{
    uint64_t until = clock_mono_ns() + PAGES_SECONDS * NS_PER_SECOND;

    for (int i = 0; i <= PAGES_REDIRECTS; i++) {
        struct http_answer answer = {0};
        enum err_code rc = fetch_once(pages, ask, *url, until, &answer, err);
        char *next;

        if (rc)
            return rc;
        if (is_good(answer.status)) {
            *ret_answer = answer;
            return ERR_OK;
        }
        next = next_of(&answer, *url);
        if (!next)
            rc = refuse(&answer, err);
        http_answer_clear(&answer);
        if (rc)
            return rc;
        free(*url);
        *url = next;
    }
    return fail(err, ERR_UPSTREAM, "FETCH_FAILED", "The page redirects more than %d times.",
                PAGES_REDIRECTS);
}

/* ---- All of it ---- */

static const char *word_of(enum err_code rc, enum err_reason reason)
{
    if (rc == ERR_INTERNAL)
        return "UNKNOWN";
    if (rc == ERR_LIMIT)
        return "RATE_LIMIT";
    if (rc == ERR_INVALID && reason == REASON_UNSUPPORTED)
        return "BINARY_CONTENT";
    return "PARSE_FAILED";
}

static enum err_code read_cached(const struct cached_page *cached, const struct page_want *want,
                                 json_t **ret_page, struct err *err)
{
    const struct page_source source = {.url = cached->url,
                                       .content_type = cached->type,
                                       .bytes = cached->bytes,
                                       .length = cached->length};
    struct err why = {0};
    enum err_code rc = web_page_read(&source, want, ret_page, &why);

    if (rc)
        return fail(err, rc, word_of(rc, why.reason), "%s", why.text);
    json_set(*ret_page, "url", json_string(cached->url));
    json_set(*ret_page, "content_type", json_string(cached->type));
    return ERR_OK;
}

static enum err_code fetch_and_read(struct pages *pages, const struct page_ask *ask,
                                    json_t **ret_page, struct err *err)
{
    AUTO_FREE char *last = mem_strdup(ask->url);
    AUTO_FREE char *type = NULL;
    struct http_answer answer = {0};
    struct cached_page fetched;
    enum err_code rc = fetch(pages, ask, &last, &answer, err);

    if (rc)
        return rc;
    type = json_clean_utf8(answer.type, strlen(answer.type));
    fetched = (struct cached_page){
        .url = last, .type = type, .bytes = answer.bytes, .length = answer.length};
    page_cache_put(pages->cache, ask->run, ask->url, &fetched);
    rc = read_cached(&fetched, &ask->want, ret_page, err);
    http_answer_clear(&answer);
    return rc;
}

enum err_code pages_read(struct pages *pages, const struct page_ask *ask, json_t **ret_page,
                         struct err *err)
{
    CLEANUP(cached_page_clear) struct cached_page cached = {0};

    if (page_cache_find(pages->cache, ask->run, ask->url, &cached) &&
        web_is_of(ask->domains, cached.url))
        return read_cached(&cached, &ask->want, ret_page, err);
    return fetch_and_read(pages, ask, ret_page, err);
}
