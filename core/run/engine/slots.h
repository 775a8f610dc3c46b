#ifndef RUNNEL_CORE_RUN_ENGINE_SLOTS_H
#define RUNNEL_CORE_RUN_ENGINE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/domain/tenant.h"

/*
 * slots.h -- how many runs may be at work at once, on this node and of one project; and who is next.
 *
 * A run that finds no slot waits: the runs of a project in the order of arrival, and projects take
 * turns, so that one with thousands in line holds up nobody. Nor does one that has used up its own.
 * Nothing is refused before too many wait. Whatever the number, coming, leaving and ending look at
 * one run and one project.
 *
 * A run that waits for people keeps its slot meanwhile; so only some of a project may. How many of a
 * project may do what says the tenant; of tenants of one project the last one counts.
 *
 * Any thread may call.
 */

struct slots;

struct slots_limits { /* 0: no limit */
    size_t node;
    size_t line;
};

struct slots *slots_new(const struct slots_limits *limits);
void slots_free(struct slots *slots);

/* Somebody who wants a slot. Zero it, fill in tenant and ready. */
struct slot_waiter {
    const struct tenant *tenant; /* lives as long as the waiter */
    /* A slot is there, and is the waiter's. Called on whichever thread gave it back, under the lock
     * of the slots: it may post a task and nothing else. */
    void (*ready)(struct slot_waiter *waiter);
    struct slot_waiter *before, *behind; /* the next ones of its project */
    bool waiting;                        /* in line; guarded by the lock of the slots */
};

/* True when there is a slot now. False: ready() will be called. */
bool slots_take(struct slots *slots, struct slot_waiter *waiter);

/* Out of the line. False when the waiter was not in it (any more): then it has a slot, and ready()
 * has been called. */
bool slots_leave(struct slots *slots, struct slot_waiter *waiter);

void slots_give(struct slots *slots, const struct tenant *tenant);

/* The project's run that has a slot waits for people. False when as many do as may. */
bool slots_hold(struct slots *slots, const struct tenant *tenant);
/* It does not wait any more; before the slot is given back. */
void slots_go_on(struct slots *slots, const struct tenant *tenant);

/* As many wait as may. */
bool slots_line_full(struct slots *slots);

#endif
