#ifndef RUNNEL_CORE_DOMAIN_FAIR_QUEUE_H
#define RUNNEL_CORE_DOMAIN_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/domain/tenant.h"

/*
 * fair_queue.h -- jobs that wait for a worker, shared fairly by project, and within a project by run.
 *
 * Deficit round robin. The projects with waiting jobs stand in a circle. A project whose turn it is gives
 * one job, the runs of the project take turns, and the jobs of a run keep their order. So a project with
 * one job waits for at most one job of each other project, however many those have.
 *
 * Jobs are not alike: a search may take two seconds. What a job will cost is not known before it ends, so
 * a project has a credit of worker time, and pays afterwards. Each of its turns adds FAIR_QUEUE_QUANTUM_NS.
 * While it is in debt its turns pass without a job. So projects whose jobs take longer than the quantum
 * share the workers' time, and shorter jobs never wait for more than one job of each other project.
 *
 * A project that waits alone is served at once, in debt or not. A debt ends with the last job of its
 * project: it is not held against work of later times.
 *
 * Jobs that take minutes would let a project that is alone for a moment have all workers for that long. With `workers`
 * set, a project that works already gets another worker only while it has less than FAIR_QUEUE_PART times those that
 * would still be free. So of 64 workers one project has 48 at most, two have about 27 each, and one is always left for
 * a project that has none.
 *
 * A job costs O(1): each turn that passes pays a part of a debt, and a job makes a debt of
 * FAIR_QUEUE_DEBT_NS at most.
 *
 * One thread at a time; the caller has a lock. Jobs belong to the queue while they wait.
 */

#define FAIR_QUEUE_QUANTUM_NS (20 * NS_PER_MS) /* of worker time, for each turn */
#define FAIR_QUEUE_DEBT_NS    NS_PER_SECOND    /* the most that a project may owe */
#define FAIR_QUEUE_PART       3
#define FAIR_QUEUE_BUCKETS    256

struct fair_lane;
struct fair_share;

/* A part of what waits, a tool call for example. */
struct fair_job {
    struct fair_job *next;       /* the queue's */
    const struct tenant *tenant; /* both borrowed while it waits; a project "" is the server */
    const char *run;             /* NULL is "" */
};

/* Starts as zeros. */
struct fair_queue {
    struct fair_share *first, *last;               /* the circle, first to be served first */
    struct fair_share *shares[FAIR_QUEUE_BUCKETS]; /* by project */
    struct fair_lane *lanes[FAIR_QUEUE_BUCKETS];   /* by run */
    size_t waiting, working;                       /* jobs */
    size_t workers; /* that there are; the caller's. 0: a project may have all */
};

/* False when `limit` jobs of the project wait: the job is still the caller's. */
bool fair_queue_put(struct fair_queue *queue, struct fair_job *job, size_t limit);

/* The next job, or NULL when none waits that may have a worker now. fair_queue_charge() must follow when it has
 * ended. */
struct fair_job *fair_queue_take(struct fair_queue *queue);

/* A job of the project that was taken has ended, after so much time on a worker. */
void fair_queue_charge(struct fair_queue *queue, const struct tenant *tenant, uint64_t ns);

/* Jobs that wait. */
size_t fair_queue_count(const struct fair_queue *queue);

#endif
