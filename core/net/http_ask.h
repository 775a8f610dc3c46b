#ifndef RUNNEL_CORE_NET_HTTP_ASK_H
#define RUNNEL_CORE_NET_HTTP_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/net/egress.h"
#include "core/net/loop.h"

/*
 * http_ask.h -- HTTP requests of threads that may wait for the answer: workers, never a loop.
 *
 * The request itself runs on a loop, as every outgoing one (http_client.h). A thread may start several and then wait
 * for one after the other.
 *
 *     ask = http_ask_start(asks, &request);
 *     rc = http_ask_wait(ask, &answer, err);       // the ask is gone now
 *     ...
 *     http_answer_clear(&answer);
 *
 * Every started ask is waited for, or dropped. Any thread but a loop's.
 */

struct http_ask;
struct http_asks; /* those of one purpose, which end together */

struct http_head;

/* A compressed answer fails if more than this becomes of one of its bytes. */
#define HTTP_ASK_RATIO 100

struct http_ask_request {
    const char *url;
    const char *const *headers; /* as in http_client.h; copied */
    char *body;                 /* taken; NULL: a GET without one */
    size_t length;
    size_t answer_limit;               /* bytes; a longer answer fails */
    uint64_t connect_ns;               /* 0: no limit */
    uint64_t total_ns;                 /* never 0, because a worker waits */
    const struct egress_rules *egress; /* as in http_client.h; outlives the ask */
    bool decodes;                      /* the same; answer_limit is of decoded bytes */
    bool watched;                      /* http_ask_wait_or() may be called */
    bool in_pieces;                    /* http_ask_read() is called to the end of the answer */
    /* On the loop, with the head (http_client.h): is the body wanted? If not, the ask ends well without it. Pure. NULL:
     * always. */
    bool (*wants)(const struct http_head *head);
};

struct http_answer {
    int status;
    uint64_t retry_after_ns; /* 0: the server did not say */
    char *type;              /* of its content; "" when absent; never NULL */
    char *location;          /* where a redirect leads to, as written; or NULL */
    char *bytes;             /* ends with a NUL that does not count; never NULL */
    size_t length;
};

/* `any_loop` says on which loop a request is to run. It is called by the threads that ask. */
struct http_asks *http_asks_new(struct loop *(*any_loop)(void *arg), void *arg);

/* Ends all that wait, at once, and all that will. The loops must still run. Any thread. */
void http_asks_close(struct http_asks *asks);

/* No thread may be asking. NULL is fine. */
void http_asks_free(struct http_asks *asks);

struct http_ask *http_ask_start(struct http_asks *asks, const struct http_ask_request *request);

/* ERR_OK: HTTP ended well, with any status. ERR_TIMEOUT, ERR_UPSTREAM: as in http_client.h; the answer was too long,
 * too. ERR_CANCELLED: the asks were closed. *ret_answer is untouched after an error. */
enum err_code http_ask_wait(struct http_ask *ask, struct http_answer *ret_answer,
                            struct err *err) MUST_CHECK;

/* The same, and ERR_CANCELLED as soon as `cancel_fd` can be read (-1: never). */
enum err_code http_ask_wait_or(struct http_ask *ask, int cancel_fd,
                               struct http_answer *ret_answer, struct err *err) MUST_CHECK;

/* Waits for a piece of an answer `in_pieces`, and adds all that has come to *into. *ret_ended: that was the last one;
 * then http_ask_wait() says how it ended, and its answer has no bytes. ERR_CANCELLED as soon as `cancel_fd` can be read
 * (-1: never), and if the asks were closed; ERR_INTERNAL if the process has no descriptors left. After an error the ask
 * is to be dropped. */
enum err_code http_ask_read(struct http_ask *ask, int cancel_fd, struct buf *into,
                            bool *ret_ended, struct err *err) MUST_CHECK;

/* The answer is no longer wanted: its connection is closed. NULL is fine. */
void http_ask_drop(struct http_ask *ask);

void http_answer_clear(struct http_answer *answer);

#endif
