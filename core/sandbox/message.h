#ifndef RUNNEL_CORE_SANDBOX_MESSAGE_H
#define RUNNEL_CORE_SANDBOX_MESSAGE_H

#include <stddef.h>

/*
 * message.h -- what the processes of this room send each other.
 *
 * All sockets are SOCK_SEQPACKET: a message arrives whole or not at all.
 */

#define MESSAGE_FDS 3 /* descriptors of a message */

/* One message with descriptors. send_fds() does not raise SIGPIPE. Both return the bytes, 0 at the end of the other
 * side, or -1. */
long send_fds(int socket, const void *message, size_t size, const int *fds, size_t count);
long receive_fds(int socket, void *ret_message, size_t size, int *ret_fds, size_t count);

#endif
