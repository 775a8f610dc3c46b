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
 * To a spawner: a struct spawn_request with three descriptors: end, input, output. The spawner writes a
 * struct compute_end to `end` when the child has ended. When the server closes its side of `end` before that, the
 * child is killed. So each request has a channel of its own, and the server needs no thread that
 * distributes answers.
 *
 * All sockets are SOCK_SEQPACKET. A message has fixed size, and both sides are the same program, so
 * there is no version in it.
 */

struct spawn_request {
    uint32_t task;
    uint32_t wall_ms;
};

enum { SPAWN_END, SPAWN_INPUT, SPAWN_OUTPUT, SPAWN_FDS };

/* The body of the zygote, in the process that was forked for it. Does not return. */
void zygote_main(int server, const struct compute_task *tasks, size_t count)
    __attribute__((noreturn));

#endif
