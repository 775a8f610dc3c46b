/*
 * spawner.c -- the processes that fork: a zygote, its spawner, the children.
 *
 * None of them has a thread, so each may fork and allocate as it likes. The spawner waits in one poll()
 * for a request, for the end of each child (a pidfd), for a caller that has gone (the end channel), and for the
 * nearest deadline. COMPUTE_CHILDREN bounds the list, so it is looked through as it is.
 *
 * How they end: the zygote and the spawner see the end of their socket when the server ends, killed or not.
 * A child has the spawner's death as its own (PR_SET_PDEATHSIG).
 */

#include "core/sandbox/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/sandbox/message.h"

/* ---- A child ---- */

/* Nothing but descriptors 0 and 1 is left open. What a parser prints goes nowhere: it is hostile, too. */
static bool set_streams(const int *fds)
{
    int streams[] = {fds[SPAWN_INPUT], fds[SPAWN_OUTPUT],
                     open("/dev/null", O_RDWR | O_CLOEXEC)};

    return streams[2] >= 0 && keep_fds(streams, COUNT_OF(streams));
}

/* The process ends by _exit(): at exit, what the server has registered would run, and LeakSanitizer would
 * want to trace a process that cannot be traced. */
static NO_RETURN void child_main(pid_t spawner, const struct compute_task *task, const int *fds)
{
    struct err err;

    /* A spawner that has ended before this sends no signal any more. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != spawner)
        _exit(COMPUTE_NOT_CONFINED);
    setpgid(0, 0);
    if (clearenv() != 0 || !set_streams(fds) || confine_self(task->purpose, &err) != ERR_OK)
        _exit(COMPUTE_NOT_CONFINED);
    _exit(task->run());
}

/* ---- The spawner ---- */

struct child {
    pid_t pid;
    int pidfd;
    int end;
    uint64_t deadline_ns;
    bool late;
};

struct spawner {
    int server;
    const struct compute_task *tasks;
    size_t task_count;
    struct child children[COMPUTE_CHILDREN];
    size_t count;
};

static void report(int end, enum compute_why why, int status)
{
    struct compute_end message = {why, status};

    (void)send_fds(end, &message, sizeof(message), NULL, 0);
}

static bool start_child(struct spawner *spawner, const struct spawn_request *request,
                        const int *fds)
{
    struct child *child = &spawner->children[spawner->count];
    pid_t self = getpid(), pid = fork();

    if (pid == 0)
        child_main(self, &spawner->tasks[request->task], fds);
    if (pid < 0)
        return false;
    *child = (struct child){
        .pid = pid,
        .pidfd = pidfd_open(pid, 0),
        .end = fds[SPAWN_END],
        .deadline_ns = clock_mono_ns() + request->wall_ms * NS_PER_MS,
    };
    if (child->pidfd < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return false;
    }
    spawner->count++;
    return true;
}

/* False at the end of the server. */
static bool take_request(struct spawner *spawner)
{
    struct spawn_request request;
    int fds[SPAWN_FDS];
    size_t count;
    long got = receive_fds(spawner->server, &request, sizeof(request), fds, SPAWN_FDS, &count);
    bool started = false;

    if (got <= 0)
        return got < 0 && errno == EBADMSG;
    if (got == (long)sizeof(request) && count == SPAWN_FDS &&
        request.task < spawner->task_count) {
        if (spawner->count == COMPUTE_CHILDREN)
            report(fds[SPAWN_END], COMPUTE_BUSY, 0);
        else
            started = start_child(spawner, &request, fds);
    }
    close_fds(fds + (started ? 1 : 0), count - (started ? 1 : 0));
    return true;
}

static void kill_child(const struct child *child)
{
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL);
}

static void reap(struct spawner *spawner, size_t index)
{
    struct child *child = &spawner->children[index];
    int status = 0;

    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (child->late)
        report(child->end, COMPUTE_LATE, 0);
    else if (WIFEXITED(status))
        report(child->end, COMPUTE_EXITED, WEXITSTATUS(status));
    else
        report(child->end, COMPUTE_KILLED, WTERMSIG(status));
    close(child->pidfd);
    close(child->end);
    *child = spawner->children[--spawner->count];
}

/* Milliseconds to the nearest deadline, rounded up; -1 without a child. */
static int time_left(const struct spawner *spawner)
{
    uint64_t now = clock_mono_ns(), nearest = UINT64_MAX;

    for (size_t i = 0; i < spawner->count; i++) {
        const struct child *child = &spawner->children[i];

        if (!child->late && child->deadline_ns < nearest)
            nearest = child->deadline_ns;
    }
    if (nearest == UINT64_MAX)
        return -1;
    return nearest <= now ? 0 : (int)((nearest - now) / NS_PER_MS) + 1;
}

static void kill_late(struct spawner *spawner)
{
    uint64_t now = clock_mono_ns();

    for (size_t i = 0; i < spawner->count; i++) {
        struct child *child = &spawner->children[i];

        if (!child->late && child->deadline_ns <= now) {
            child->late = true;
            kill_child(child);
        }
    }
}

/* Polls the server, then for each child its pidfd and its end. */
static bool spawner_step(struct spawner *spawner)
{
    struct pollfd polled[1 + 2 * COMPUTE_CHILDREN];
    size_t count = spawner->count;

    polled[0] = (struct pollfd){.fd = spawner->server, .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        polled[1 + 2 * i] = (struct pollfd){.fd = spawner->children[i].pidfd, .events = POLLIN};
        polled[2 + 2 * i] = (struct pollfd){.fd = spawner->children[i].end, .events = POLLIN};
    }
    if (poll(polled, 1 + 2 * count, time_left(spawner)) < 0)
        return errno == EINTR;
    kill_late(spawner);
    /* From the last one down: reap() moves the last child into the gap. */
    for (size_t i = count; i-- > 0;) {
        if (polled[1 + 2 * i].revents)
            reap(spawner, i);
        else if (polled[2 + 2 * i].revents)
            kill_child(&spawner->children[i]);
    }
    return !polled[0].revents || take_request(spawner);
}

static NO_RETURN void spawner_main(int server, const struct compute_task *tasks, size_t count)
{
    struct spawner *spawner = mem_new(struct spawner);

    spawner->server = server;
    spawner->tasks = tasks;
    spawner->task_count = count;
    while (spawner_step(spawner))
        ;
    for (size_t i = 0; i < spawner->count; i++)
        kill_child(&spawner->children[i]);
    _exit(0);
}

/* ---- The zygote ---- */

/* Only the socket and the standard streams stay open. */
static void keep_only(int socket)
{
    if (socket > STDERR_FILENO + 1)
        syscall(SYS_close_range, STDERR_FILENO + 1, (unsigned)socket - 1, 0U);
    syscall(SYS_close_range, (unsigned)socket + 1, ~0U, 0U);
}

static void make_spawner(int server, const struct compute_task *tasks, size_t count)
{
    int ends[2] = {-1, -1};

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
        pid_t pid = fork();

        if (pid == 0) {
            /* The zygote lets the kernel reap its spawners; a spawner reaps its children itself. */
            (void)signal(SIGCHLD, SIG_DFL);
            keep_only(ends[1]);
            spawner_main(ends[1], tasks, count);
        }
        (void)send_fds(server, "", 1, ends, pid < 0 ? 0 : 1);
        close(ends[0]);
        close(ends[1]);
    } else {
        (void)send_fds(server, "", 1, NULL, 0);
    }
}

/* The server's handlers and its blocked signals are not for these processes. */
static void restore_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &plain, NULL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void zygote_main(int server, const struct compute_task *tasks, size_t count)
{
    char byte;

    setsid();
    restore_signals();
    (void)signal(SIGCHLD, SIG_IGN);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    keep_only(server);
    while (receive_fds(server, &byte, 1, NULL, 0, NULL) == 1)
        make_spawner(server, tasks, count);
    _exit(0);
}
