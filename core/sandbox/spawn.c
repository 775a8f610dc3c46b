/*
 * spawn.c -- which spawner is the current one, and requests to it.
 */

#include "core/sandbox/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/sandbox/cgroup.h"
#include "core/sandbox/message.h"

#define READ_SIZE ((size_t)64 * 1024)

static struct {
    struct lock lock; /* guards `spawner`; and one request to the zygote at a time */
    int spawner;      /* its socket; -1 until there is one */
    int zygote;
    pid_t zygote_pid; /* 0: not started */
    char *cgroup;     /* constant; see cgroup.h */
    struct err no_cgroup;
} sandbox = {.spawner = -1, .zygote = -1};

static enum err_code no_child(struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot start a confined child: %s", strerror(errno));
}

/* Before the first fork: the zygote and its spawners go along into the server's own part. */
static void find_cgroup(void)
{
    AUTO_FREE char *folder = NULL;
    enum err_code rc =
        cgroup_find("/sys/fs/cgroup", "/proc/self/cgroup", &folder, &sandbox.no_cgroup);

    if (!rc && !cgroup_is_delegated(folder))
        rc = err_set(&sandbox.no_cgroup, ERR_NOT_FOUND,
                     "the server's cgroup is not delegated to it");
    rc = rc ? rc : cgroup_prepare(folder, &sandbox.no_cgroup);
    if (!rc)
        sandbox.cgroup = TAKE(folder);
}

const char *spawn_cgroup(const char **ret_why)
{
    *ret_why = sandbox.no_cgroup.text;
    return sandbox.cgroup;
}

enum err_code spawn_start(const struct compute_task *tasks, size_t count, struct err *err)
{
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return no_child(err);
    find_cgroup();
    pid = fork();
    if (pid == 0)
        zygote_main(ends[1], tasks, count, sandbox.cgroup);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return no_child(err);
    }
    lock_init(&sandbox.lock, LOCK_SANDBOX);
    sandbox.zygote = ends[0];
    sandbox.zygote_pid = pid;
    return ERR_OK;
}

void spawn_stop(void)
{
    if (!sandbox.zygote_pid)
        return;
    close(sandbox.zygote);
    if (sandbox.spawner >= 0)
        close(sandbox.spawner);
    while (waitpid(sandbox.zygote_pid, NULL, 0) < 0 && errno == EINTR)
        ;
    lock_destroy(&sandbox.lock);
    sandbox.spawner = sandbox.zygote = -1;
    sandbox.zygote_pid = 0;
    free(TAKE(sandbox.cgroup));
}

/* A copy of the current spawner's socket, so that another thread may replace it meanwhile. The first spawner
 * is made here, too. -1: errno says why. */
static int current_spawner_locked(void) REQUIRES(sandbox.lock)
{
    size_t count = 0;
    char byte;

    if (sandbox.spawner < 0 &&
        (send_fds(sandbox.zygote, "", 1, NULL, 0) != 1 ||
         receive_fds(sandbox.zygote, &byte, 1, &sandbox.spawner, 1, &count) != 1 ||
         count != 1)) {
        sandbox.spawner = -1;
        return -1;
    }
    return fcntl(sandbox.spawner, F_DUPFD_CLOEXEC, 0);
}

static int current_spawner(void)
{
    int spawner;

    lock_acquire(&sandbox.lock);
    spawner = current_spawner_locked();
    lock_release(&sandbox.lock);
    return spawner;
}

/* Closes the current spawner's socket if the spawner has ended. The next request makes another one. */
static void drop_dead_spawner(void)
{
    struct pollfd polled = {0};

    lock_acquire(&sandbox.lock);
    polled.fd = sandbox.spawner;
    if (poll(&polled, 1, 0) > 0) {
        close(sandbox.spawner);
        sandbox.spawner = -1;
    }
    lock_release(&sandbox.lock);
}

static enum err_code send_message(const void *message, size_t size, const int *fds,
                                  size_t count, struct err *err)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        int spawner = current_spawner();
        bool sent;

        if (spawner < 0)
            break;
        sent = !FAULT("sandbox.send") &&
               send_fds(spawner, message, size, fds, count) == (long)size;
        close(spawner);
        if (sent)
            return ERR_OK;
        drop_dead_spawner();
    }
    return no_child(err);
}

enum err_code spawn_send(const struct spawn_request *request, const struct program *program,
                         const int *fds, size_t count, struct err *err)
{
    AUTO_FREE char *message = NULL;
    size_t size = 0;

    if (!sandbox.zygote_pid)
        return err_set(err, ERR_INTERNAL,
                       "cannot start a confined child: no spawner was started");
    if (!program)
        return send_message(request, sizeof(*request), fds, count, err);
    message = mem_zeroed(MESSAGE_SIZE, 1);
    memcpy(message, request, sizeof(*request));
    size = program_write(program, message + sizeof(*request), MESSAGE_SIZE - sizeof(*request));
    if (!size)
        return err_set(err, ERR_TOO_LARGE, "the arguments have more than %zu bytes",
                       MESSAGE_SIZE);
    return send_message(message, sizeof(*request) + size, fds, count, err);
}

/* Without a message at its end, the spawner is gone. */
static void take_end(int channel, struct compute_end *ret_end)
{
    if (receive_fds(channel, ret_end, sizeof(*ret_end), NULL, 0, NULL) ==
        (long)sizeof(*ret_end))
        return;
    *ret_end = (struct compute_end){.why = COMPUTE_LOST};
    drop_dead_spawner();
}

/* Until the child has ended and all of its output is read. */
static enum err_code follow(size_t output_max, int output, int channel, struct buf *ret_output,
                            struct compute_end *ret_end, struct err *err)
{
    size_t room = output_max;
    ssize_t got;

    do {
        got = read(output, buf_reserve(ret_output, READ_SIZE), READ_SIZE);
        if (got > 0 && (size_t)got > room)
            return err_set(err, ERR_TOO_LARGE, "the output has more than %zu bytes",
                           output_max);
        if (got > 0) {
            buf_added(ret_output, (size_t)got);
            room -= (size_t)got;
        }
    } while (got > 0 || (got < 0 && errno == EINTR));
    take_end(channel, ret_end);
    return ERR_OK;
}

enum err_code spawn_run(const struct spawn_request *request, const struct program *program,
                        const int *inputs, size_t count, size_t output_max,
                        struct buf *ret_output, struct compute_end *ret_end, struct err *err)
{
    int output[2] = {-1, -1}, channel[2] = {-1, -1};
    int fds[MESSAGE_FDS];
    enum err_code rc;

    assert(count >= 1 && count + 2 <= COUNT_OF(fds));
    if (pipe2(output, O_CLOEXEC) == 0 &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) == 0) {
        fds[SPAWN_END] = channel[1];
        fds[SPAWN_INPUT] = inputs[0];
        fds[SPAWN_OUTPUT] = output[1];
        memcpy(fds + SPAWN_FDS, inputs + 1, sizeof(int) * (count - 1));
        rc = spawn_send(request, program, fds, count + 2, err);
    } else {
        rc = no_child(err);
    }
    /* Only the child and the spawner have these sides now, so their end can be seen. */
    if (output[1] >= 0)
        close(output[1]);
    if (channel[1] >= 0)
        close(channel[1]);
    if (!rc)
        rc = follow(output_max, output[0], channel[0], ret_output, ret_end, err);
    if (output[0] >= 0)
        close(output[0]);
    if (channel[0] >= 0)
        close(channel[0]);
    return rc;
}
