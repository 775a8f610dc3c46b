#ifndef RUNNEL_CORE_WEB_WEB_SEARCH_H
#define RUNNEL_CORE_WEB_WEB_SEARCH_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/net/loop.h"
#include "core/web/provider.h"

/*
 * web_search.h -- searches in the web, by the providers that the operator has named.
 *
 * The first provider is asked, with all queries at once. What it cannot answer is asked of the next. A provider that is
 * busy (429) or has failed (5xx) gets a second chance, if it does not want to be left alone for longer than
 * WEB_PAUSE_LIMIT_NS. What a run has asked before is answered from memory (search_cache.h).
 *
 * Any thread that may wait. Several at once.
 */

#define WEB_QUERIES_LIMIT ((size_t)4)
#define WEB_PAUSE_NS \
    (300 * NS_PER_MS) /* before a second chance, if the provider does not say */
#define WEB_PAUSE_LIMIT_NS (5 * NS_PER_SECOND)
#define WEB_NUMBERS_LIMIT  ((size_t)2000)    /* URLs of a run that can be named by a number */
#define WEB_ANSWER_LIMIT   ((size_t)2 << 20) /* bytes; a longer answer is a failure */

struct web_searcher;

/* Borrowed until web_searcher_free(). */
struct web_searcher_options {
    struct web_provider *const
        *providers; /* in the order in which they are asked; at least one */
    size_t count;
    struct loop *(*any_loop)(void *arg);
    void *loop_arg;
};

struct web_searcher *web_searcher_new(const struct web_searcher_options *options);

/* All that wait end with ERR_CANCELLED, and all that come. */
void web_searcher_close(struct web_searcher *searcher);
void web_searcher_free(
    struct web_searcher *searcher); /* NULL is fine; no thread may be searching */

struct web_search {
    const char *run; /* whose memory it is; "": it has none */
    const char *const *queries;
    size_t query_count;        /* 1 to WEB_QUERIES_LIMIT */
    struct web_question about; /* all but its query; `count` is of all results together */
    /* Waits for so long; ERR_CANCELLED: the answer is no longer wanted. Asked before each round, with 0. */
    enum err_code (*wait)(void *arg, uint64_t ns);
    void *wait_arg;
};

/* *ret_results, a new reference, is a list as web_provider_read() has it. The best of each query come first, and no
 * page comes twice. Each has a `number`, from 1 on, which its URL keeps in the run: whatever search has found it, and
 * however many are made at once. ERR_UPSTREAM, ERR_TIMEOUT: no provider has answered any query; the text is what the
 * last one said. ERR_CANCELLED. */
enum err_code web_search(struct web_searcher *searcher, const struct web_search *search,
                         json_t **ret_results, struct err *err) MUST_CHECK;

/* The URL of a result by its number. The caller frees. NULL: it is not known. */
char *web_search_result(struct web_searcher *searcher, const char *run, size_t number);

#endif
