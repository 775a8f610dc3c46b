/*
 * box/main.c -- the first process of a box, and the supervisors of its commands.
 *
 *   server ──▶ PID 1 ── supervisor ── command ── its children, daemons ...
 *                 └──── supervisor ── command
 *
 * As PID 1 of its namespace it cannot be killed or stopped from inside, and when it ends, the kernel kills all others.
 * So it ends whenever something is not as it should be.
 *
 * A supervisor is a subreaper: all descendants of its command stay its own, also those that fork twice and call
 * setsid(). It stays until the last of them has ended. To kill a tree it kills its children, again and again, until
 * it has none: the children of the killed become its own.
 *
 * Everything in a box has one user, so a command may signal its supervisor. Stopped: SIGCONT goes with each SIGTERM.
 * Killed: its descendants become PID 1's, which kills them. What has not ended after KILL_MS costs the box.
 *
 * This program has no rights and no secrets. It is static, with the C library only, because the box's /usr is chosen
 * by the operator.
 */

#include "core/sandbox/box/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/sandbox/landlock.h"
#include "core/sandbox/message.h"

#define KILL_MS      1000
#define DESCRIPTORS  1024 /* of one process */
#define CONTROL      0
#define COMMAND_NICE 5

#define NO_RETURN __attribute__((noreturn))

struct command {
    pid_t supervisor; /* 0: it was killed */
    int channel;
    /* For its end; 0: none; UINT64_MAX: nothing more comes on its channel */
    uint64_t deadline_ms;
    int may_leave;
};

static struct command commands[BOX_COMMANDS];
static size_t command_count;
/* While a killed supervisor's descendants end; 0: no orphan */
static uint64_t orphans_deadline_ms;

static NO_RETURN void end_box(const char *why)
{
    (void)dprintf(STDERR_FILENO, "box: %s: %s\n", why, strerror(errno));
    _exit(1);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void report(int channel, enum box_ending ending, int status, const struct rusage *used)
{
    struct box_ended message = {.ending = ending, .status = status};

    if (used) {
        message.cpu_us = (uint64_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000 +
                         (uint64_t)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
        message.peak_bytes = (uint64_t)used->ru_maxrss * 1024;
    }
    (void)send_fds(channel, &message, sizeof(message), NULL, 0);
}

/* ---- Children ---- */

static struct command *find_command(pid_t supervisor)
{
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i].supervisor == supervisor)
            return &commands[i];
    }
    return NULL;
}

/* Kills the children of this process, PID 1's supervisors excepted. Returns how many there were, also dead ones that
 * are not reaped yet. */
static size_t kill_children(void)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    size_t count = 0;
    int pid;

    if (!file)
        end_box("cannot list processes");
    while (fscanf(file, "%d", &pid) == 1) {
        if (find_command(pid))
            continue;
        kill(pid, SIGKILL);
        count++;
    }
    (void)fclose(file);
    return count;
}

/* ---- A command ---- */

static NO_RETURN void run_command(const struct program *program, const int *fds, size_t count)
{
    sigset_t none;

    setsid();
    /* The server's streams come first, and so do supervisors: they must kill in time. */
    (void)setpriority(PRIO_PROCESS, 0, COMMAND_NICE);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!keep_fds(fds, count))
        _exit(126);
    if (*program->folder && chdir(program->folder) != 0) {
        (void)dprintf(STDERR_FILENO, "%s: %s\n", program->folder, strerror(errno));
        _exit(126);
    }
    environ = (char **)(uintptr_t)program->environment;
    execvp(program->arguments[0], (char **)(uintptr_t)program->arguments);
    (void)dprintf(STDERR_FILENO, "%s: %s\n", program->arguments[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

/* Takes one child that has ended, and reports the command; a supervisor's channel is its descriptor 0. Returns false
 * if none has, and ends the supervisor when there is no child any more. */
static int take_child(pid_t *command, int options)
{
    struct rusage used;
    int status;
    pid_t pid = wait4(-1, &status, options, &used);

    if (pid > 0 && pid == *command) {
        report(CONTROL, BOX_RAN, status, &used);
        *command = 0;
    }
    if (pid < 0 && errno == ECHILD)
        _exit(0);
    return pid > 0;
}

/* All signals are blocked, and taken here: SIGKILL and SIGSTOP are the only ones that a command can use against it. */
static NO_RETURN void supervise(const struct program *program, const int *fds, size_t count)
{
    sigset_t all;
    pid_t command;
    int killing = 0;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    command_count = 0; /* PID 1's, which this process must not spare */
    command = fork();
    if (command == 0)
        run_command(program, fds + 1, count - 1);
    if (!keep_fds(fds, 1))
        _exit(1);
    if (command < 0) {
        report(CONTROL, BOX_NO_PROCESS, 0, NULL);
        _exit(0);
    }
    sigfillset(&all);
    while (!killing) {
        int signal = sigwaitinfo(&all, NULL);

        killing = signal == SIGTERM;
        if (signal == SIGINT && command)
            kill(-command, SIGINT);
        while (take_child(&command, WNOHANG))
            ;
    }
    for (;;) {
        kill_children();
        take_child(&command, 0);
        while (take_child(&command, WNOHANG))
            ;
    }
}

/* ---- PID 1 ---- */

static void end_command(struct command *command)
{
    kill(command->supervisor, SIGTERM);
    kill(command->supervisor, SIGCONT);
    command->deadline_ms = now_ms() + KILL_MS;
}

static void remove_command(struct command *command)
{
    close(command->channel);
    *command = commands[--command_count];
}

static void start_command(void)
{
    static char message[MESSAGE_SIZE];
    static struct program program;
    int fds[MESSAGE_FDS];
    size_t count;
    long size = receive_fds(CONTROL, message, sizeof(message), fds, MESSAGE_FDS, &count);
    pid_t pid = -1;

    if (size <= 0)
        _exit(0);
    if (count < 4 || !program_read(message, (size_t)size, &program)) {
        close_fds(fds, count);
        return;
    }
    if (command_count == BOX_COMMANDS) {
        report(fds[0], BOX_FULL, 0, NULL);
    } else {
        pid = fork();
        if (pid == 0)
            supervise(&program, fds, count);
        if (pid < 0)
            report(fds[0], BOX_NO_PROCESS, 0, NULL);
        else
            commands[command_count++] = (struct command){.supervisor = pid, .channel = fds[0]};
    }
    close_fds(fds + (pid > 0), count - (pid > 0));
}

static void take_signal(struct command *command)
{
    char byte = 0;

    if (recv(command->channel, &byte, 1, MSG_DONTWAIT) == 1) {
        if (byte == BOX_INTERRUPT)
            kill(command->supervisor, SIGINT);
        if (byte == BOX_LEAVE)
            command->may_leave = 1;
    } else if (command->may_leave) {
        command->deadline_ms = UINT64_MAX;
    } else {
        end_command(command);
    }
}

/* When the orphans have ended, so that nothing of the command is left. */
static void report_lost(void)
{
    for (size_t i = command_count; i-- > 0;) {
        if (commands[i].supervisor)
            continue;
        report(commands[i].channel, BOX_UNWATCHED, 0, NULL);
        remove_command(&commands[i]);
    }
}

/* Supervisors that have ended, and orphans of those that something in the box has killed. */
static void reap(void)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct command *command = find_command(pid);

        if (!command)
            continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            remove_command(command);
            continue;
        }
        command->supervisor = 0;
        command->deadline_ms = UINT64_MAX;
        orphans_deadline_ms = now_ms() + KILL_MS;
    }
    if (orphans_deadline_ms && kill_children() == 0) {
        orphans_deadline_ms = 0;
        report_lost();
    }
}

/* Milliseconds to the nearest deadline; -1 without any. One that has passed costs the box. */
static int time_left(void)
{
    uint64_t nearest = orphans_deadline_ms ? orphans_deadline_ms : UINT64_MAX, now = now_ms();

    for (size_t i = 0; i < command_count; i++) {
        if (commands[i].deadline_ms && commands[i].deadline_ms < nearest)
            nearest = commands[i].deadline_ms;
    }
    if (nearest == UINT64_MAX)
        return -1;
    if (nearest <= now)
        end_box("processes do not end");
    return (int)(nearest - now);
}

static void step(int signals)
{
    struct pollfd polled[2 + BOX_COMMANDS];
    struct signalfd_siginfo info;
    size_t count = command_count;

    polled[0] = (struct pollfd){.fd = CONTROL, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = signals, .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        int fd = commands[i].deadline_ms ? -1 : commands[i].channel;

        polled[2 + i] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    if (poll(polled, 2 + count, time_left()) < 0 && errno != EINTR)
        end_box("poll");
    for (size_t i = 0; i < count; i++) {
        if (polled[2 + i].revents)
            take_signal(&commands[i]);
    }
    /* Both change the list, so they come last. */
    if (polled[1].revents) {
        while (read(signals, &info, sizeof(info)) > 0)
            ;
        reap();
    }
    if (polled[0].revents)
        start_command();
}

/* ---- The start ---- */

static void set_limit(__rlimit_resource_t resource, uint64_t value)
{
    struct rlimit limit = {value, value};

    if (setrlimit(resource, &limit) != 0)
        end_box("cannot set a limit");
}

/* The folders that can be written are known to bubblewrap, too: this is the wall behind that one. */
static void restrict_files(char **writable)
{
    static const char *const readable[] = {"/usr", "/etc", "/proc", "/sys", "/mnt"};
    static const char *const own[] = {"/tmp", "/dev"};
    int rules;

    if (!landlock_version())
        return;
    rules = landlock_rules();
    if (rules < 0 || !landlock_allow(rules, "/", LANDLOCK_LIST))
        end_box("landlock");
    for (size_t i = 0; i < sizeof(readable) / sizeof(*readable); i++) {
        if (!landlock_allow(rules, readable[i], LANDLOCK_READ))
            end_box("landlock");
    }
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        if (!landlock_allow(rules, own[i], LANDLOCK_WRITE))
            end_box("landlock");
    }
    for (; *writable; writable++) {
        if (!landlock_allow(rules, *writable, LANDLOCK_WRITE))
            end_box("landlock");
    }
    if (!landlock_apply(rules))
        end_box("landlock");
    close(rules);
}

/* The server accepts on it. Before the first command, so that none can take the port. -1: port 0. */
static int open_listener(uint64_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)port)};
    int fd;

    if (!port)
        return -1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(fd, SOMAXCONN) != 0)
        end_box("cannot listen");
    return fd;
}

static void report_up(uint64_t port)
{
    struct box_up up = {.version = BOX_VERSION};
    int listener = open_listener(port);

    if (send_fds(CONTROL, &up, sizeof(up), &listener, listener >= 0) < 0)
        end_box("cannot begin");
    if (listener >= 0)
        close(listener);
}

/* Its arguments: bytes of memory of a process, processes, bytes of a file, the port of the listener or 0, and the
 * folders that can be written. */
int main(int argc, char **argv)
{
    int control[] = {CONTROL, STDOUT_FILENO, STDERR_FILENO}, null, signals;
    sigset_t all;

    if (argc < 5 || getpid() != 1)
        end_box("not the first process of a box");
    if (!keep_fds(control, 3) || prctl(PR_SET_DUMPABLE, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || chdir("/") != 0)
        end_box("cannot begin");
    set_limit(RLIMIT_DATA, strtoull(argv[1], NULL, 10));
    set_limit(RLIMIT_NPROC, strtoull(argv[2], NULL, 10));
    set_limit(RLIMIT_FSIZE, strtoull(argv[3], NULL, 10));
    set_limit(RLIMIT_NOFILE, DESCRIPTORS);
    set_limit(RLIMIT_CORE, 0);
    if (access("/proc/thread-self/children", R_OK) != 0)
        end_box("the kernel does not list children (CONFIG_PROC_CHILDREN)");
    restrict_files(argv + 5);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (signals < 0 || null < 0)
        end_box("cannot begin");
    report_up(strtoull(argv[4], NULL, 10));
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
    for (;;)
        step(signals);
}
