#include "server/files/file_room.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

/*
 * Not fair_queue.h: its turns know what a project has cost, and not what it holds. The projects stand in a list, the
 * next to be served first, and a claim walks along it. It has as many as load files at the moment.
 */

/* A project with claims. */
struct share {
    struct share *next;
    char project[ID_SIZE];
    size_t held; /* bytes */
    size_t claims, waiting;
    struct room_claim *first, **last; /* that wait */
};

struct room_claim {
    struct room_claim *next; /* of those that wait, or were granted together */
    struct file_room *room;
    struct share *share;
    size_t bytes;
    void (*granted)(struct room_claim *claim, void *arg);
    void *arg;
};

struct file_room {
    size_t bytes, line;
    struct lock lock; /* guards what follows */
    size_t held, waiting;
    bool open, closed;
    struct share *shares;
};

struct file_room *file_room_new(size_t bytes, size_t line)
{
    struct file_room *room = mem_new(struct file_room);

    room->bytes = bytes;
    room->line = line;
    lock_init(&room->lock, LOCK_FILE_ROOM);
    return room;
}

static void room_free(struct file_room *room)
{
    lock_destroy(&room->lock);
    free(room);
}

/* ---- Shares ---- */

static void append(struct file_room *room, struct share *share)
{
    struct share **end = &room->shares;

    while (*end)
        end = &(*end)->next;
    share->next = NULL;
    *end = share;
}

static void take_out(struct file_room *room, struct share *share)
{
    struct share **at = &room->shares;

    while (*at != share)
        at = &(*at)->next;
    *at = share->next;
}

static struct share *share_of(struct file_room *room, const struct tenant *tenant)
{
    struct share *share = room->shares;

    while (share && strcmp(share->project, tenant->project) != 0)
        share = share->next;
    if (share)
        return share;
    share = mem_new(struct share);
    memcpy(share->project, tenant->project, sizeof(share->project));
    share->last = &share->first;
    append(room, share);
    return share;
}

/* ---- Turns ---- */

static bool fits(const struct file_room *room, const struct share *share)
{
    size_t bytes = share->first->bytes;
    size_t left = room->held < room->bytes ? room->bytes - room->held : 0;

    if (room->open || !room->held)
        return true;
    if (bytes > left)
        return false;
    return !share->held || (share->held + bytes) / FILE_ROOM_SHARE <= left - bytes;
}

/* The project whose claim is next; NULL: none fits. */
static struct share *next_share(struct file_room *room)
{
    for (struct share *share = room->shares; share; share = share->next) {
        if (!share->first)
            continue;
        if (fits(room, share))
            return share;
        if (!share->held)
            return NULL; /* the room that becomes free is for it */
    }
    return NULL;
}

/* The list of those that fit, one after another as their turns come. */
static struct room_claim *grant_locked(struct file_room *room) REQUIRES(room->lock)
{
    struct room_claim *granted = NULL;
    struct room_claim **end = &granted;
    struct share *share;

    while ((share = next_share(room))) {
        struct room_claim *claim = share->first;

        share->first = claim->next;
        if (!share->first)
            share->last = &share->first;
        share->waiting--;
        share->held += claim->bytes;
        take_out(room, share);
        append(room, share);
        room->held += claim->bytes;
        room->waiting -= claim->bytes;
        claim->next = NULL;
        *end = claim;
        end = &claim->next;
    }
    return granted;
}

/* A claim may be gone once it was notified. */
static void notify(struct room_claim *granted)
{
    while (granted) {
        struct room_claim *next = granted->next;

        granted->granted(granted, granted->arg);
        granted = next;
    }
}

/* ---- Entry points ---- */

/* False: its project has too many in line. */
static bool put_locked(struct file_room *room, struct room_claim *claim,
                       const struct tenant *tenant) REQUIRES(room->lock)
{
    struct share *share = share_of(room, tenant);

    if (share->waiting >= room->line)
        return false;
    claim->share = share;
    share->claims++;
    share->waiting++;
    *share->last = claim;
    share->last = &claim->next;
    room->waiting += claim->bytes;
    return true;
}

enum err_code file_room_claim(struct file_room *room, const struct tenant *tenant, size_t bytes,
                              void (*granted)(struct room_claim *claim, void *arg), void *arg,
                              struct err *err)
{
    struct room_claim *claim = mem_new(struct room_claim);
    struct room_claim *list;
    bool taken;

    *claim = (struct room_claim){.room = room, .bytes = bytes, .granted = granted, .arg = arg};
    lock_acquire(&room->lock);
    taken = put_locked(room, claim, tenant);
    list = grant_locked(room);
    lock_release(&room->lock);
    notify(list);
    if (taken)
        return ERR_OK;
    free(claim);
    return err_refuse(err, ERR_LIMIT, REASON_BUSY, NULL,
                      "Too many requests with files wait already. Please retry your request.");
}

void file_room_shrink(struct room_claim *claim, size_t bytes)
{
    struct file_room *room = claim->room;
    struct room_claim *granted;
    size_t less;

    lock_acquire(&room->lock);
    less = bytes < claim->bytes ? claim->bytes - bytes : 0;
    claim->bytes -= less;
    claim->share->held -= less;
    room->held -= less;
    granted = grant_locked(room);
    lock_release(&room->lock);
    notify(granted);
}

void file_room_give_back(void *of)
{
    struct room_claim *claim = of;
    struct room_claim *granted;
    struct file_room *room;
    bool last;

    if (!claim)
        return;
    room = claim->room;
    lock_acquire(&room->lock);
    room->held -= claim->bytes;
    claim->share->held -= claim->bytes;
    if (!--claim->share->claims) {
        take_out(room, claim->share);
        free(claim->share);
    }
    granted = grant_locked(room);
    last = room->closed && !room->shares;
    lock_release(&room->lock);
    free(claim);
    notify(granted);
    if (last)
        room_free(room);
}

void file_room_open(struct file_room *room)
{
    struct room_claim *granted;

    lock_acquire(&room->lock);
    room->open = true;
    granted = grant_locked(room);
    lock_release(&room->lock);
    notify(granted);
}

void file_room_close(struct file_room *room)
{
    bool last;

    if (!room)
        return;
    lock_acquire(&room->lock);
    room->closed = true;
    last = !room->shares;
    lock_release(&room->lock);
    if (last)
        room_free(room);
}

void file_room_stats(struct file_room *room, size_t *ret_held, size_t *ret_waiting)
{
    lock_acquire(&room->lock);
    *ret_held = room->held;
    *ret_waiting = room->waiting;
    lock_release(&room->lock);
}
