#include "core/base/lock.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

#include "core/base/clock.h"

/* One bit for every rank this thread holds. */
static _Thread_local unsigned held;

/* The rule must hold in release builds too, so not assert(). */
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

/* The bodies of the two below are what clang's analysis must take on trust. */
#if defined(__clang__)
#define TRUSTED __attribute__((no_thread_safety_analysis))
#else
#define TRUSTED
#endif

TRUSTED void lock_acquire(struct lock *lock)
{
    insist(held < 1u << lock->rank);
    pthread_mutex_lock(&lock->mutex);
    held |= 1u << lock->rank;
}

TRUSTED void lock_release(struct lock *lock)
{
    held &= ~(1u << lock->rank);
    pthread_mutex_unlock(&lock->mutex);
}

void lock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

void lock_wait(struct lock *lock, pthread_cond_t *cond)
{
    insist(held == 1u << lock->rank);
    held = 0;
    pthread_cond_wait(cond, &lock->mutex);
    held = 1u << lock->rank;
}

bool lock_wait_until(struct lock *lock, pthread_cond_t *cond, uint64_t deadline_ns)
{
    struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ns / NS_PER_SECOND),
        .tv_nsec = (long)(deadline_ns % NS_PER_SECOND),
    };
    int rc;

    insist(held == 1u << lock->rank);
    held = 0;
    rc = pthread_cond_timedwait(cond, &lock->mutex, &deadline);
    held = 1u << lock->rank;
    return rc != ETIMEDOUT;
}
