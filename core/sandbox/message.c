/*
 * message.c -- one message of a SOCK_SEQPACKET socket, with the descriptors that travel with it.
 */

#include "core/sandbox/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

bool keep_fds(const int *fds, size_t count)
{
    int high[MESSAGE_FDS];

    if (count > MESSAGE_FDS)
        return false;
    /* Out of the way of each other first. */
    for (size_t i = 0; i < count; i++) {
        high[i] = fcntl(fds[i], F_DUPFD, MESSAGE_FDS);
        if (high[i] < 0)
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (dup2(high[i], (int)i) < 0)
            return false;
    }
    return syscall(SYS_close_range, (unsigned)count, ~0U, 0U) == 0;
}

/* ---- Programs ---- */

/* Before the strings, each of which ends in NUL: the folder, the arguments, the environment. */
struct program_head {
    uint32_t arguments;
    uint32_t environment;
};

static bool write_string(const char *text, char *bytes, size_t room, size_t *used)
{
    size_t size = strlen(text) + 1;

    if (size > room - *used)
        return false;
    memcpy(bytes + *used, text, size);
    *used += size;
    return true;
}

size_t program_write(const struct program *program, char *ret_bytes, size_t room)
{
    struct program_head head = {0};
    size_t used = sizeof(head);

    if (room < used || !write_string(program->folder, ret_bytes, room, &used))
        return 0;
    for (; program->arguments[head.arguments]; head.arguments++) {
        if (!write_string(program->arguments[head.arguments], ret_bytes, room, &used))
            return 0;
    }
    for (; program->environment[head.environment]; head.environment++) {
        if (!write_string(program->environment[head.environment], ret_bytes, room, &used))
            return 0;
    }
    memcpy(ret_bytes, &head, sizeof(head));
    return used;
}

/* The next string, or NULL at the end of the bytes. The last byte is NUL. */
static char *next_string(char **at, const char *end)
{
    char *text = *at;

    if (text == end)
        return NULL;
    *at += strlen(text) + 1;
    return text;
}

bool program_read(char *bytes, size_t size, struct program *ret_program)
{
    struct program_head head;
    char *at = bytes + sizeof(head);
    const char *end = bytes + size;

    if (size <= sizeof(head) || bytes[size - 1])
        return false;
    memcpy(&head, bytes, sizeof(head));
    if (head.arguments < 1 || head.arguments > PROGRAM_STRINGS ||
        head.environment > PROGRAM_STRINGS)
        return false;
    *ret_program = (struct program){.folder = next_string(&at, end)};
    for (uint32_t i = 0; i < head.arguments; i++) {
        if (!(ret_program->arguments[i] = next_string(&at, end)))
            return false;
    }
    for (uint32_t i = 0; i < head.environment; i++) {
        if (!(ret_program->environment[i] = next_string(&at, end)))
            return false;
    }
    return at == end;
}
