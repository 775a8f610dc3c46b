/*
 * clock.c -- three clocks of the kernel.
 *
 * Deadlines use the monotonic clock, because an administrator or NTP may set the wall clock back while a
 * request waits. The wall clock is only for what people and other machines read. The clock of a thread's
 * own processor time is for limits on work (patterns, schemas): a check that is slow because the machine is
 * busy must not fail for that.
 */

#include "core/base/clock.h"

#include <time.h>

uint64_t clock_mono_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t clock_thread_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

int64_t clock_wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * US_PER_SECOND + now.tv_nsec / 1000;
}

uint64_t clock_ns_from_seconds(double seconds)
{
    return seconds <= 0 ? 0 : (uint64_t)(seconds * 1e9);
}
