/*
 * A hash table of waiters, by the id of their run. Several may wait for one run.
 *
 * A waiter knows the pointer that points to it (`link`), so it leaves in constant time without knowing its
 * table, and `link` says whether it waits at all.
 *
 * Waking calls code that may add waiters to the same bucket. So the waiters to be woken are first moved
 * to a list of their own. What was added meanwhile waits for the next event.
 */

#include "core/run/engine/waiters.h"

#include <string.h>

#include "core/base/hash.h"

static struct engine_waiter **bucket_of(struct waiters *waiters, const char *run_id)
{
    return &waiters->buckets[(hash_text(run_id) >> 8) % WAITER_BUCKETS];
}

void waiters_add(struct waiters *waiters, struct engine_waiter *waiter)
{
    struct engine_waiter **bucket = bucket_of(waiters, waiter->run_id);

    waiter->next = *bucket;
    waiter->link = bucket;
    if (waiter->next)
        waiter->next->link = &waiter->next;
    *bucket = waiter;
}

void waiter_drop(struct engine_waiter *waiter)
{
    if (!waiter->link)
        return;
    *waiter->link = waiter->next;
    if (waiter->next)
        waiter->next->link = waiter->link;
    waiter->next = NULL;
    waiter->link = NULL;
}

/* The waiters for that run, or all of the bucket for NULL. */
static void wake_bucket(struct engine_waiter *first, const char *run_id, enum engine_woken why)
{
    struct engine_waiter *woken = NULL;

    for (struct engine_waiter *waiter = first, *next; waiter; waiter = next) {
        next = waiter->next;
        if (run_id && strcmp(waiter->run_id, run_id) != 0)
            continue;
        waiter_drop(waiter);
        waiter->next = woken;
        woken = waiter;
    }
    while (woken) {
        struct engine_waiter *waiter = woken;

        woken = waiter->next;
        waiter->woken(waiter, why);
    }
}

void waiters_wake(struct waiters *waiters, const char *run_id, enum engine_woken why)
{
    wake_bucket(*bucket_of(waiters, run_id), run_id, why);
}

void waiters_wake_all(struct waiters *waiters, enum engine_woken why)
{
    for (size_t i = 0; i < WAITER_BUCKETS; i++)
        wake_bucket(waiters->buckets[i], NULL, why);
}
