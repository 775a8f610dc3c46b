/*
 * message.c -- one message of a SOCK_SEQPACKET socket, with the descriptors that travel with it.
 */

#include "core/sandbox/message.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void close_fds(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}

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

long receive_fds(int socket, void *ret_message, size_t size, int *ret_fds, size_t room,
                 size_t *ret_count)
{
    struct iovec bytes = {.iov_base = ret_message, .iov_len = size};
    union {
        char space[CMSG_SPACE(sizeof(int) * MESSAGE_FDS)];
        struct cmsghdr align;
    } control = {0};
    struct msghdr header = {.msg_iov = &bytes, .msg_iovlen = 1};
    struct cmsghdr *rights;
    size_t count = 0;
    ssize_t got;

    if (room) {
        header.msg_control = control.space;
        /* Not CMSG_SPACE(): its padding has room for one more. */
        header.msg_controllen = CMSG_LEN(sizeof(int) * room);
    }
    do
        got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    rights = got > 0 && room ? CMSG_FIRSTHDR(&header) : NULL;
    if (rights && rights->cmsg_type == SCM_RIGHTS) {
        count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(ret_fds, CMSG_DATA(rights), sizeof(int) * count);
    }
    if (got > 0 &&
        ((header.msg_flags & MSG_TRUNC) || (room && (header.msg_flags & MSG_CTRUNC)))) {
        close_fds(ret_fds, count);
        errno = EBADMSG;
        return -1;
    }
    if (ret_count)
        *ret_count = count;
    return got;
}
