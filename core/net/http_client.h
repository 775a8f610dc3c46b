#ifndef RUNNEL_CORE_NET_HTTP_CLIENT_H
#define RUNNEL_CORE_NET_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/net/egress.h"
#include "core/net/loop.h"

/*
 * http_client.h -- one HTTP request on a loop, its answer streamed as it comes.
 *
 * libcurl's multi interface, driven by curl_multi_socket_action on the loop's epoll. The live
 * transfers of a loop are spread over several multi handles (at most HTTP_CALLS_PER_MULTI on
 * one), because adding a transfer scans the others of its handle. Connections are kept alive
 * and used again; http_multi.h says how many and for how long. HTTP/1.1, no redirects (a redirect could carry our key elsewhere), no
 * proxies from the environment, no signals. No compression (a bomb otherwise): we ask for none, and
 * an answer that is compressed all the same fails.
 *
 * A request whose URL a stranger has chosen carries `egress`: then only http and https, and no
 * address but the public ones and what the rules open.
 *
 * Everything here is called on the loop's thread, and the callbacks come on it. Calls may be
 * started and cancelled inside any of them. Calls that are alive when the loop is freed end
 * without a callback.
 *
 * A transfer that ends well only says that HTTP ended well; whether the answer is complete
 * is for the reader of its format to say.
 */

#define HTTP_CALLS_PER_MULTI 500
/* Seconds; a server may ask for more, but does not get it. As much as libcurl 8.14 says itself. */
#define HTTP_RETRY_AFTER_LIMIT (6 * 3600)

struct http_call;

struct http_timeouts { /* nanoseconds; 0 means none */
    uint64_t connect;
    uint64_t first_byte; /* from the start to the first byte of the body */
    uint64_t idle;       /* between two pieces of the body */
    uint64_t total;
};

struct http_head {
    int status;
    const char *content_type; /* borrowed; "" when there is none */
    uint64_t retry_after_ns;  /* from Retry-After, seconds or date; 0 when absent or past */
};

/* What is sent. A call may have to be made again with the same bytes, which may be a whole
 * conversation: so they are there once, until the last of those that hold them lets go. Of one
 * loop. */
struct http_body {
    char *bytes;
    size_t length;
    unsigned holders;
};

struct http_body *http_body_new(char *bytes, size_t length); /* takes; held by the caller */
struct http_body *http_body_hold(struct http_body *body);    /* returns it */
void http_body_drop(struct http_body *body);

struct http_request {
    const char *method; /* "GET", "POST" ... */
    const char *url;
    const char *const *headers; /* "Name: value", ends with NULL; copied; may be NULL. A header
                                 * with a line break in it fails the call */
    struct http_body *body; /* the call holds it, too, until the server has it; NULL for none */
    struct http_timeouts timeouts;
    const struct egress_rules *egress; /* NULL: anywhere. Outlives the call */
    /* Sent at most once: over a connection of its own, because libcurl sends again what it sent
     * over a used one that turns out to be dead. */
    bool once;

    /* Once, before the first on_data and before on_done, if an answer began. May be NULL. */
    void (*on_head)(void *arg, const struct http_head *head);
    /* A piece of the body, of any size. May be NULL. */
    void (*on_data)(void *arg, const char *bytes, size_t size);
    /* Last, exactly once unless cancelled: ERR_OK, ERR_TIMEOUT or ERR_UPSTREAM. The call is gone
     * when this returns. `error` is NULL for ERR_OK; its text says what happened in which phase. */
    void (*on_done)(void *arg, enum err_code rc, const struct err *error);
    void *arg;
};

/* A header of the answer, or NULL; inside on_head. Borrowed until the next call of libcurl. */
const char *http_call_header(const struct http_call *call, const char *name);

/* Copies the request. The call is alive until on_done or http_call_cancel().
 * No callback comes before this has returned. */
struct http_call *http_call_start(struct loop *loop, const struct http_request *request);

/* Ends the call at once; its connection is closed. No callback follows. Also allowed inside
 * on_head and on_data, of any call. Inside its own on_done it does nothing. */
void http_call_cancel(struct http_call *call);

/* Once per process, before the first loop and after the last. */
void http_client_global_init(void);
void http_client_global_free(void);

#endif
