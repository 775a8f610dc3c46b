#ifndef RUNNEL_CORE_SANDBOX_SPAWNER_H
#define RUNNEL_CORE_SANDBOX_SPAWNER_H

#include <stdint.h>

#include "core/sandbox/compute.h"

/*
 * spawner.h -- the two processes behind compute.h, and what they are sent.
 *
 * To the zygote: any message of one byte. Its answer is one byte with a descriptor, the server's end of a
 * new spawner's socket.
 *
 * To a spawner: a struct spawn_request, behind it a program if it asks for one, and descriptors: first the
 * request's own channel, then what becomes the child's descriptors 0 and 1, and 3, 4 ... of a program. The spawner
 * writes a struct compute_end to the channel when the child has ended. When the server closes its side before
 * that, the child is killed. A byte from the server says that the child is at work, so its memory is watched.
 * Each request having its own channel, the server needs no thread that distributes answers.
 *
 * All sockets are SOCK_SEQPACKET. Both sides are the same program, so there is no version in a message.
 */

enum spawn_kind {
    SPAWN_TASK,    /* a function of this program, confined by confine.h */
    SPAWN_PROGRAM, /* confines itself: bubblewrap. Its descriptors 1 and 2 are the same */
};

#define SPAWN_PROGRAMS ((size_t)256) /* at once; one more is refused */

struct spawn_request {
    uint32_t kind;
    uint32_t wall_ms; /* time until it is killed; 0: it has no end */
    uint32_t task;    /* SPAWN_TASK: an index of the list */
    /* SPAWN_PROGRAM: the user and group that it becomes; 0: it stays the server's */
    uint32_t user;
    uint64_t memory; /* SPAWN_PROGRAM: bytes that it may have, with its descendants; 0: any */
    uint32_t processes, cpus;        /* the same; counted only where it has a cgroup */
    char argument[COMPUTE_ARGUMENT]; /* SPAWN_TASK: compute_argument() */
};

enum { SPAWN_END, SPAWN_INPUT, SPAWN_OUTPUT, SPAWN_FDS };

/* The body of the zygote, in the process that was forked for it. `cgroup` is the folder of those of boxes; NULL: they
 * have none. Does not return. */
void zygote_main(int server, const struct compute_task *tasks, size_t count, const char *cgroup)
    __attribute__((noreturn));

#endif
