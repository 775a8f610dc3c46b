#include "core/run/engine/slots.h"

#include <stdint.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

#define TABLE_SIZE ((size_t)256)

/* What one project has at work, and who of it waits. */
struct share {
    char project[ID_SIZE];
    struct tenant_limits limits;
    size_t used;
    size_t held; /* of these */
    struct slot_waiter *first, *last;
    struct share *next; /* in the table */

    /* In line: somebody of it waits, and it may have one more. */
    bool in_line;
    struct share *before, *behind;
};

struct slots {
    struct slots_limits limits;
    struct lock lock;
    /* Guarded by lock: */
    size_t used;
    size_t waiting;
    struct share *shares[TABLE_SIZE];
    struct share *front, *back; /* of the line */
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

/* Where the project's share is, or would be. */
static struct share **share_slot_locked(struct slots *slots, const char project[ID_SIZE])
    REQUIRES(slots->lock)
{
    struct share **at = &slots->shares[hash_text(project) % TABLE_SIZE];

    while (*at && strcmp((*at)->project, project) != 0)
        at = &(*at)->next;
    return at;
}

/* The project's share; made when it has none. */
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

/* ---- The line of projects ---- */

static void join_line_locked(struct slots *slots, struct share *share) REQUIRES(slots->lock)
{
    share->in_line = true;
    share->before = slots->back;
    share->behind = NULL;
    *(slots->back ? &slots->back->behind : &slots->front) = share;
    slots->back = share;
}

static void quit_line_locked(struct slots *slots, struct share *share) REQUIRES(slots->lock)
{
    share->in_line = false;
    *(share->before ? &share->before->behind : &slots->front) = share->behind;
    *(share->behind ? &share->behind->before : &slots->back) = share->before;
}

/* After anything that changes whether it belongs into the line. It keeps its place. */
static void place_locked(struct slots *slots, struct share *share) REQUIRES(slots->lock)
{
    bool belongs = share->first && !is_full(share);

    if (belongs && !share->in_line)
        join_line_locked(slots, share);
    else if (!belongs && share->in_line)
        quit_line_locked(slots, share);
}

/* ---- Those who wait ---- */

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
        quit_line_locked(slots, share);
        place_locked(slots, share); /* at the end, if it has more */
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

void slots_go_on(struct slots *slots, const struct tenant *tenant)
{
    struct share *share;

    lock_acquire(&slots->lock);
    share = find_share_locked(slots, tenant);
    share->held--;
    drop_if_idle_locked(slots, share);
    lock_release(&slots->lock);
}

bool slots_line_full(struct slots *slots)
{
    bool full;

    lock_acquire(&slots->lock);
    full = slots->limits.line && slots->waiting >= slots->limits.line;
    lock_release(&slots->lock);
    return full;
}
