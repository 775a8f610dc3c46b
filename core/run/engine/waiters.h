#ifndef RUNNEL_CORE_RUN_ENGINE_WAITERS_H
#define RUNNEL_CORE_RUN_ENGINE_WAITERS_H

#include <stddef.h>

#include "core/base/ids.h"
#include "core/run/engine/engine.h"

/*
 * waiters.h -- what waits on a run's loop for a run that is on another node or on its way: until it
 * arrives, its log grows, or it gets another owner (enum engine_woken).
 *
 * The loop's thread only. The waiter is part of a struct of the caller's: zero it, fill in run_id and
 * woken(). It is taken out before woken() is called, which may therefore add it again or free it,
 * but must not free another waiter.
 */

#define WAITER_BUCKETS ((size_t)1024)

struct engine_waiter {
    char run_id[ID_LIMIT + 1];
    void (*woken)(struct engine_waiter *waiter, enum engine_woken why);
    struct engine_waiter *next, **link; /* the table's; link is NULL when it does not wait */
};

/* The waiters of one loop. Zeroed it is empty, and it needs no clearing. */
struct waiters {
    struct engine_waiter *buckets[WAITER_BUCKETS];
};

/* The waiter must not wait already. */
void waiters_add(struct waiters *waiters, struct engine_waiter *waiter);
/* Does nothing for a waiter that does not wait. */
void waiter_drop(struct engine_waiter *waiter);

/* Wakes the waiters for one run, or all. A waiter that is added meanwhile is not woken again. */
void waiters_wake(struct waiters *waiters, const char *run_id, enum engine_woken why);
void waiters_wake_all(struct waiters *waiters, enum engine_woken why);

#endif
