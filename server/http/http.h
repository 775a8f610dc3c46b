#ifndef RUNNEL_SERVER_HTTP_HTTP_H
#define RUNNEL_SERVER_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "server/config/config.h"
#include "server/http/routes.h"

/*
 * http.h -- requests in, answers out, and never more than the limits allow.
 *
 * A pool of libmicrohttpd workers reads requests, checks them (hygiene.h), finds their endpoint
 * (router.h) and their project, and sends the answers. An endpoint may block on the store. What
 * takes longer suspends its connection (suspended.h) and costs no thread.
 *
 * The library counts inactivity instead of time, leaves clients hanging at its connection
 * limit, does not notice that the client of a suspended connection has gone, and aborts when it
 * is stopped with one. The remedy for each stands beside the code that needs it.
 */

struct http;
struct server;

struct tenant;

/* Makes the tenant of an Authorization header; NULL: the header was missing. */
typedef enum err_code authenticate_fn(struct server *server, const char *authorization,
                                      struct tenant *ret_tenant, struct err *err);

struct http_options {
    const struct config *config;
    struct server *server; /* for endpoints; http never looks inside */
    const struct route *routes;
    size_t route_count;
    const struct absent_route *absent;
    size_t absent_count;
    authenticate_fn *authenticate;
    int listen_fd;      /* taken, also on failure */
    bool direct_stream; /* whether sse_self_test() has passed */
};

enum err_code http_start(const struct http_options *options, struct http **ret_http,
                         struct err *err) MUST_CHECK;

/* The first step of stopping: answers now close their connections, and requests that begin work
 * are refused with 503. Health checks and reading still work. */
void http_drain(struct http *http);

/* Waits until no connection is suspended or upgraded any more, at most until the monotonic
 * time. */
bool http_wait_idle(struct http *http, uint64_t deadline_ns);

/* Cuts open connections, ends the workers, closes the socket. The loops must still be running. */
void http_stop(struct http *http);
void http_free(struct http *http); /* after http_stop() */

enum http_class { /* of an answer's status */
                  HTTP_2XX,
                  HTTP_3XX,
                  HTTP_4XX,
                  HTTP_5XX,
                  HTTP_CLASS_COUNT
};

struct http_stats {
    size_t connections;
    size_t suspended; /* streams, and requests that wait */
    size_t websockets;
    uint64_t refused; /* unclean heads, and connections beyond the limit */
    uint64_t late;    /* connections that missed a deadline */
    uint64_t cut;     /* streams whose client read too slowly */
    uint64_t waiting; /* bytes that are kept for slow clients */
    size_t body_bytes;
};
void http_stats(struct http *http, struct http_stats *ret_stats);

/* Counts bytes that a client has sent outside of a request's body and that are kept. They are
 * part of body_bytes in the stats, which the setting max_bodies limits. Any thread. */
void http_count_body(struct http *http, size_t bytes);
void http_uncount_body(struct http *http, size_t bytes);

/* Answers of one route since the start. The number behind the last route is requests without a
 * route. */
uint64_t http_answers(struct http *http, size_t route, enum http_class class);

#endif
