#ifndef RUNNEL_CORE_RUN_TURN_BELLS_H
#define RUNNEL_CORE_RUN_TURN_BELLS_H

#include <stdatomic.h>

#include "core/net/loop.h"

/*
 * bells.h -- how workers tell a run that there is something to look at.
 *
 * Somebody rings from any thread; the loop then looks at the run, if there still is one. A bell that
 * no run listens to any more may still be rung by a late worker: that is why bells are kept for as
 * long as their loop lives, and why hearing one in vain does no harm.
 */

struct run;

struct bell {
    struct loop_task task;
    struct loop *loop;
    struct run *run; /* the loop's; NULL when nobody wants to hear it */
    atomic_bool rung;
    struct bell *next; /* of those that are idle, or of all */
    struct bell *all;
};

/* Those of one loop, and its thread's only. Zero is empty. */
struct bells {
    struct bell *all;
    struct bell *idle;
};

/* One that the run hears, until it is put back. */
struct bell *bells_take(struct bells *bells, struct run *run);
void bells_put(struct bells *bells, struct bell *bell);

/* After the loop has ended, and everybody who could ring. */
void bells_clear(struct bells *bells);

/* Any thread. Its argument is a struct bell. */
void bell_ring(void *bell);

#endif
