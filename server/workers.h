#ifndef RUNNEL_SERVER_WORKERS_H
#define RUNNEL_SERVER_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/fair_queue.h"
#include "core/domain/tenant.h"

/*
 * workers.h -- a pool of threads for work that a loop must not do itself.
 *
 * An HTTP request runs on a thread of libmicrohttpd and may block. A message of a WebSocket arrives on a loop,
 * which must never block. So it is given to a worker, and the answer is posted back to the loop. Masking
 * (masking.h) uses a pool for work that takes too long for a loop, without a store. So do readers of files, uploads
 * that have come, and searches.
 *
 * Each kind of work has an instance of its own. In one pool for all, a minute of reading files would hold up
 * messages of a millisecond, and a limit for each kind would be needed inside it.
 *
 * The projects take turns (core/domain/fair_queue.h): one with a thousand works does not delay one with a single work.
 *
 * A struct work is part of a larger struct, and is in the queue at most once at a time.
 */

struct store;
struct workers;

struct work {
    struct fair_job job;            /* the queue's */
    struct tenant tenant;           /* whose work it is; all zeros: the server's own */
    void (*run)(struct work *work); /* on a worker, which does not touch the work afterwards */
};

/* Starts `count` threads. `store` may be NULL; else its connections of these threads are closed at their end. */
enum err_code workers_start(unsigned count, struct store *store, struct workers **ret_workers,
                            struct err *err) MUST_CHECK;

/* Any thread, with no lock held that ranks behind LOCK_WORKERS. First come, first served within a project. */
void workers_put(struct workers *workers, struct work *work);

/* False, and nothing happens, when `limit` works of the project wait already. */
bool workers_offer(struct workers *workers, struct work *work, size_t limit) MUST_CHECK;

/* Ends the threads after all work in the queue. Nothing may be put any more, except by the work itself. NULL is
 * fine. */
void workers_stop(struct workers *workers);

#endif
