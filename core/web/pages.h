#ifndef RUNNEL_CORE_WEB_PAGES_H
#define RUNNEL_CORE_WEB_PAGES_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/document/page/page.h"
#include "core/net/egress.h"
#include "core/net/loop.h"

/*
 * pages.h -- fetches a page of the Web and reads it (core/document/page).
 *
 * A model has chosen the URL, and strangers the redirects. So each of them obeys egress.h, only with the ports 80 and
 * 443 unless the operator has opened the place. No cookie, key or password is ever sent.
 *
 * The request runs on a loop (http_ask.h), the reading in a compute child. Any thread that may wait.
 */

#define PAGES_URL_LIMIT ((size_t)4096) /* bytes */
#define PAGES_REDIRECTS 5
#define PAGES_SECONDS \
    20 /* of all requests for a page; the reading comes on top: PAGE_WALL_MS */

struct pages;

struct pages_options {
    struct loop *(*any_loop)(void *arg);
    void *loop_arg;
    const struct egress_rules *egress; /* outlives the pages and the loops */
};

struct pages *pages_new(const struct pages_options *options);
/* Ends all that wait, at once, and all that will. The loops must still run. */
void pages_close(struct pages *pages);
/* No thread may be in pages_read(). NULL is fine. */
void pages_free(struct pages *pages);

struct page_ask {
    const char *run; /* whose pages are remembered: page_cache.h; "": none are */
    const char *url;
    struct page_want want;
    const json_t
        *domains;  /* it must be of these (web_is_of()), and each redirect; NULL: of any */
    int cancel_fd; /* can be read once the call is cancelled; -1: never */
};

/* *ret_page, a new reference, is that of web_page_read(), with `content_type` and with `url`, to which the last
 * redirect led.
 *
 * A page that the run has fetched before is not fetched again. Ends with ERR_CANCELLED as soon as `cancel_fd` can be
 * read.
 *
 * Every other error has a `word`, for models that know the codes: "INVALID_URL", "FETCH_FAILED", "TIMEOUT",
 * "RATE_LIMIT" (the page's server is busy), "BINARY_CONTENT", "PARSE_FAILED" (also for a bad selector),
 * "UNKNOWN" when this server failed. The text says nothing of networks that only this server sees. */
enum err_code pages_read(struct pages *pages, const struct page_ask *ask, json_t **ret_page,
                         struct err *err) MUST_CHECK;

#endif
