#ifndef RUNNEL_SERVER_HTTP_BODY_WORK_H
#define RUNNEL_SERVER_HTTP_BODY_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/net/loop.h"
#include "server/http/deadlines.h"
#include "server/workers.h"

/*
 * body_work.h -- a piece of a body on a worker, while its connection is suspended. For this folder only.
 *
 *   HTTP worker   body_work_begin(): the connection is suspended
 *   worker        run(): what takes long; the result stays in `rc` and `err`
 *   loop          gives the connection back
 *   HTTP worker   body_work_end(): the result may be read
 *
 * A bucket that does not answer then costs a worker and not all connections of an HTTP worker. A piece is all that is
 * in memory, because the library reads and sends nothing while the connection is suspended.
 *
 * A struct body_work is part of a larger struct with the piece, which run() and the HTTP worker use in turn. The client
 * may leave meanwhile. So the request lets the struct go, and free() is called when run() has ended, too: on a worker,
 * because to close what lies in a slow place takes long as well.
 */

struct body_work;
struct request;

struct body_work_ops {
    void (*run)(struct body_work *work);
    void (*free)(struct body_work *work);
};

struct body_work {
    struct work work;
    const struct body_work_ops *ops;
    struct workers *workers;
    struct loop *loop;
    atomic_int holders;       /* the request; and run(), while it is under way */
    struct body_pause *pause; /* of the run() that is under way */
    enum err_code rc;
    struct err err;
};

/* Borrows `workers` and `loop` until free(). */
void body_work_init(struct body_work *work, const struct body_work_ops *ops,
                    struct workers *workers, struct loop *loop);

/* In a callback of the library, for a request that does not wait: suspends its connection and puts the work. False when
 * the server stops: nothing was done. `debt` is what the client owes when the piece is done. */
bool body_work_begin(struct body_work *work, struct request *request, enum deadline_kind debt);

/* The library calls on while the connection is suspended, if it has read more chunks than one. */
bool body_work_is_paused(const struct request *request);

/* The connection is back. *ret_paused_ns is for how long it was away. False if the client has left or the server stops:
 * then run() may be under way. */
bool body_work_end(struct request *request, uint64_t *ret_paused_ns);

/* The request needs it no longer. NULL is fine. */
void body_work_drop(struct body_work *work);

#endif
