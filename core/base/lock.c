/*
 * lock.c -- a mutex that knows its rank, and a thread that knows which ranks it holds.
 *
 * A deadlock needs two threads at the right moment, so tests rarely see one. A wrong order needs only one
 * thread and shows on the first run. Each thread has a word with a bit for each rank that it holds.
 * Acquiring a lock compares that word with the bit of the new rank: everything held must be of a lower
 * rank. That is one comparison, cheap enough for release builds.
 *
 * Waiting on a condition while holding a second lock would block every thread that needs the second one,
 * so lock_wait() insists that the lock is the only one.
 *
 * clang checks the other half at compile time: that a field is touched only under its lock (-Wthread-safety).
 */

#include "core/base/lock.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

#include "core/base/clock.h"

/* One bit for each rank that this thread holds. */
static _Thread_local uint64_t held;

/* Not assert(): the rule holds in release builds too. */
static void insist(bool condition)
{
    if (UNLIKELY(!condition))
        __builtin_trap();
}

void lock_init(struct lock *lock, enum lock_rank rank)
{
    pthread_mutex_init(&lock->mutex, NULL);
    lock->rank = rank;
}

void lock_destroy(struct lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

/* clang cannot analyse the bodies of these two functions and takes their declarations on trust. */
#if defined(__clang__)
#define TRUSTED __attribute__((no_thread_safety_analysis))
#else
#define TRUSTED
#endif

TRUSTED void lock_acquire(struct lock *lock)
{
    insist(held < UINT64_C(1) << lock->rank);
    pthread_mutex_lock(&lock->mutex);
    held |= UINT64_C(1) << lock->rank;
}

TRUSTED void lock_release(struct lock *lock)
{
    held &= ~(UINT64_C(1) << lock->rank);
    pthread_mutex_unlock(&lock->mutex);
}

void lock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    /* The default is the wall clock, which may be set back while a thread waits. */
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

void lock_wait(struct lock *lock, pthread_cond_t *cond)
{
    insist(held == UINT64_C(1) << lock->rank);
    held = 0;
    pthread_cond_wait(cond, &lock->mutex);
    held = UINT64_C(1) << lock->rank;
}

bool lock_wait_until(struct lock *lock, pthread_cond_t *cond, uint64_t deadline_ns)
{
    struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ns / NS_PER_SECOND),
        .tv_nsec = (long)(deadline_ns % NS_PER_SECOND),
    };
    int rc;

    insist(held == UINT64_C(1) << lock->rank);
    held = 0;
    rc = pthread_cond_timedwait(cond, &lock->mutex, &deadline);
    held = UINT64_C(1) << lock->rank;
    return rc != ETIMEDOUT;
}
