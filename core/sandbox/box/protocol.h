#ifndef RUNNEL_CORE_SANDBOX_BOX_PROTOCOL_H
#define RUNNEL_CORE_SANDBOX_BOX_PROTOCOL_H

#include <stdint.h>

/*
 * box/protocol.h -- what the server and the first process of a box send each other.
 *
 * The server has one socket to the box, the box's descriptor 0. Its end is the end of the box. On it goes, first and
 * once, a struct box_up to the server, with the listening socket if there is one; then, for each command, a program
 * (message.h) to the box, with descriptors: first the command's own channel, then what becomes the command's
 * descriptors 0, 1, 2 ...
 *
 * On a command's channel come a struct box_ended when the command has ended, and the end of the channel when all that
 * the command has left behind has ended, too. To the box go single bytes (enum box_signal). The end of that direction
 * kills the command with all of its descendants, unless BOX_LEAVE came before.
 *
 * So the server needs no ids that a box could confuse, and no thread that distributes answers. It takes no other
 * descriptor from a box, and checks the size of each message: code that has taken over the box can only lie about the
 * box.
 */

#define BOX_VERSION  2
#define BOX_COMMANDS 64 /* in a box at once, with those that were left behind */

struct box_up {
    uint32_t version;
};

enum box_ending {
    BOX_RAN,        /* `status` is what wait() said */
    BOX_UNWATCHED,  /* something in the box has killed its supervisor */
    BOX_FULL,       /* not started: there are BOX_COMMANDS */
    BOX_NO_PROCESS, /* not started: the box has as many processes as it may */
};

struct box_ended {
    uint32_t ending; /* enum box_ending */
    int32_t status;
    uint64_t cpu_us;     /* processor time, with the descendants that it waited for */
    uint64_t peak_bytes; /* of the largest of these processes */
};

enum box_signal {
    BOX_INTERRUPT = 'i', /* SIGINT for the command's process group */
    BOX_LEAVE = 'l',     /* what the command leaves behind may go on */
};

#endif
