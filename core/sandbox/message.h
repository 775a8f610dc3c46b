#ifndef RUNNEL_CORE_SANDBOX_MESSAGE_H
#define RUNNEL_CORE_SANDBOX_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * message.h -- what the processes of this room send each other.
 *
 * All sockets are SOCK_SEQPACKET: a message arrives whole or not at all. The first process of a box has this
 * file, too, and it is linked with nothing but the C library. So nothing here uses core/base.
 */

#define MESSAGE_SIZE ((size_t)64 * 1024) /* bytes of a message */
#define MESSAGE_FDS  16                  /* descriptors of a message */

/* Sends one message with up to MESSAGE_FDS descriptors. Does not raise SIGPIPE. Returns the bytes, or -1. */
long send_fds(int socket, const void *message, size_t size, const int *fds, size_t count);

/* Receives one message with at most `room` descriptors. *ret_count says how many came; the caller closes them.
 * Without room the kernel closes what a stranger has sent along. Returns the bytes, 0 at the end of the other side,
 * or -1, also for a message that is larger than `size` or has more descriptors. */
long receive_fds(int socket, void *ret_message, size_t size, int *ret_fds, size_t room,
                 size_t *ret_count);

void close_fds(const int *fds, size_t count);

#endif
