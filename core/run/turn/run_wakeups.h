#ifndef RUNNEL_CORE_RUN_TURN_RUN_WAKEUPS_H
#define RUNNEL_CORE_RUN_TURN_RUN_WAKEUPS_H

#include <stdatomic.h>

#include "core/net/loop.h"

/*
 * run_wakeups.h -- how a tool worker wakes a run on its loop.
 *
 * A worker has put output into a channel and sends the channel's wake-up. The loop then collects the
 * output, if the run still waits for it. A worker may send a wake-up late, when its run has gone. So
 * wake-ups live as long as their loop, and one without a run does nothing. One that another run has taken
 * meanwhile wakes that run in vain, which does no harm.
 */

struct run;

struct run_wakeup {
    struct loop_task task;
    struct loop *loop;
    struct run *run; /* the loop's; NULL: no run waits */
    atomic_bool sent;
    struct run_wakeup *next; /* in the list of idle ones */
    struct run_wakeup *all;
};

/* The wake-ups of one loop; only its thread uses them. Starts as zeros. */
struct run_wakeups {
    struct run_wakeup *all;
    struct run_wakeup *idle;
};

/* A wake-up for this run, until it is put back. Borrowed. */
struct run_wakeup *run_wakeups_take(struct run_wakeups *wakeups, struct run *run);
void run_wakeups_put(struct run_wakeups *wakeups, struct run_wakeup *wakeup);

/* After the loop and all workers have ended. Frees them all. */
void run_wakeups_clear(struct run_wakeups *wakeups);

/* Any thread. The argument is a struct run_wakeup: this is the wake function of a channel. */
void run_wakeup_send(void *wakeup);

#endif
