#ifndef RUNNEL_CORE_RUN_ENGINE_SLOTS_H
#define RUNNEL_CORE_RUN_ENGINE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/domain/tenant.h"
#include "core/run/turn/slot_waiter.h"

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

struct slots *slots_new(const struct slots_limits *limits); /* copies the limits */
void slots_free(struct slots *slots);                       /* NULL is fine; no run may wait */

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
