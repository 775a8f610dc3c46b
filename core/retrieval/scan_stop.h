#ifndef RUNNEL_CORE_RETRIEVAL_SCAN_STOP_H
#define RUNNEL_CORE_RETRIEVAL_SCAN_STOP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * retrieval/scan_stop.h -- asks, in the middle of a long scan, whether its result is still wanted.
 *
 *     struct scan_stop stop = {.asks = is_late, .arg = search};
 *
 *     for (each segment) {
 *         if (scan_stop_after(&stop, work))
 *             return 0;
 *         ...
 *     }
 *
 * `asks` may look at a clock, which is dearer than a step of a scan. So steps are counted, and it is called once for
 * SCAN_STOP_STEPS of them. Once it has said yes, it is not called again.
 *
 * One thread's.
 */

#define SCAN_STOP_STEPS ((size_t)4096) /* some 10 to 50 us of work */

struct scan_stop {
    bool (*asks)(void *arg); /* true: the scan is to end */
    void *arg;
    size_t steps; /* since it was asked; starts at 0, as does `stopped` */
    bool stopped;
};

/* The scan has done so many steps, each of some ten nanoseconds. True: it is to end. `stop` may be NULL. */
static inline bool scan_stop_after(struct scan_stop *stop, size_t steps)
{
    if (!stop || stop->stopped)
        return stop != NULL;
    stop->steps += steps;
    if (stop->steps < SCAN_STOP_STEPS)
        return false;
    stop->steps = 0;
    stop->stopped = stop->asks(stop->arg);
    return stop->stopped;
}

#endif
