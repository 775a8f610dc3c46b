#include "server/file_room.h"

#include <stdlib.h>

#include "core/base/compiler.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

struct file_room {
    size_t bytes;
    struct lock lock; /* guards what follows */
    size_t held, waiting;
    size_t claims; /* made and not given back */
    bool open, closed;
    struct fair_queue queue;
    struct room_claim *first; /* out of the queue: its turn has come, and it does not fit yet */
};

struct file_room *file_room_new(size_t bytes)
{
    struct file_room *room = mem_new(struct file_room);

    room->bytes = bytes;
    lock_init(&room->lock, LOCK_FILE_ROOM);
    return room;
}

static void room_free(struct file_room *room)
{
    lock_destroy(&room->lock);
    free(room);
}

static struct room_claim *take_locked(struct file_room *room) REQUIRES(room->lock)
{
    struct fair_job *job = fair_queue_take(&room->queue);

    if (!job)
        return NULL;
    fair_queue_charge(&room->queue, job->tenant, 0);
    return CONTAINER_OF(job, struct room_claim, job);
}

/* The list of those that fit, one after another as their turns come. */
static struct room_claim *grant_locked(struct file_room *room) REQUIRES(room->lock)
{
    struct room_claim *granted = NULL;
    struct room_claim **end = &granted;

    for (;;) {
        struct room_claim *claim = room->first;

        if (!claim)
            claim = room->first = take_locked(room);
        if (!claim || (room->held && !room->open &&
                       (room->held > room->bytes || claim->bytes > room->bytes - room->held)))
            return granted;
        room->first = NULL;
        room->held += claim->bytes;
        room->waiting -= claim->bytes;
        claim->next = NULL;
        *end = claim;
        end = &claim->next;
    }
}

/* A claim may be gone once it was notified. */
static void notify(struct room_claim *granted)
{
    while (granted) {
        struct room_claim *next = granted->next;

        granted->granted(granted);
        granted = next;
    }
}

void file_room_claim(struct file_room *room, struct room_claim *claim)
{
    struct room_claim *granted;

    claim->room = room;
    claim->job.tenant = &claim->tenant;
    lock_acquire(&room->lock);
    room->claims++;
    room->waiting += claim->bytes;
    (void)fair_queue_put(&room->queue, &claim->job, SIZE_MAX);
    granted = grant_locked(room);
    lock_release(&room->lock);
    notify(granted);
}

void file_room_give_back(struct room_claim *claim)
{
    struct file_room *room = claim->room;
    struct room_claim *granted;
    bool last;

    lock_acquire(&room->lock);
    room->held -= claim->bytes;
    last = --room->claims == 0 && room->closed;
    granted = grant_locked(room);
    lock_release(&room->lock);
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

    lock_acquire(&room->lock);
    room->closed = true;
    last = room->claims == 0;
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
