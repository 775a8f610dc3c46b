/*
 * compute.c -- asks the spawner for a child, reads its output, learns its end.
 */

#include "core/sandbox/compute.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/sandbox/spawn.h"

#define READ_SIZE ((size_t)64 * 1024)

enum err_code compute_start(const struct compute_task *tasks, size_t count, struct err *err)
{
    return spawn_start(tasks, count, err);
}

void compute_stop(void)
{
    spawn_stop();
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
    spawn_take_end(channel, ret_end);
    return ERR_OK;
}

enum err_code compute_run(const struct compute_plan *plan, struct buf *ret_output,
                          struct compute_end *ret_end, struct err *err)
{
    struct spawn_request request = {
        .kind = SPAWN_TASK, .wall_ms = plan->wall_ms, .task = (uint32_t)plan->task};
    int output[2] = {-1, -1}, channel[2] = {-1, -1};
    enum err_code rc;

    if (pipe2(output, O_CLOEXEC) == 0 &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) == 0) {
        int fds[SPAWN_FDS] = {
            [SPAWN_INPUT] = plan->input, [SPAWN_OUTPUT] = output[1], [SPAWN_END] = channel[1]};

        rc = spawn_send(&request, sizeof(request), fds, SPAWN_FDS, err);
    } else {
        rc = err_set(err, ERR_INTERNAL, "cannot start a confined child: %s", strerror(errno));
    }
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
