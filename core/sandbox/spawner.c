/*
 * spawner.c -- the processes that fork: a zygote, its spawner, the children.
 *
 * None of them has a thread, so each may fork and allocate as it likes. The spawner waits in one poll()
 * for a request, for the end of each child (a pidfd), for a caller that has gone (the end channel), and for the
 * nearest deadline. CHILDREN bounds the list, so it is looked through as it is.
 *
 * How they end: the zygote and the spawner see the end of their socket when the server ends, killed or not.
 * A child has the spawner's death as its own (PR_SET_PDEATHSIG).
 */

#include "core/sandbox/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
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
#include "core/sandbox/cgroup.h"
#include "core/sandbox/message.h"
#include "core/sandbox/tree.h"

/* ---- A child ---- */

/* Nothing but descriptors 0 and 1 is left open. What a parser prints goes nowhere: it is hostile, too. */
static bool set_streams(const int *fds)
{
    int streams[] = {fds[SPAWN_INPUT], fds[SPAWN_OUTPUT],
                     open("/dev/null", O_RDWR | O_CLOEXEC)};

    return streams[2] >= 0 && keep_fds(streams, COUNT_OF(streams));
}

/* A program has its output twice, and then what else was sent. */
static bool set_program_streams(const int *fds, size_t count)
{
    int streams[MESSAGE_FDS] = {fds[SPAWN_INPUT], fds[SPAWN_OUTPUT], fds[SPAWN_OUTPUT]};

    memcpy(streams + 3, fds + SPAWN_FDS, sizeof(int) * (count - SPAWN_FDS));
    return keep_fds(streams, count);
}

/* A spawner that has ended before this sends no signal any more. */
static void end_with(pid_t spawner)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != spawner)
        _exit(COMPUTE_NOT_CONFINED);
}

static char task_argument[COMPUTE_ARGUMENT];

const char *compute_argument(void)
{
    return task_argument;
}

/* The process ends by _exit(): at exit, what the server has registered would run, and LeakSanitizer would
 * want to trace a process that cannot be traced. */
static NO_RETURN void task_main(pid_t spawner, const struct compute_task *task,
                                const struct spawn_request *request, const int *fds)
{
    struct err err;

    end_with(spawner);
    memcpy(task_argument, request->argument, sizeof(task_argument) - 1);
    setpgid(0, 0);
    if (clearenv() != 0 || !set_streams(fds) || confine_self(task->purpose, &err) != ERR_OK)
        _exit(COMPUTE_NOT_CONFINED);
    _exit(task->run());
}

static bool become_user(uint32_t user)
{
    return !user || (setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 &&
                     setresuid(user, user, user) == 0);
}

/* Changing the user forgets the signal of the spawner's death, so that comes afterwards. What fails here is said on
 * the program's own output. */
static NO_RETURN void program_main(pid_t spawner, const struct spawn_request *request,
                                   const struct program *program, const int *fds, size_t count,
                                   const char *cgroup)
{
    setpgid(0, 0);
    if (!set_program_streams(fds, count))
        _exit(COMPUTE_NOT_CONFINED);
    if (cgroup && !cgroup_join(cgroup)) {
        (void)dprintf(STDERR_FILENO, "cannot join a cgroup: %s\n", strerror(errno));
        _exit(COMPUTE_NOT_CONFINED);
    }
    if (!become_user(request->user)) {
        (void)dprintf(STDERR_FILENO, "cannot become user %u: %s\n", request->user,
                      strerror(errno));
        _exit(COMPUTE_NOT_CONFINED);
    }
    end_with(spawner);
    execve(program->arguments[0], program->arguments, program->environment);
    (void)dprintf(STDERR_FILENO, "%s: %s\n", program->arguments[0], strerror(errno));
    _exit(COMPUTE_NOT_CONFINED);
}

/* ---- The spawner ---- */

/* Between two looks at the memory of a box that is at work. */
#define LOOK_NS (250 * NS_PER_MS)

struct child {
    pid_t pid;    /* 0: it has ended, and its cgroup is not empty yet */
    int pidfd;    /* then of its cgroup */
    char *cgroup; /* owned; NULL: it has none */
    int end;
    enum spawn_kind kind;
    uint64_t deadline_ns; /* UINT64_MAX: none */
    uint64_t memory;      /* bytes of all its processes; 0: any */
    uint64_t look_ns;     /* when its memory is looked at next; UINT64_MAX: it is not at work */
    bool killed;
    enum compute_why killed_for;
};

#define CHILDREN (COMPUTE_CHILDREN + SPAWN_PROGRAMS)

struct spawner {
    int server;
    const struct compute_task *tasks;
    size_t task_count;
    struct child children[CHILDREN];
    size_t count;
    const char *cgroup; /* the folder of those of boxes; NULL: they have none */
    pid_t owner;        /* the server: its number is in the names of cgroups */
    uint64_t cgroups;   /* that were made */
};

/* A request as it arrives. */
struct order {
    struct spawn_request request;
    char program[MESSAGE_SIZE - sizeof(struct spawn_request)];
};

static void report(int end, enum compute_why why, int status)
{
    struct compute_end message = {why, status};

    (void)send_fds(end, &message, sizeof(message), NULL, 0);
}

static bool is_full(const struct spawner *spawner, enum spawn_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < spawner->count; i++)
        count += spawner->children[i].kind == kind;
    return count == (kind == SPAWN_TASK ? COMPUTE_CHILDREN : SPAWN_PROGRAMS);
}

/* bubblewrap, and the first process of the box. */
#define OWN_PROCESSES 2

/* Only a box has limits. */
static bool make_cgroup(struct spawner *spawner, const struct spawn_request *request,
                        char **ret_cgroup, struct err *err)
{
    struct cgroup_limits limits = {.memory = request->memory,
                                   .processes = request->processes + OWN_PROCESSES,
                                   .cpus = request->cpus};
    AUTO_FREE char *name = NULL;

    if (!spawner->cgroup || request->kind != SPAWN_PROGRAM || !request->memory)
        return true;
    name = mem_printf("%d-%d-%llu", spawner->owner, getpid(),
                      (unsigned long long)++spawner->cgroups);
    return cgroup_make(spawner->cgroup, name, &limits, ret_cgroup, err) == ERR_OK;
}

static bool start_child(struct spawner *spawner, const struct spawn_request *request,
                        const struct program *program, const int *fds, size_t fd_count)
{
    struct child *child = &spawner->children[spawner->count];
    AUTO_FREE char *cgroup = NULL;
    pid_t self = getpid(), pid;
    struct err err;

    if (!make_cgroup(spawner, request, &cgroup, &err)) {
        (void)dprintf(fds[SPAWN_OUTPUT], "%s\n", err.text);
        return false;
    }
    pid = fork();
    if (pid == 0 && request->kind == SPAWN_TASK)
        task_main(self, &spawner->tasks[request->task], request, fds);
    if (pid == 0)
        program_main(self, request, program, fds, fd_count, cgroup);
    if (pid < 0) {
        if (cgroup)
            (void)cgroup_remove(cgroup, -1);
        return false;
    }
    *child = (struct child){
        .pid = pid,
        .pidfd = pidfd_open(pid, 0),
        .cgroup = TAKE(cgroup),
        .end = fds[SPAWN_END],
        .kind = (enum spawn_kind)request->kind,
        .memory = request->memory,
        .look_ns = UINT64_MAX,
        .deadline_ns =
            request->wall_ms ? clock_mono_ns() + request->wall_ms * NS_PER_MS : UINT64_MAX,
    };
    if (child->pidfd < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        free(child->cgroup);
        return false;
    }
    spawner->count++;
    return true;
}

/* A mistake of the server is no reason to end: its channel is closed, and so it learns. */
static bool is_sound(const struct spawner *spawner, struct order *order, size_t size,
                     size_t fd_count, struct program *ret_program)
{
    if (size < sizeof(order->request) || fd_count < SPAWN_FDS)
        return false;
    size -= sizeof(order->request);
    if (order->request.kind == SPAWN_TASK)
        return size == 0 && fd_count == SPAWN_FDS && order->request.task < spawner->task_count;
    return order->request.kind == SPAWN_PROGRAM &&
           program_read(order->program, size, ret_program);
}

/* False at the end of the server. */
static bool take_request(struct spawner *spawner)
{
    struct order order;
    struct program program;
    int fds[MESSAGE_FDS];
    size_t count;
    long got = receive_fds(spawner->server, &order, sizeof(order), fds, COUNT_OF(fds), &count);
    bool started = false;

    if (got <= 0)
        return got < 0 && errno == EBADMSG;
    if (is_sound(spawner, &order, (size_t)got, count, &program)) {
        if (is_full(spawner, (enum spawn_kind)order.request.kind))
            report(fds[SPAWN_END], COMPUTE_BUSY, 0);
        else
            started = start_child(spawner, &order.request, &program, fds, count);
    }
    /* The channel stays with the child. */
    close_fds(fds + started, count - started);
    return true;
}

static void kill_child(const struct child *child)
{
    if (child->cgroup)
        cgroup_kill(child->cgroup);
    if (child->pid) {
        kill(-child->pid, SIGKILL);
        kill(child->pid, SIGKILL);
    }
}

static void kill_for(struct child *child, enum compute_why why)
{
    if (child->killed)
        return;
    child->killed = true;
    child->killed_for = why;
    kill_child(child);
}

/* ---- The memory of a box ---- */

/* bubblewrap and the first process of the box. */
#define IDLE_PROCESSES 2

/* And the supervisors, which are its children. Commands are theirs. */
#define TRUSTED_LEVELS 3

static void look_at_memory(struct child *child, uint64_t now)
{
    struct tree tree;

    if (child->look_ns > now || child->killed || child->cgroup)
        return;
    tree_measure(child->pid, TRUSTED_LEVELS, &tree);
    child->look_ns = tree.processes > IDLE_PROCESSES ? now + LOOK_NS : UINT64_MAX;
    if (tree.bytes > child->memory)
        kill_for(child, COMPUTE_OVER_MEMORY);
}

/* The server's side of a child's channel: a byte, or the end. */
static void take_word(struct child *child)
{
    char byte;

    if (recv(child->end, &byte, 1, MSG_DONTWAIT) != 1)
        kill_child(child);
    else if (child->memory && !child->cgroup && child->look_ns == UINT64_MAX)
        child->look_ns = clock_mono_ns() + LOOK_NS;
}

static void report_end(const struct child *child, int status)
{
    if (child->killed)
        report(child->end, child->killed_for, 0);
    else if (child->cgroup && cgroup_is_over_memory(child->cgroup))
        report(child->end, COMPUTE_OVER_MEMORY, 0);
    else if (WIFEXITED(status))
        report(child->end, COMPUTE_EXITED, WEXITSTATUS(status));
    else
        report(child->end, COMPUTE_KILLED, WTERMSIG(status));
}

/* The child has ended, or what was in its cgroup. */
static void reap(struct spawner *spawner, size_t index)
{
    struct child *child = &spawner->children[index];
    int status = 0;

    if (child->pid) {
        while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
            ;
        report_end(child, status);
        close(child->pidfd);
        close(child->end);
        child->pid = 0;
        child->end = child->pidfd = -1;
        child->deadline_ns = child->look_ns = UINT64_MAX;
        if (child->cgroup) {
            cgroup_kill(child->cgroup);
            child->pidfd = cgroup_watch(child->cgroup);
        }
    }
    if (child->cgroup && !cgroup_remove(child->cgroup, child->pidfd))
        return;
    if (child->pidfd >= 0)
        close(child->pidfd);
    free(child->cgroup);
    *child = spawner->children[--spawner->count];
}

/* Milliseconds to the nearest deadline, rounded up; -1 without a child. */
static int time_left(const struct spawner *spawner)
{
    uint64_t now = clock_mono_ns(), nearest = UINT64_MAX;

    for (size_t i = 0; i < spawner->count; i++) {
        const struct child *child = &spawner->children[i];

        if (child->killed)
            continue;
        if (child->deadline_ns < nearest)
            nearest = child->deadline_ns;
        if (child->look_ns < nearest)
            nearest = child->look_ns;
    }
    if (nearest == UINT64_MAX)
        return -1;
    return nearest <= now ? 0 : (int)((nearest - now) / NS_PER_MS) + 1;
}

static void pass_time(struct spawner *spawner)
{
    uint64_t now = clock_mono_ns();

    for (size_t i = 0; i < spawner->count; i++) {
        struct child *child = &spawner->children[i];

        if (child->deadline_ns <= now)
            kill_for(child, COMPUTE_LATE);
        look_at_memory(child, now);
    }
}

/* Polls the server, then for each child its pidfd and its end. */
static bool spawner_step(struct spawner *spawner)
{
    struct pollfd polled[1 + 2 * CHILDREN];
    size_t count = spawner->count;

    polled[0] = (struct pollfd){.fd = spawner->server, .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        polled[1 + 2 * i] =
            (struct pollfd){.fd = spawner->children[i].pidfd,
                            .events = spawner->children[i].pid ? POLLIN : POLLPRI};
        polled[2 + 2 * i] = (struct pollfd){.fd = spawner->children[i].end, .events = POLLIN};
    }
    if (poll(polled, 1 + 2 * count, time_left(spawner)) < 0)
        return errno == EINTR;
    pass_time(spawner);
    /* From the last one down: reap() moves the last child into the gap. */
    for (size_t i = count; i-- > 0;) {
        if (polled[1 + 2 * i].revents)
            reap(spawner, i);
        else if (polled[2 + 2 * i].revents)
            take_word(&spawner->children[i]);
    }
    return !polled[0].revents || take_request(spawner);
}

static NO_RETURN void spawner_main(int server, const struct compute_task *tasks, size_t count,
                                   const char *cgroup, pid_t owner)
{
    struct spawner *spawner = mem_new(struct spawner);

    spawner->server = server;
    spawner->tasks = tasks;
    spawner->task_count = count;
    spawner->cgroup = cgroup;
    spawner->owner = owner;
    if (cgroup)
        cgroup_sweep(cgroup, owner); /* of a spawner that was killed */
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

static void make_spawner(int server, const struct compute_task *tasks, size_t count,
                         const char *cgroup, pid_t owner)
{
    int ends[2] = {-1, -1};

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
        pid_t pid = fork();

        if (pid == 0) {
            /* The zygote lets the kernel reap its spawners; a spawner reaps its children itself. */
            (void)signal(SIGCHLD, SIG_DFL);
            keep_only(ends[1]);
            spawner_main(ends[1], tasks, count, cgroup, owner);
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

void zygote_main(int server, const struct compute_task *tasks, size_t count, const char *cgroup)
{
    pid_t owner = getppid();
    char byte;

    setsid();
    restore_signals();
    (void)signal(SIGCHLD, SIG_IGN);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    keep_only(server);
    while (receive_fds(server, &byte, 1, NULL, 0, NULL) == 1)
        make_spawner(server, tasks, count, cgroup, owner);
    _exit(0);
}
