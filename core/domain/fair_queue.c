#include "core/domain/fair_queue.h"

#include <assert.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"

/*
 * fair_queue.c -- a circle of projects, each with a circle of runs.
 *
 *   queue ─▶ project A ─▶ run 1: job, job
 *                         run 2: job
 *            project B ─▶ run 3: job
 *
 * A share is a project's place: it lives while the project has jobs that wait or work. A lane is a run's
 * place: it lives while jobs of the run wait. Both are found by name in tables, so that nothing is
 * searched for.
 */

/* A run's jobs that wait, in their order. */
struct fair_lane {
    struct fair_lane *next;           /* in the circle of its share */
    struct fair_lane *next_in_bucket; /* in the table by name */
    struct fair_share *share;
    char *run;
    struct fair_job *first;
    struct fair_job **last;
};

/* A project's jobs. */
struct fair_share {
    struct fair_share *next; /* in the circle, while jobs wait */
    struct fair_share *next_in_bucket;
    char *project;
    struct fair_lane *first, *last; /* its circle of runs */
    size_t waiting, working;
    int64_t credit_ns; /* below 0: in debt */
};

/* ---- Shares ---- */

static struct fair_share **share_place(struct fair_queue *queue, const char *name)
{
    struct fair_share **at = &queue->shares[hash_text(name) % FAIR_QUEUE_BUCKETS];

    while (*at && strcmp((*at)->project, name) != 0)
        at = &(*at)->next_in_bucket;
    return at;
}

static struct fair_share *share_of(struct fair_queue *queue, const struct tenant *tenant)
{
    struct fair_share **at = share_place(queue, tenant->project);

    if (*at)
        return *at;
    *at = mem_new(struct fair_share);
    (*at)->project = mem_strdup(tenant->project); /* it lives longer than its jobs */
    return *at;
}

static void share_free(struct fair_queue *queue, struct fair_share *share)
{
    *share_place(queue, share->project) = share->next_in_bucket;
    free(share->project);
    free(share);
}

static void circle_append(struct fair_queue *queue, struct fair_share *share)
{
    share->next = NULL;
    if (queue->first)
        queue->last->next = share;
    else
        queue->first = share;
    queue->last = share;
}

static struct fair_share *circle_pop(struct fair_queue *queue)
{
    struct fair_share *share = queue->first;

    queue->first = share->next;
    return share;
}

/* ---- Lanes ---- */

static struct fair_lane **lane_place(struct fair_queue *queue, const struct fair_share *share,
                                     const char *run)
{
    struct fair_lane **at = &queue->lanes[hash_text(run) % FAIR_QUEUE_BUCKETS];

    while (*at && ((*at)->share != share || strcmp((*at)->run, run) != 0))
        at = &(*at)->next_in_bucket;
    return at;
}

static void lane_append(struct fair_share *share, struct fair_lane *lane)
{
    lane->next = NULL;
    if (share->first)
        share->last->next = lane;
    else
        share->first = lane;
    share->last = lane;
}

/* The run's lane, made when it has none. */
static struct fair_lane *lane_of(struct fair_queue *queue, struct fair_share *share,
                                 const char *run)
{
    struct fair_lane **at = lane_place(queue, share, run);

    if (*at)
        return *at;
    *at = mem_new(struct fair_lane);
    (*at)->share = share;
    (*at)->run = mem_strdup(run);
    (*at)->last = &(*at)->first;
    lane_append(share, *at);
    return *at;
}

static void lane_free(struct fair_queue *queue, struct fair_lane *lane)
{
    *lane_place(queue, lane->share, lane->run) = lane->next_in_bucket;
    free(lane->run);
    free(lane);
}

/* The next job of the share. A run that has more goes to the end of its circle. */
static struct fair_job *share_take(struct fair_queue *queue, struct fair_share *share)
{
    struct fair_lane *lane = share->first;
    struct fair_job *job = lane->first;

    share->first = lane->next;
    lane->first = job->next;
    if (lane->first)
        lane_append(share, lane);
    else
        lane_free(queue, lane);
    share->waiting--;
    queue->waiting--;
    share->working++;
    queue->working++;
    return job;
}

/* It is the share's turn: true if it may give a job. */
static bool is_solvent(struct fair_share *share)
{
    const int64_t quantum = (int64_t)FAIR_QUEUE_QUANTUM_NS;

    share->credit_ns += quantum;
    if (share->credit_ns > quantum)
        share->credit_ns = quantum; /* turns are not saved for later */
    return share->credit_ns > 0;
}

/* May the share have one more worker? One that has none always may. */
static bool has_part(const struct fair_queue *queue, const struct fair_share *share)
{
    size_t free_workers = queue->workers > queue->working ? queue->workers - queue->working : 0;

    return !queue->workers || !share->working ||
           (free_workers && share->working < FAIR_QUEUE_PART * (free_workers - 1));
}

/* The next share that may have a worker. Those before it keep their place among themselves. */
static struct fair_share *next_share(struct fair_queue *queue)
{
    struct fair_share *end = queue->last;

    for (struct fair_share *share = queue->first; share; share = queue->first) {
        (void)circle_pop(queue);
        if (has_part(queue, share))
            return share;
        circle_append(queue, share);
        if (share == end)
            return NULL;
    }
    return NULL;
}

/* ---- Entry points ---- */

size_t fair_queue_count(const struct fair_queue *queue)
{
    return queue->waiting;
}

bool fair_queue_put(struct fair_queue *queue, struct fair_job *job, size_t limit)
{
    struct fair_share *share = share_of(queue, job->tenant);
    struct fair_lane *lane;

    if (share->waiting >= limit)
        return false;
    if (!share->waiting++)
        circle_append(queue, share);
    lane = lane_of(queue, share, job->run ? job->run : "");
    queue->waiting++;
    job->next = NULL;
    *lane->last = job;
    lane->last = &job->next;
    return true;
}

struct fair_job *fair_queue_take(struct fair_queue *queue)
{
    struct fair_share *share;
    struct fair_job *job;

    while ((share = next_share(queue)) && !is_solvent(share))
        circle_append(queue, share);
    if (!share)
        return NULL;
    job = share_take(queue, share);
    if (share->waiting)
        circle_append(queue, share);
    return job;
}

void fair_queue_charge(struct fair_queue *queue, const struct tenant *tenant, uint64_t ns)
{
    const int64_t least = -(int64_t)FAIR_QUEUE_DEBT_NS;
    struct fair_share *share = share_of(queue, tenant);

    assert(share->working);
    share->credit_ns -= ns < FAIR_QUEUE_DEBT_NS ? (int64_t)ns : (int64_t)FAIR_QUEUE_DEBT_NS;
    if (share->credit_ns < least)
        share->credit_ns = least;
    share->working--;
    queue->working--;
    if (!share->working && !share->waiting)
        share_free(queue, share);
}
