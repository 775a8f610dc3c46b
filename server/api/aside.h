#ifndef RUNNEL_SERVER_API_ASIDE_H
#define RUNNEL_SERVER_API_ASIDE_H

#include <stdatomic.h>

#include "core/base/err.h"
#include "core/net/loop.h"
#include "server/http/request.h"
#include "server/workers.h"

/*
 * aside.h -- the part of a request that takes too long for an HTTP worker.
 *
 *   HTTP worker   aside_begin(): the connection is suspended
 *   worker        work.run(): what takes long; then aside_done()
 *   loop          gives the request back
 *   HTTP worker   resume(): answers, as an endpoint does
 *
 * A struct aside is part of a larger struct with what the work needs. Nothing in it may be borrowed from the request:
 * the client may leave meanwhile, and then the request is released while the work is under way. So the struct has two
 * holders, and the last one calls free(), on any thread.
 */

struct aside;

struct aside_ops {
    /* Not called after a failure, whose error is the answer. */
    enum err_code (*resume)(struct request *request, struct aside *aside, struct err *err);
    void (*free)(struct aside *aside);
};

struct aside {
    struct work work; /* its run() is set by the caller, its tenant by aside_begin() */
    struct loop_task task;
    atomic_int holders; /* the request; and the work, until it has given the request back */
    struct loop *loop;
    struct sink *sink;
    const struct aside_ops *ops;
    enum err_code rc;
    struct err err;
};

/* Suspends the request, at the end of an endpoint, which returns ERR_OK. `ops` must be constant. The caller then puts
 * the work, or calls aside_done(). */
void aside_begin(struct request *request, struct aside *aside, const struct aside_ops *ops);

/* The work is done, with aside->err if `rc` is a failure. Once, on any thread, which does not touch the struct
 * afterwards. */
void aside_done(struct aside *aside, enum err_code rc);

#endif
