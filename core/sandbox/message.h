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

/* fds[i] becomes descriptor i, and every other one is closed. They may be any, also the same one twice. */
bool keep_fds(const int *fds, size_t count);

/* A program to start, as it stands in a message. The text is in the message. */
#define PROGRAM_STRINGS ((size_t)512) /* arguments, and lines of the environment */

struct program {
    char *folder;                           /* where it starts; "" leaves it where it is */
    char *arguments[PROGRAM_STRINGS + 1];   /* the first is its path; NULL ends them */
    char *environment[PROGRAM_STRINGS + 1]; /* NULL ends them */
};

/* Writes the program to a message. Returns the bytes, or 0 if they are more than `room`. */
size_t program_write(const struct program *program, char *ret_bytes, size_t room);

/* Reads it again: *ret_program points into `bytes`. False if these are not exactly one program. */
bool program_read(char *bytes, size_t size, struct program *ret_program);

#endif
