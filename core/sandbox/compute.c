/*
 * compute.c -- the server's side: asks the spawner for a child, reads its output, learns its end.
 *
 * A request goes to the spawner as one message, so threads share its socket without a lock. The lock
 * guards only which spawner is the current one. When a send fails, the spawner is gone: the thread that notices
 * gets another one from the zygote, and the others find it there.
 */

#include "core/sandbox/compute.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/lock.h"
#include "core/sandbox/message.h"
#include "core/sandbox/spawner.h"

#define READ_SIZE ((size_t)64 * 1024)

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

/* ---- The zygote and the spawner ---- */

enum err_code compute_start(const struct compute_task *tasks, size_t count, struct err *err)
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

void compute_stop(void)
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
    char byte;

    if (sandbox.spawner < 0 &&
        (send_fds(sandbox.zygote, "", 1, NULL, 0) != 1 ||
         receive_fds(sandbox.zygote, &byte, 1, &sandbox.spawner, 1) != 1))
        return -1;
    return sandbox.spawner < 0 ? -1 : fcntl(sandbox.spawner, F_DUPFD_CLOEXEC, 0);
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

/* ---- One child ---- */

static bool send_request(const struct compute_plan *plan, const int *fds)
{
    struct spawn_request request = {.task = (uint32_t)plan->task, .wall_ms = plan->wall_ms};
    bool sent = false;

    for (int attempt = 0; !sent && attempt < 2; attempt++) {
        int spawner = current_spawner();

        if (spawner < 0)
            return false;
        sent = !FAULT("sandbox.send") && send_fds(spawner, &request, sizeof(request), fds,
                                                  SPAWN_FDS) == (long)sizeof(request);
        close(spawner);
        if (!sent)
            drop_dead_spawner();
    }
    return sent;
}

/* Without a message at its end, the spawner is gone. */
static void take_end(int channel, struct compute_end *ret_end)
{
    if (receive_fds(channel, ret_end, sizeof(*ret_end), NULL, 0) == (long)sizeof(*ret_end))
        return;
    *ret_end = (struct compute_end){.why = COMPUTE_LOST};
    drop_dead_spawner();
}

/* Until the child has ended and all of its output is read. */
static enum err_code follow(const struct compute_plan *plan, int output, int channel,
                            struct buf *ret_output, struct compute_end *ret_end,
                            struct err *err)
{
    size_t room = plan->output_max;
    ssize_t got;

    do {
        got = read(output, buf_reserve(ret_output, READ_SIZE), READ_SIZE);
        if (got > 0 && (size_t)got > room)
            return err_set(err, ERR_TOO_LARGE, "the output has more than %zu bytes",
                           plan->output_max);
        if (got > 0) {
            buf_added(ret_output, (size_t)got);
            room -= (size_t)got;
        }
    } while (got > 0 || (got < 0 && errno == EINTR));
    take_end(channel, ret_end);
    return ERR_OK;
}

enum err_code compute_run(const struct compute_plan *plan, struct buf *ret_output,
                          struct compute_end *ret_end, struct err *err)
{
    int output[2] = {-1, -1}, channel[2] = {-1, -1};
    enum err_code rc;

    if (!sandbox.zygote_pid)
        return err_set(err, ERR_INTERNAL,
                       "cannot start a confined child: no spawner was started");
    if (pipe2(output, O_CLOEXEC) == 0 &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) == 0 &&
        send_request(plan, (int[]){plan->input, output[1], channel[1]}))
        rc = ERR_OK;
    else
        rc = no_child(err);
    /* Only the child and the spawner have these sides now, so their end can be seen. */
    if (output[1] >= 0)
        close(output[1]);
    if (channel[1] >= 0)
        close(channel[1]);
    if (!rc)
        rc = follow(plan, output[0], channel[0], ret_output, ret_end, err);
    if (output[0] >= 0)
        close(output[0]);
    if (channel[0] >= 0)
        close(channel[0]);
    return rc;
}
