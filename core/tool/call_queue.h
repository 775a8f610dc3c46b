#ifndef RUNNEL_CORE_TOOL_CALL_QUEUE_H
#define RUNNEL_CORE_TOOL_CALL_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"

/*
 * call_queue.h -- the calls that wait for a tool worker, shared fairly by project, and within a project
 * by run.
 *
 * Deficit round robin. The projects with waiting calls stand in a circle. A project whose turn it is gives
 * one call, the runs of the project take turns, and the calls of a run keep their order. So a project with
 * one call waits for at most one call of each other project, however many those have.
 *
 * Calls are not alike: a search may take two seconds. What a call will cost is not known before it ends, so
 * a project has a credit of worker time, and pays afterwards. Each of its turns adds CALL_QUEUE_QUANTUM_NS.
 * While it is in debt its turns pass without a call. So projects whose calls take longer than the quantum
 * share the workers' time, and shorter calls never wait for more than one call of each other project.
 *
 * A project that waits alone is served at once, in debt or not. A debt ends with the last call of its
 * project: it is not held against work of later times.
 *
 * A call costs O(1): each turn that passes pays a part of a debt, and a call makes a debt of
 * CALL_QUEUE_DEBT_NS at most.
 *
 * One thread at a time; the caller has a lock. Calls belong to the queue while they wait.
 */

#define CALL_QUEUE_QUANTUM_NS (20 * NS_PER_MS) /* of worker time, for each turn */
#define CALL_QUEUE_DEBT_NS    NS_PER_SECOND    /* the most that a project may owe */
#define CALL_QUEUE_BUCKETS    256

struct call_lane;
struct call_share;

/* A part of what waits. */
struct queued_call {
    struct queued_call *next; /* the queue's */
    const char *project;      /* both borrowed while it waits; NULL is "" */
    const char *run;
};

/* Starts as zeros. */
struct call_queue {
    struct call_share *first, *last;               /* the circle, first to be served first */
    struct call_share *shares[CALL_QUEUE_BUCKETS]; /* by project */
    struct call_lane *lanes[CALL_QUEUE_BUCKETS];   /* by run */
};

/* False when `limit` calls of the project wait: the call is still the caller's. */
bool call_queue_put(struct call_queue *queue, struct queued_call *call, size_t limit);

/* The next call, or NULL when none waits. call_queue_charge() must follow when it has ended. */
struct queued_call *call_queue_take(struct call_queue *queue);

/* A call of the project that was taken has ended, after so much time on a worker. */
void call_queue_charge(struct call_queue *queue, const char *project, uint64_t ns);

bool call_queue_is_empty(const struct call_queue *queue);

#endif
