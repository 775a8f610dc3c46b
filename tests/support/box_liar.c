/*
 * box_liar.c -- a first process of a box that has been taken over: test_box_liar.c puts it where box/main.c belongs.
 * Its second argument, the number of processes, says which lie it is.
 */

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/sandbox/box/protocol.h"
#include "core/sandbox/message.h"
#include "tests/support/box_lies.h"

static void say(int socket, const void *message, size_t size)
{
    int fds[] = {0, 0, 0};

    (void)send_fds(socket, message, size, fds, 3);
}

int main(int argc, char **argv)
{
    static char noise[4096], message[MESSAGE_SIZE];
    enum box_lie lie = argc > 2 ? (enum box_lie)strtol(argv[2], NULL, 10) : LIE_AT_START;
    struct box_up up = {.version = lie == LIE_ABOUT_VERSION ? 99 : BOX_VERSION};
    struct box_ended ended = {.ending = BOX_RAN};
    int fds[MESSAGE_FDS];
    size_t count = 0;

    memset(noise, 0xa5, sizeof(noise));
    if (lie == LIE_AT_START)
        say(0, noise, sizeof(noise));
    else
        say(0, &up, sizeof(up));
    if (lie == LIE_DEAF)
        (void)poll(NULL, 0, -1);
    if (receive_fds(0, message, sizeof(message), fds, MESSAGE_FDS, &count) <= 0 || count < 1)
        return 0;
    switch (lie) {
    case LIE_SHORT: say(fds[0], &ended, 4); break;
    case LIE_LONG: say(fds[0], noise, sizeof(noise)); break;
    case LIE_STRANGE:
        memset(&ended, 0xa5, sizeof(ended));
        say(fds[0], &ended, sizeof(ended));
        break;
    case LIE_FLOOD:
        for (int i = 0; i < 100; i++)
            say(fds[0], noise, 100);
        break;
    case LIE_TWICE:
        say(fds[0], &ended, sizeof(ended));
        say(fds[0], &ended, sizeof(ended));
        say(0, noise, sizeof(noise));
        break;
    case LIE_ENDLESS:
        for (;;)
            say(fds[0], &ended, sizeof(ended));
    default: return 0; /* it ends without an answer */
    }
    close_fds(fds, count);
    (void)poll(NULL, 0, -1); /* it goes on until it is killed */
    return 0;
}
