#ifndef RUNNEL_SERVER_HTTP_STREAM_SUSPENDED_H
#define RUNNEL_SERVER_HTTP_STREAM_SUSPENDED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event/sink.h"
#include "core/net/loop.h"
#include "server/http/stream/backlog.h"

/*
 * suspended.h -- a connection on loan from libmicrohttpd to a loop.
 *
 * From suspended_begin() until suspended_give_back() the library leaves the connection alone,
 * so its socket is the loop's. It cannot be closed meanwhile, may be written to, and is watched
 * for the client's leaving, which the library would not notice. Before and after that time
 * nothing here touches the socket. All state belongs to the loop; other threads only post
 * tasks.
 *
 * A connection may go back and forth several times; the state says who has it.
 *
 * A sink on it has two holders: the engine, until close(), and the library, until it has
 * released the request. Tasks under way hold it, too. When the last holder releases it,
 * `destroy` is called on the loop.
 */

struct http;
struct suspended;
struct MHD_Connection;

struct suspended_ops {
    void (*attached)(struct suspended *suspended); /* the loop has the connection from now on */
    void (*writable)(struct suspended *suspended); /* see suspended_watch() */
    void (*lost)(struct suspended *suspended);     /* it is lost for good; given back already */
    void (*destroy)(struct suspended *suspended);
};

enum suspended_state {
    SUSPENDED_BEFORE, /* the library still sends headers, or has not begun */
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
    bool lost;     /* its client has left, or was given up */
    bool reported; /* and the engine was notified */
    bool closed;   /* the engine has released it */
    bool cut_ran, cut_holds;
    struct loop_watch watch;
    struct loop_task attach, forget, report_gone, cut;

    struct suspended *prev, *next; /* in http->live; guarded by http's lock, as the next: */
    bool cut_posted;
    struct backlog backlog;
};

/* Initializes a sink, held by the engine and the library. */
void suspended_init(struct suspended *suspended, const struct suspended_ops *ops,
                    const struct sink_ops *sink_ops, struct http *http,
                    struct MHD_Connection *connection, struct loop *loop);

/* On the library's thread, inside one of its callbacks: suspends the connection and notifies
 * the loop. False when the server stops; nothing was done then. */
bool suspended_begin(struct suspended *suspended);

/* ---- On the loop ---- */

/* Watches for writability too, or stops that. */
enum suspended_interest {
    SUSPENDED_LEAVING,
    SUSPENDED_LEAVING_OR_WRITABLE,
};
void suspended_watch(struct suspended *suspended, enum suspended_interest interest);

/* Gives the connection back to the library. */
void suspended_give_back(struct suspended *suspended);

/* The client has left or is given up. Gives the connection back, after ops->lost has made sure
 * that the library ends it. A little later, notifies the holders of the sink. */
void suspended_lose(struct suspended *suspended);

/* From the sink's close(): the engine releases it. */
void suspended_closed(struct suspended *suspended);

/* ---- Any thread ---- */

/* The library has released the request. */
void suspended_forgotten(struct suspended *suspended);

/* The server stops: treats the client as gone. With http's lock held. */
void suspended_cut(struct suspended *suspended);

#endif
