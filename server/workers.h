#ifndef RUNNEL_SERVER_WORKERS_H
#define RUNNEL_SERVER_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/fair_queue.h"
#include "core/domain/tenant.h"

/*
 * workers.h -- threads for work that a loop must not do itself.
 *
 * An HTTP request runs on a thread of libmicrohttpd and may block. A message of a WebSocket arrives on a loop,
 * which must never block. So it is given to a worker, and the answer is posted back to the loop. Masking
 * (masking.h) uses workers for work that takes too long for a loop. So do readers of files, uploads that have come, and
 * searches.
 *
 * Each kind of work has an instance of its own, with a ceiling of its own. So a minute of reading files never holds up
 * messages of a millisecond. The threads are those of one crew. They start as work comes, and end after
 * CREW_IDLE_NS without any; one stays, so that work is done even if no other thread can be started.
 *
 * The projects take turns (core/domain/fair_queue.h): one with a thousand works does not delay one with a single work.
 *
 * A struct work is part of a larger struct, and is in the queue at most once at a time.
 */

struct crew;
struct store;
struct workers;

struct work {
    struct fair_job job;            /* the queue's */
    struct tenant tenant;           /* whose work it is; all zeros: the server's own */
    void (*run)(struct work *work); /* on a worker, which does not touch the work afterwards */
};

/* Starts the one thread that stays; the others end after `idle_ns` without work. `store` may be NULL; else the threads
 * close their connections to it at their end. */
enum err_code crew_start(struct store *store, uint64_t idle_ns, struct crew **ret_crew,
                         struct err *err) MUST_CHECK;
/* After all workers_stop(). NULL is fine. */
void crew_stop(struct crew *crew);
/* Threads at this moment, for tests. */
unsigned crew_threads(struct crew *crew);

/* `count` is the most that run at once. */
struct workers *workers_new(struct crew *crew, unsigned count);

/* Any thread, with no lock held that ranks behind LOCK_WORKERS. First come, first served within a project. */
void workers_put(struct workers *workers, struct work *work);

/* False, and nothing happens, when `limit` works of the project wait already. */
bool workers_offer(struct workers *workers, struct work *work, size_t limit) MUST_CHECK;

/* Waits for all work in the queue. Nothing may be put any more, except by the work itself. NULL is fine. */
void workers_stop(struct workers *workers);

#endif
