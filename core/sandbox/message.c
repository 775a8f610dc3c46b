/*
 * message.c -- one message of a SOCK_SEQPACKET socket, with the descriptors that travel with it.
 */

#include "core/sandbox/message.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

long send_fds(int socket, const void *message, size_t size, const int *fds, size_t count)
{
    struct iovec bytes = {.iov_base = (void *)(uintptr_t)message, .iov_len = size};
    union {
        char space[CMSG_SPACE(sizeof(int) * MESSAGE_FDS)];
        struct cmsghdr align;
    } control = {0};
    struct msghdr header = {.msg_iov = &bytes, .msg_iovlen = 1};
    ssize_t sent;

    if (count) {
        struct cmsghdr *rights;

        header.msg_control = control.space;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * count);
    }
    do
        sent = sendmsg(socket, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

long receive_fds(int socket, void *ret_message, size_t size, int *ret_fds, size_t count)
{
    struct iovec bytes = {.iov_base = ret_message, .iov_len = size};
    union {
        char space[CMSG_SPACE(sizeof(int) * MESSAGE_FDS)];
        struct cmsghdr align;
    } control = {0};
    struct msghdr header = {.msg_iov = &bytes,
                            .msg_iovlen = 1,
                            .msg_control = control.space,
                            .msg_controllen = sizeof(control.space)};
    struct cmsghdr *rights;
    ssize_t got;

    do
        got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    rights = got > 0 ? CMSG_FIRSTHDR(&header) : NULL;
    for (size_t i = 0; i < count; i++)
        ret_fds[i] = -1;
    if (rights && rights->cmsg_len == CMSG_LEN(sizeof(int) * count))
        memcpy(ret_fds, CMSG_DATA(rights), sizeof(int) * count);
    return got;
}
