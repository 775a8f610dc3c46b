#ifndef RUNNEL_CORE_RUN_ENGINE_WAITERS_H
#define RUNNEL_CORE_RUN_ENGINE_WAITERS_H

#include <stddef.h>

#include "core/base/ids.h"
#include "core/run/engine/engine.h"

/*
 * waiters.h -- somebody on a run's loop wants to know when the run comes to it, or does something
 * elsewhere.
 *
 * The loop's thread only. The waiter is the caller's: zero it, fill in the id and woken(), which is
 * called after the waiter was forgotten, and so may wait again.
 */

#define WAITER_BUCKETS ((size_t)1024)

struct engine_waiter {
    char run_id[ID_LIMIT + 1];
    void (*woken)(struct engine_waiter *waiter, enum engine_woken why);
    struct engine_waiter *next, **link; /* the table's; link is NULL when it does not wait */
};

/* Those of one loop. Zero is empty. */
struct waiters {
    struct engine_waiter *buckets[WAITER_BUCKETS];
};

void waiters_add(struct waiters *waiters, struct engine_waiter *waiter);
void waiter_drop(struct engine_waiter *waiter); /* also when it does not wait */

/* Those for that run, or all. */
void waiters_wake(struct waiters *waiters, const char *run_id, enum engine_woken why);
void waiters_wake_all(struct waiters *waiters, enum engine_woken why);

#endif
