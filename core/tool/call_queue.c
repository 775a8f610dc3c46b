#include "core/tool/call_queue.h"

#include <assert.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"

/*
 * call_queue.c -- a circle of projects, each with a circle of runs.
 *
 *   queue ─▶ project A ─▶ run 1: call, call
 *                         run 2: call
 *            project B ─▶ run 3: call
 *
 * A share is a project's place: it lives while the project has calls that wait or work. A lane is a run's
 * place: it lives while calls of the run wait. Both are found by name in tables, so that nothing is
 * searched for.
 */

/* A run's calls that wait, in their order. */
struct call_lane {
    struct call_lane *next;           /* in the circle of its share */
    struct call_lane *next_in_bucket; /* in the table by name */
    struct call_share *share;
    char *run;
    struct queued_call *first;
    struct queued_call **last;
};

/* A project's calls. */
struct call_share {
    struct call_share *next; /* in the circle, while calls wait */
    struct call_share *next_in_bucket;
    char *project;
    struct call_lane *first, *last; /* its circle of runs */
    size_t waiting, working;
    int64_t credit_ns; /* below 0: in debt */
};

/* ---- Shares ---- */

static const char *name_of(const char *text)
{
    return text ? text : "";
}

static struct call_share **share_place(struct call_queue *queue, const char *name)
{
    struct call_share **at = &queue->shares[hash_text(name) % CALL_QUEUE_BUCKETS];

    while (*at && strcmp((*at)->project, name) != 0)
        at = &(*at)->next_in_bucket;
    return at;
}

static struct call_share *share_of(struct call_queue *queue, const char *project)
{
    struct call_share **at = share_place(queue, project);

    if (*at)
        return *at;
    *at = mem_new(struct call_share);
    (*at)->project = mem_strdup(project); /* it lives longer than its calls */
    return *at;
}

static void share_free(struct call_queue *queue, struct call_share *share)
{
    *share_place(queue, share->project) = share->next_in_bucket;
    free(share->project);
    free(share);
}

static void circle_append(struct call_queue *queue, struct call_share *share)
{
    share->next = NULL;
    if (queue->first)
        queue->last->next = share;
    else
        queue->first = share;
    queue->last = share;
}

static struct call_share *circle_pop(struct call_queue *queue)
{
    struct call_share *share = queue->first;

    queue->first = share->next;
    return share;
}

/* ---- Lanes ---- */

static struct call_lane **lane_place(struct call_queue *queue, const struct call_share *share,
                                     const char *run)
{
    struct call_lane **at = &queue->lanes[hash_text(run) % CALL_QUEUE_BUCKETS];

    while (*at && ((*at)->share != share || strcmp((*at)->run, run) != 0))
        at = &(*at)->next_in_bucket;
    return at;
}

static void lane_append(struct call_share *share, struct call_lane *lane)
{
    lane->next = NULL;
    if (share->first)
        share->last->next = lane;
    else
        share->first = lane;
    share->last = lane;
}

/* The run's lane, made when it has none. */
static struct call_lane *lane_of(struct call_queue *queue, struct call_share *share,
                                 const char *run)
{
    struct call_lane **at = lane_place(queue, share, run);

    if (*at)
        return *at;
    *at = mem_new(struct call_lane);
    (*at)->share = share;
    (*at)->run = mem_strdup(run);
    (*at)->last = &(*at)->first;
    lane_append(share, *at);
    return *at;
}

static void lane_free(struct call_queue *queue, struct call_lane *lane)
{
    *lane_place(queue, lane->share, lane->run) = lane->next_in_bucket;
    free(lane->run);
    free(lane);
}

/* The next call of the share. A run that has more goes to the end of its circle. */
static struct queued_call *share_take(struct call_queue *queue, struct call_share *share)
{
    struct call_lane *lane = share->first;
    struct queued_call *call = lane->first;

    share->first = lane->next;
    lane->first = call->next;
    if (lane->first)
        lane_append(share, lane);
    else
        lane_free(queue, lane);
    share->waiting--;
    share->working++;
    return call;
}

/* It is the share's turn: true if it may give a call. */
static bool is_solvent(struct call_share *share)
{
    const int64_t quantum = (int64_t)CALL_QUEUE_QUANTUM_NS;

    share->credit_ns += quantum;
    if (share->credit_ns > quantum)
        share->credit_ns = quantum; /* nobody saves for later */
    return share->credit_ns > 0;
}

/* ---- Entry points ---- */

bool call_queue_is_empty(const struct call_queue *queue)
{
    return !queue->first;
}

bool call_queue_put(struct call_queue *queue, struct queued_call *call, size_t limit)
{
    struct call_share *share = share_of(queue, name_of(call->project));
    struct call_lane *lane;

    if (share->waiting >= limit)
        return false;
    if (!share->waiting++)
        circle_append(queue, share);
    lane = lane_of(queue, share, name_of(call->run));
    call->next = NULL;
    *lane->last = call;
    lane->last = &call->next;
    return true;
}

struct queued_call *call_queue_take(struct call_queue *queue)
{
    struct call_share *share;
    struct queued_call *call;

    if (!queue->first)
        return NULL;
    while (share = circle_pop(queue), !is_solvent(share))
        circle_append(queue, share);
    call = share_take(queue, share);
    if (share->waiting)
        circle_append(queue, share);
    return call;
}

void call_queue_charge(struct call_queue *queue, const char *project, uint64_t ns)
{
    const int64_t least = -(int64_t)CALL_QUEUE_DEBT_NS;
    struct call_share *share = share_of(queue, name_of(project));

    assert(share->working);
    share->credit_ns -= ns < CALL_QUEUE_DEBT_NS ? (int64_t)ns : (int64_t)CALL_QUEUE_DEBT_NS;
    if (share->credit_ns < least)
        share->credit_ns = least;
    share->working--;
    if (!share->working && !share->waiting)
        share_free(queue, share);
}
