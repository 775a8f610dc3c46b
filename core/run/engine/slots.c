/*
 * Who may work now: two limits, and a fair queue behind them.
 *
 * A slot is the right to be at work: to load tools, to request models, to execute calls. Without a
 * limit a node would accept more runs than its memory and its upstreams can serve, and all of them
 * would be slow at once. There is a limit for the node and one for each project.
 *
 * Two queues, one inside the other. Each project has a share: what it has at work, and its waiting
 * runs in the order of arrival. Shares that have a waiting run, and may have one more at work, stand
 * in a queue of shares. When a slot comes free, the share at the front gets it for its first run, and
 * goes to the back. So projects take turns, whatever the lengths of their queues.
 *
 * A share whose project has reached its limit is not in the queue of shares. That is why serving never
 * skips anything, and each operation takes constant time. place_locked() is the only function that
 * decides whether a share belongs there. It is called after every change of `first` or `used`. New
 * limits of a project take effect with its next such change.
 *
 * What must hold, whenever the lock is free:
 *
 *   - a share is in the queue if and only if it has a waiting run and is below its limit
 *   - while the node is below its limit the queue is empty
 *   - `used` of the slots is the sum of `used` of all shares, and `waiting` that of their runs
 *   - a share without work, held runs and waiting runs does not exist
 *
 * The lock. Runs of all loops come here, and a slot that is given back on one loop may be for a run
 * on another. So ready() is called by the thread that gives back, and only posts a task. It is called
 * under the lock: a waiter that leaves at the same moment could otherwise be freed between being
 * chosen and being called.
 *
 * Nothing here survives a crash. Runs that waited are claimed by other nodes like any other run, and
 * wait there.
 *
 * Rejected: one queue in the order of arrival. A project that starts a thousand runs would delay the
 * single run of every other. And weights for projects: nobody has asked for them, and turns are easy
 * to explain.
 */

#include "core/run/engine/slots.h"

#include <stdint.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

#define TABLE_SIZE ((size_t)256)

/* What one project has at work, and which of its runs wait. */
struct share {
    char project[ID_SIZE];
    struct tenant_limits limits;
    size_t used;
    size_t held; /* of these, waiting for approvals in memory */
    struct slot_waiter *first, *last;
    struct share *next; /* in the table */

    /* In the queue of shares: a run of it waits, and it may have one more at work. */
    bool queued;
    struct share *before, *behind;
};

struct slots {
    struct slots_limits limits;
    struct lock lock;
    /* Guarded by lock: */
    size_t used;
    size_t waiting;
    struct share *shares[TABLE_SIZE];
    struct share *front, *back; /* of the queue of shares */
};

struct slots *slots_new(const struct slots_limits *limits)
{
    struct slots *slots = mem_new(struct slots);

    slots->limits = *limits;
    lock_init(&slots->lock, LOCK_ENGINE);
    return slots;
}

void slots_free(struct slots *slots)
{
    if (!slots)
        return;
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        while (slots->shares[i]) {
            struct share *share = slots->shares[i];

            slots->shares[i] = share->next;
            free(share);
        }
    }
    lock_destroy(&slots->lock);
    free(slots);
}

/* ---- Shares ---- */

/* The pointer to the project's share in the table; it points to NULL if the project has no share. */
static struct share **share_slot_locked(struct slots *slots, const char project[ID_SIZE])
    REQUIRES(slots->lock)
{
    struct share **at = &slots->shares[hash_text(project) % TABLE_SIZE];

    while (*at && strcmp((*at)->project, project) != 0)
        at = &(*at)->next;
    return at;
}

/* The project's share, made if it has none. Callers that add nothing to it must drop it again
 * (drop_if_idle_locked()), or projects that came once would stay in the table for ever. */
static struct share *find_share_locked(struct slots *slots, const struct tenant *tenant)
    REQUIRES(slots->lock)
{
    struct share **at = share_slot_locked(slots, tenant->project);

    if (!*at) {
        *at = mem_new(struct share);
        memcpy((*at)->project, tenant->project, sizeof(tenant->project));
    }
    (*at)->limits = tenant->limits;
    return *at;
}

static void drop_if_idle_locked(struct slots *slots, struct share *share) REQUIRES(slots->lock)
{
    struct share **at;

    if (share->used || share->held || share->first)
        return;
    at = share_slot_locked(slots, share->project);
    *at = share->next;
    free(share);
}

static bool node_is_full_locked(const struct slots *slots) REQUIRES(slots->lock)
{
    return slots->limits.node && slots->used >= slots->limits.node;
}

static bool is_full(const struct share *share)
{
    return share->limits.runs && share->used >= share->limits.runs;
}

/* ---- The queue of shares ---- */

static void joqueued_locked(struct slots *slots, struct share *share) REQUIRES(slots->lock)
{
    share->queued = true;
    share->before = slots->back;
    share->behind = NULL;
    *(slots->back ? &slots->back->behind : &slots->front) = share;
    slots->back = share;
}

static void leave_queue_locked(struct slots *slots, struct share *share) REQUIRES(slots->lock)
{
    share->queued = false;
    *(share->before ? &share->before->behind : &slots->front) = share->behind;
    *(share->behind ? &share->behind->before : &slots->back) = share->before;
}

/* A share that is in the queue and belongs there keeps its place. */
static void place_locked(struct slots *slots, struct share *share) REQUIRES(slots->lock)
{
    bool belongs = share->first && !is_full(share);

    if (belongs && !share->queued)
        joqueued_locked(slots, share);
    else if (!belongs && share->queued)
        leave_queue_locked(slots, share);
}

/* ---- The waiting runs of a share ---- */

static void add_waiter_locked(struct slots *slots, struct share *share,
                              struct slot_waiter *waiter) REQUIRES(slots->lock)
{
    waiter->waiting = true;
    waiter->before = share->last;
    waiter->behind = NULL;
    *(share->last ? &share->last->behind : &share->first) = waiter;
    share->last = waiter;
    slots->waiting++;
}

static void remove_waiter_locked(struct slots *slots, struct share *share,
                                 struct slot_waiter *waiter) REQUIRES(slots->lock)
{
    waiter->waiting = false;
    *(waiter->before ? &waiter->before->behind : &share->first) = waiter->behind;
    *(waiter->behind ? &waiter->behind->before : &share->last) = waiter->before;
    slots->waiting--;
}

static void serve_locked(struct slots *slots) REQUIRES(slots->lock)
{
    while (slots->front && !node_is_full_locked(slots)) {
        struct share *share = slots->front;
        struct slot_waiter *waiter = share->first;

        remove_waiter_locked(slots, share, waiter);
        share->used++;
        slots->used++;
        /* Out and in again: it goes to the back, and the next project is served first. */
        leave_queue_locked(slots, share);
        place_locked(slots, share);
        waiter->ready(waiter);
    }
}

/* ---- What the engine calls ---- */

bool slots_take(struct slots *slots, struct slot_waiter *waiter)
{
    struct share *share;
    bool taken;

    lock_acquire(&slots->lock);
    share = find_share_locked(slots, waiter->tenant);
    /* A free slot means that no run waits for one that it may have, so no run is overtaken. */
    taken = !node_is_full_locked(slots) && !is_full(share);
    if (taken) {
        share->used++;
        slots->used++;
    } else {
        add_waiter_locked(slots, share, waiter);
        place_locked(slots, share);
    }
    lock_release(&slots->lock);
    return taken;
}

bool slots_leave(struct slots *slots, struct slot_waiter *waiter)
{
    struct share *share;
    bool was_waiting;

    lock_acquire(&slots->lock);
    was_waiting = waiter->waiting;
    if (was_waiting) {
        share = find_share_locked(slots, waiter->tenant);
        remove_waiter_locked(slots, share, waiter);
        place_locked(slots, share);
        drop_if_idle_locked(slots, share);
    }
    lock_release(&slots->lock);
    return was_waiting;
}

void slots_give(struct slots *slots, const struct tenant *tenant)
{
    struct share *share;

    lock_acquire(&slots->lock);
    share = find_share_locked(slots, tenant);
    slots->used--;
    share->used--;
    /* The share may have been at its limit: first it returns to the queue, then the slot is handed
     * to the front, which may be this share. */
    place_locked(slots, share);
    serve_locked(slots);
    drop_if_idle_locked(slots, share);
    lock_release(&slots->lock);
}

bool slots_hold(struct slots *slots, const struct tenant *tenant)
{
    struct share *share;
    bool may;

    lock_acquire(&slots->lock);
    share = find_share_locked(slots, tenant);
    may = !share->limits.held || share->held < share->limits.held;
    share->held += may;
    drop_if_idle_locked(slots, share);
    lock_release(&slots->lock);
    return may;
}

void slots_unhold(struct slots *slots, const struct tenant *tenant)
{
    struct share *share;

    lock_acquire(&slots->lock);
    share = find_share_locked(slots, tenant);
    share->held--;
    drop_if_idle_locked(slots, share);
    lock_release(&slots->lock);
}

bool slots_queue_full(struct slots *slots)
{
    bool full;

    lock_acquire(&slots->lock);
    full = slots->limits.queue && slots->waiting >= slots->limits.queue;
    lock_release(&slots->lock);
    return full;
}
