#ifndef RUNNEL_CORE_NET_HTTP_CLIENT_H
#define RUNNEL_CORE_NET_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/spool.h"
#include "core/net/egress.h"
#include "core/net/loop.h"

/*
 * http_client.h -- one HTTP request on a loop, its answer streamed as it comes.
 *
 * libcurl's multi interface, driven by curl_multi_socket_action on the loop's epoll. The live
 * transfers of a loop are spread over several multi handles (at most HTTP_CALLS_PER_MULTI on
 * one), because adding a transfer scans the others of its handle. Connections are kept alive
 * and used again; http_multi.h says how many and for how long. HTTP/1.1, no redirects (a redirect
 * could carry the upstream's key elsewhere), no proxies from the environment, no signals. No
 * compression, which could be a bomb: none is requested, and a compressed answer fails. A request that
 * `decodes` takes compressed answers, and its on_data must have limits.
 *
 * A request whose URL a stranger has chosen carries `egress`: then only http and https, and no
 * address but public ones and those that the rules open.
 *
 * Everything here is called on the loop's thread, and the callbacks come on it. Calls may be
 * started and cancelled inside any of them. Calls that are alive when the loop is freed end
 * without a callback.
 *
 * ERR_OK means that HTTP ended well. Only the reader of the answer's format knows whether the
 * answer is complete.
 */

#define HTTP_CALLS_PER_MULTI 500
/* Seconds. A server that asks for more gets this. libcurl 8.14 has the same limit. */
#define HTTP_RETRY_AFTER_LIMIT (6 * 3600)
/* Bytes that are read from a socket at once: memory of each open stream. Tokens come in pieces of a few hundred bytes;
 * a larger buffer was not measurably faster. */
#define HTTP_PIECE_SIZE 1024

struct http_call;

struct http_timeouts { /* nanoseconds; 0 means none */
    uint64_t connect;
    uint64_t first_byte; /* from the start to the first byte of the body */
    uint64_t idle;       /* between two pieces of the body */
    uint64_t total;
};

struct http_head {
    int status;
    const char *content_type; /* borrowed; "" when absent */
    uint64_t retry_after_ns;  /* from Retry-After, seconds or date; 0 when absent or past */
};

/* The body of a request. A call may have to be repeated with the same bytes, which may be a whole
 * conversation. So they are counted instead of copied: the last release frees them. One loop's. */
struct http_body {
    char *bytes;
    struct spool *spool; /* instead of bytes; or NULL */
    size_t length;
    unsigned holders;
    void (*freed)(void *arg); /* or NULL: see http_body_when_freed() */
    void *freed_arg;
};

struct http_body *http_body_new(char *bytes, size_t length); /* takes; held by the caller */
/* The bytes of a file, of any size. Takes. The file is read on the loop while it is sent: from the page
 * cache, if it was written just now. */
struct http_body *http_body_new_spooled(struct spool *spool);
struct http_body *http_body_hold(struct http_body *body); /* returns it */
void http_body_drop(struct http_body *body);
/* freed(arg) is called once the bytes are no longer in memory. At most once a body. */
void http_body_when_freed(struct http_body *body, void (*freed)(void *arg), void *arg);

struct http_request {
    const char *method; /* "GET", "POST" ... */
    const char *url;
    const char *const *headers; /* "Name: value", ends with NULL; copied; may be NULL. A header
                                 * with a line break in it fails the call */
    struct http_body *body;     /* the call holds it, too, until it is sent; NULL for none */
    struct http_timeouts timeouts;
    const struct egress_rules *egress; /* NULL: anywhere. Outlives the call */
    /* Sent at most once: over a new connection, because libcurl repeats a request when the idle
     * connection that it used turns out to be closed. */
    bool once;
    /* The answer may be compressed with gzip or deflate. on_data gets what it is decoded to, in pieces of up to
     * 16 KiB: compare their sum with http_call_received(). */
    bool decodes;

    /* Called once, before the first on_data and before on_done, if an answer began. May be NULL. */
    void (*on_head)(void *arg, const struct http_head *head);
    /* A piece of the body, of any size. May be NULL. */
    void (*on_data)(void *arg, const char *bytes, size_t size);
    /* Behind the last on_data of what the socket had at that moment: libcurl gives each chunk of a chunked body by
     * itself. Not if on_done follows at once. May be NULL. */
    void (*on_read)(void *arg);
    /* Called last, exactly once unless the call is cancelled: ERR_OK, ERR_TIMEOUT or ERR_UPSTREAM.
     * The call is freed when this returns. `error` is NULL for ERR_OK; its text says what happened
     * in which phase. Its reason is REASON_ADDRESS if `egress` does not allow the address. */
    void (*on_done)(void *arg, enum err_code rc, const struct err *error);
    void *arg;
};

/* A header of the answer, or NULL; inside on_head. Borrowed until the next call of libcurl. */
const char *http_call_header(const struct http_call *call, const char *name);

/* Bytes of the body that have come over the network, decoded or not; inside on_data. The newest piece may not count
 * yet: it has up to HTTP_PIECE_SIZE bytes. */
uint64_t http_call_received(const struct http_call *call);

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
