#ifndef RUNNEL_CORE_BASE_CLOCK_H
#define RUNNEL_CORE_BASE_CLOCK_H

#include <stdint.h>

/*
 * clock.h -- three clocks: for waiting, for showing, and for limits on work. Any thread.
 *
 * Waiting, deadlines and durations use the monotonic clock, in nanoseconds.
 * What a client sees uses the wall clock, in microseconds since 1970: rows keep
 * microseconds, the API shows whole seconds. Limits on work use the processor time of
 * the thread.
 */

#define NS_PER_SECOND ((uint64_t)1000000000)
#define NS_PER_MS     ((uint64_t)1000000)
#define US_PER_SECOND ((int64_t)1000000)

uint64_t clock_mono_ns(void);
int64_t clock_wall_us(void);

/* Processor time of the calling thread, which does not pass while other threads run. */
uint64_t clock_thread_ns(void);

/* Seconds with decimals, as settings have them, in nanoseconds. */
uint64_t clock_ns_from_seconds(double seconds);

#endif
