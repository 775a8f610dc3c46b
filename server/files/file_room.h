#ifndef RUNNEL_SERVER_FILES_FILE_ROOM_H
#define RUNNEL_SERVER_FILES_FILE_ROOM_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"

/*
 * file_room.h -- memory for the bytes of files on their way to models: one budget for a node.
 *
 * A request claims all that its files need, and holds nothing while it waits. So requests cannot wait for each other.
 *
 * The room is shared fairly by projects. They take turns. A project that holds nothing gets the next room that is free:
 * it waits until its claim fits, and others do not pass it. One that holds some gets more only while what it then holds
 * is at most FILE_ROOM_SHARE times what is left. So a project whose models are slow leaves a third of the room to the
 * next one, and waits for itself. A claim that is larger than the whole room gets it alone.
 *
 * Any thread, with no lock held.
 */

#define FILE_ROOM_SHARE ((size_t)2)

struct file_room;
struct room_claim;

/* `line`: claims of a project that may wait. */
struct file_room *file_room_new(size_t bytes, size_t line);

/* For a server that stops: grants all that waits, and all that comes. */
void file_room_open(struct file_room *room);
/* Behind that, and when no claim is made any more: the room is freed with its last claim. NULL is fine. */
void file_room_close(struct file_room *room);

/* granted() is called once: at once, or on the thread that has made room. It must not block. Then the claim is the
 * caller's, until it gives it back. ERR_LIMIT with REASON_BUSY: the line is full, and nothing happens. */
enum err_code file_room_claim(struct file_room *room, const struct tenant *tenant, size_t bytes,
                              void (*granted)(struct room_claim *claim, void *arg), void *arg,
                              struct err *err) MUST_CHECK;

/* Of a granted claim: it needs no more than so many bytes after all. */
void file_room_shrink(struct room_claim *claim, size_t bytes);

/* `claim` is a struct room_claim. NULL is fine. */
void file_room_give_back(void *claim);

/* Bytes of the claims that were granted and not given back, and of those that wait. */
void file_room_stats(struct file_room *room, size_t *ret_held, size_t *ret_waiting);

#endif
