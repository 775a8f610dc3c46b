#ifndef RUNNEL_CORE_RUN_ENGINE_SLOTS_H
#define RUNNEL_CORE_RUN_ENGINE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/domain/tenant.h"

/*
 * slots.h -- how many runs are at work at once, on this node and for one project, and which is next.
 *
 * A run that finds no slot waits in a queue. The runs of one project wait in the order of arrival,
 * and projects take turns: one with thousands of runs in the queue delays no other. Nor does a
 * project that has reached its own limit. Each operation takes constant time, however many wait.
 *
 * A run that waits for approvals in memory (a held run) keeps its slot meanwhile. So a project has a
 * limit of held runs as well. The limits of a project are in its tenant. Two tenants of one project
 * may differ: the limits that were passed last apply.
 *
 * Any thread may call. Nothing here blocks.
 */

struct slots;

struct slots_limits { /* 0: no limit */
    size_t node;      /* runs at work on this node */
    size_t queue;     /* runs that wait for a slot; only slots_queue_full() reads it */
};

struct slots *slots_new(const struct slots_limits *limits); /* copies the limits */
void slots_free(struct slots *slots);                       /* NULL is fine; no run may wait */

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

/* True: the caller has a slot now. False: the waiter is in the queue, and ready() will be called. */
bool slots_take(struct slots *slots, struct slot_waiter *waiter);

/* Takes the waiter out of the queue. False: it was not in the queue any more. Then ready() has been
 * called, and the waiter has a slot to give back. */
bool slots_leave(struct slots *slots, struct slot_waiter *waiter);

/* Gives back a slot of the tenant's project, and hands it to the next run in the queue. */
void slots_give(struct slots *slots, const struct tenant *tenant);

/* A run of the project that has a slot is about to be held. False: the project's limit of held runs
 * is reached. */
bool slots_hold(struct slots *slots, const struct tenant *tenant);
/* The run is not held any more. Call it before the slot is given back. */
void slots_unhold(struct slots *slots, const struct tenant *tenant);

/* Whether as many runs wait as the limit allows. New runs are refused then. */
bool slots_queue_full(struct slots *slots);

#endif
