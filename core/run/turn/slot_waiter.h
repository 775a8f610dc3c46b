#ifndef RUNNEL_CORE_RUN_TURN_SLOT_WAITER_H
#define RUNNEL_CORE_RUN_TURN_SLOT_WAITER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/domain/tenant.h"

/*
 * slot_waiter.h -- a run's place in the queue for slots, and the limits of the queue. Both are parts of
 * structs of this room. The functions, and who may call them, are in core/run/engine/slots.h.
 */

struct slots_limits { /* 0: no limit */
    size_t node;      /* runs at work on this node */
    size_t queue;     /* runs that wait for a slot; only slots_queue_full() reads it */
};

/* A run that wants a slot, as part of a struct of the caller's. Zero it, fill in tenant and ready. It
 * must live until it has a slot or has left. */
struct slot_waiter {
    const struct tenant *tenant; /* lives as long as the waiter */
    /* The waiter has a slot now. Called once, by the thread that gave the slot back, under the lock
     * of the slots: it may post a task and nothing else. */
    void (*ready)(struct slot_waiter *waiter);
    struct slot_waiter *before, *behind; /* neighbours in its project's queue */
    bool waiting;                        /* in the queue; guarded by the lock of the slots */
};

#endif
