#ifndef RUNNEL_CORE_NET_HTTP_MULTI_H
#define RUNNEL_CORE_NET_HTTP_MULTI_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/net/loop.h"

/*
 * http_multi.h -- libcurl's multi handles on one loop; http_client.c's lower half.
 *
 * A multi handle works on its transfers when one of its sockets is ready or its timer is due. Both
 * are the loop's. After libcurl has worked, `settle` is called outside of libcurl, and adds and
 * removes transfers, which libcurl forbids in its callbacks.
 *
 * A connection whose transfer has ended well stays open for the next one: it is idle. libcurl
 * checks idle connections only when a transfer begins, so the loop watches them. A sweep closes
 * those that the server has closed, within HTTP_SWEEP_DELAY_MS of the first one, and those that
 * have been idle for longer than HTTP_IDLE_AGE.
 */

#define HTTP_SPARE_LIMIT 256 /* easy handles kept for the next transfers */

/* Seconds for which a connection may be idle. Common servers and load balancers give up after 60
 * or more; HTTP_IDLE_AGE is below that, so that the server is seldom the first to close. */
#define HTTP_IDLE_AGE 50
/* Idle connections of a loop. Beyond that many, a sweep closes all of its multi handle that have been
 * idle for more than HTTP_CROWDED_AGE seconds. */
#define HTTP_IDLE_LIMIT  1000
#define HTTP_CROWDED_AGE 1
/* Milliseconds from the first reason for a sweep to the sweep. libcurl checks its idle connections
 * at most once a second. */
#define HTTP_SWEEP_DELAY_MS 1100

/* Sets an option of an easy handle, or returns from the function with libcurl's refusal. */
#define TRY_SETOPT(easy, option, value)                              \
    do {                                                             \
        CURLcode refusal_ = curl_easy_setopt(easy, option, (value)); \
                                                                     \
        if (refusal_)                                                \
            return refusal_;                                         \
    } while (0)

struct http_call;
struct http_multis;
struct http_socket;

struct http_multi {
    CURLM *curl;
    struct http_multis *owner;
    struct loop_timer timer;
    struct loop_timer push;
    struct loop_timer sweep;        /* runs while connections are idle */
    struct http_socket *idle_first; /* idle for the longest time */
    struct http_socket *idle_last;
    uint64_t idle_event_ns; /* the last event of an idle connection */
    size_t closing;         /* connections that libcurl shuts down by itself */
    size_t live;            /* transfers */
};

/* What both halves know of a call. It is CURLOPT_PRIVATE of its easy handle. */
struct http_transfer {
    struct http_multis *multis;
    struct http_multi *multi; /* NULL while libcurl does not have it */
    CURL *easy;
    unsigned sockets; /* that are watched for it */
    int latest;       /* its connection that was watched last; -1 for none */
    bool lost;        /* a socket opened for it was given up; http_client.c clears it */
    bool guarded;     /* only to addresses of the public internet: core/net/egress.h */
    bool refused;     /* an address was not public */
    int local_port;   /* of its connection, set by http_client.c; 0: not connected */
    bool ended_well;  /* libcurl has finished it without an error; set by http_client.c */
};

struct http_multis {
    struct loop *loop;
    struct http_multi **all;
    size_t count;
    CURLSH *share; /* names and TLS sessions; the connections stay with their multi */
    CURL *spare[HTTP_SPARE_LIMIT];
    size_t spare_count;
    struct http_socket **sockets; /* libcurl's, by descriptor */
    size_t socket_capacity;
    size_t idle_count;
    size_t idle_limit; /* HTTP_IDLE_LIMIT, and seconds: HTTP_IDLE_AGE; tests set others */
    long idle_age;
    bool inside; /* libcurl is working and may call back */

    void (*settle)(struct http_multi *multi);
    /* Inside libcurl: a socket of this transfer was given up. */
    void (*socket_lost)(struct http_transfer *transfer);

    struct http_call *calls;    /* http_client.c's: all that are alive */
    struct http_call *deferred; /* http_client.c's: work for `settle` */
};

/* The caller fills in settle and socket_lost. */
struct http_multis *http_multis_new(struct loop *loop);
void http_multis_free(struct http_multis *multis); /* when no transfer is left */

/* Gives the transfer an easy handle, with the options that this half needs and no others. Returns
 * libcurl's error for the first option that it refused, or CURLE_OK. */
CURLcode http_easy_take(struct http_transfer *transfer) MUST_CHECK;
/* Adds the transfer to the first multi handle with room, where idle connections are found most
 * often; removes it, if it was added. Not inside libcurl. */
void http_multi_add(struct http_transfer *transfer);
void http_multi_remove(struct http_transfer *transfer);

/* Lets libcurl work on all transfers once, after the present events: see http_multi.c. */
void http_multi_push(struct http_multi *multi);

/* Takes the easy handle back, if there is one; the transfer must have been removed. Only the handle
 * of a transfer that ended well is used again: see http_multi.c. */
void http_easy_put(struct http_transfer *transfer);

#endif
