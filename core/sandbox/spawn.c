/*
 * spawn.c -- which spawner is the current one, and requests to it.
 */

#include "core/sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/lock.h"
#include "core/sandbox/message.h"

static struct {
    struct lock lock; /* guards `spawner`; and one request to the zygote at a time */
    int spawner;      /* its socket; -1 until there is one */
    int zygote;
    pid_t zygote_pid; /* 0: not started */
} sandbox = {.spawner = -1, .zygote = -1};

static enum err_code no_child(struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot start a confined child: %s", strerror(errno));
}

enum err_code spawn_start(const struct compute_task *tasks, size_t count, struct err *err)
{
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return no_child(err);
    pid = fork();
    if (pid == 0)
        zygote_main(ends[1], tasks, count);
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

enum err_code spawn_send(const struct spawn_request *request, size_t size, const int *fds,
                         size_t count, struct err *err)
{
    if (!sandbox.zygote_pid)
        return err_set(err, ERR_INTERNAL,
                       "cannot start a confined child: no spawner was started");
    for (int attempt = 0; attempt < 2; attempt++) {
        int spawner = current_spawner();
        bool sent;

        if (spawner < 0)
            break;
        sent = !FAULT("sandbox.send") &&
               send_fds(spawner, request, size, fds, count) == (long)size;
        close(spawner);
        if (sent)
            return ERR_OK;
        drop_dead_spawner();
    }
    return no_child(err);
}

/* Without a message at its end, the spawner is gone. */
void spawn_take_end(int channel, struct compute_end *ret_end)
{
    if (receive_fds(channel, ret_end, sizeof(*ret_end), NULL, 0, NULL) ==
        (long)sizeof(*ret_end))
        return;
    *ret_end = (struct compute_end){.why = COMPUTE_LOST};
    drop_dead_spawner();
}
