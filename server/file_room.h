#ifndef RUNNEL_SERVER_FILE_ROOM_H
#define RUNNEL_SERVER_FILE_ROOM_H

#include <stddef.h>

#include "core/domain/fair_queue.h"
#include "core/domain/tenant.h"

/*
 * file_room.h -- memory for the bytes of files on their way to models: one budget for a node.
 *
 * A request claims all that its files need, and holds nothing while it waits. So requests cannot wait for each other.
 * Projects take turns (fair_queue.h). The one whose turn it is waits until it fits, and others do not pass it: a large
 * request is not put off for ever. One that is larger than the whole room gets it alone.
 *
 * Any thread, with no lock held.
 */

struct file_room;

/* Zeroed, with the first three set by the caller. It must stay until granted(); then the caller has the room. */
struct room_claim {
    struct tenant tenant;
    size_t bytes;
    void (*granted)(
        struct room_claim
            *claim);     /* at once, or on the thread that has made room; must not block */
    struct fair_job job; /* the room's, as the next */
    struct file_room *room;
    struct room_claim *next;
};

struct file_room *file_room_new(size_t bytes);

/* For a server that stops: grants all that waits, and all that comes. */
void file_room_open(struct file_room *room);
/* Behind that, and when no claim is made any more: the room is freed with its last claim. */
void file_room_close(struct file_room *room);

void file_room_claim(struct file_room *room, struct room_claim *claim);

/* Once for a claim that was granted. The room does not touch it any more. */
void file_room_give_back(struct room_claim *claim);

/* Bytes of the claims that were granted and not given back, and of those that wait. */
void file_room_stats(struct file_room *room, size_t *ret_held, size_t *ret_waiting);

#endif
