#ifndef RUNNEL_SERVER_WORKERS_H
#define RUNNEL_SERVER_WORKERS_H

#include "core/base/err.h"

/*
 * workers.h -- threads that may wait for the store, for those that may not.
 *
 * An HTTP request has a worker of libmicrohttpd's; what comes over a WebSocket arrives on a loop,
 * which must never block. So it is handed over here, and comes back to its loop as a task. So is work
 * that takes a loop too long (masking.h); then there need be no store.
 *
 * A work sits inside whatever it is about and is in line once at a time. How much is in line is
 * limited by who puts it there.
 */

struct store;
struct workers;

struct work {
    struct work *next;              /* the line's */
    void (*run)(struct work *work); /* on a worker; the work is forgotten before it is called */
};

enum err_code workers_start(unsigned count, struct store *store, struct workers **ret_workers,
                            struct err *err) MUST_CHECK;

/* Any thread, with no lock held that ranks behind LOCK_WORKERS. First come, first served. */
void workers_put(struct workers *workers, struct work *work);

/* When nobody puts anything any more: ends the threads after all that is in line. NULL is fine. */
void workers_stop(struct workers *workers);

#endif
