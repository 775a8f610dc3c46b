#ifndef RUNNEL_SERVER_HTTP_STREAM_SUSPENDED_H
#define RUNNEL_SERVER_HTTP_STREAM_SUSPENDED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event/sink.h"
#include "core/net/loop.h"

/*
 * suspended.h -- a connection on loan from libmicrohttpd to a loop.
 *
 * From suspended_begin() until suspended_give_back() the library keeps its hands off the
 * connection, so its socket is the loop's: it cannot be closed meanwhile, may be written to, and
 * is watched for the client's leaving, which the library would not notice. Before and after
 * that time nobody here touches the socket. All state belongs to the loop; other threads only
 * post tasks.
 *
 * A connection may go to and fro several times; the state says who has it.
 *
 * A sink on it has two holders, the engine (until close()) and the library (until it has
 * forgotten the request), and tasks under way. When the last lets go, `destroy` is called, on
 * the loop.
 */

struct http;
struct suspended;
struct MHD_Connection;

struct suspended_ops {
    void (*attached)(struct suspended *suspended); /* the connection is ours from now on */
    void (*writable)(struct suspended *suspended); /* see suspended_watch() */
    void (*lost)(struct suspended *suspended); /* it never will be again; given back already */
    void (*destroy)(struct suspended *suspended);
};

enum suspended_state {
    SUSPENDED_BEFORE, /* the library still sends headers, or has not even begun */
    SUSPENDED_HERE,
    SUSPENDED_AFTER,
};

struct suspended {
    struct sink sink;
    const struct suspended_ops *ops;
    struct http *http;
    struct loop *loop;
    struct MHD_Connection *connection;
    int fd;
    enum suspended_state state;
    unsigned holders;
    bool lost;   /* its client is gone, or given up */
    bool told;   /* and everybody has been told */
    bool closed; /* the engine has let go */
    bool cut_ran, cut_holds;
    struct loop_watch watch;
    struct loop_task attach, forget, tell_gone, cut;

    struct suspended *prev, *next; /* of http->live; guarded by http's lock, as is: */
    bool cut_posted;
};

/* Makes a sink, held by the engine and the library. */
void suspended_init(struct suspended *suspended, const struct suspended_ops *ops,
                    const struct sink_ops *sink_ops, struct http *http,
                    struct MHD_Connection *connection, struct loop *loop);

/* On the library's thread, inside one of its callbacks: suspends and tells the loop. False when
 * the server stops; nothing was done then. */
bool suspended_begin(struct suspended *suspended);

/* ---- On the loop ---- */

/* Watches for writability too, or no longer. */
enum suspended_interest {
    SUSPENDED_LEAVING,
    SUSPENDED_LEAVING_OR_WRITABLE,
};
void suspended_watch(struct suspended *suspended, enum suspended_interest interest);

/* The library may go on with the connection. */
void suspended_give_back(struct suspended *suspended);

/* The client has gone or is given up: gives the connection back, after ops->lost has seen to it
 * that the library ends it, and tells whoever holds the sink, a little later. */
void suspended_lose(struct suspended *suspended);

/* From the sink's close(): the engine lets go. */
void suspended_closed(struct suspended *suspended);

/* ---- Any thread ---- */

/* The library has forgotten the request. */
void suspended_forgotten(struct suspended *suspended);

/* The server stops: as if the client had gone. With http's lock held. */
void suspended_cut(struct suspended *suspended);

#endif
