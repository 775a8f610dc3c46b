/*
 * A program of PostgreSQL's as a child process: started, fed, read, ended.
 *
 * The server has many threads, and fork() copies only one of them. A lock of malloc or of the
 * log that another thread held at that moment stays locked in the child for ever. So between
 * fork() and execv() the child makes system calls and nothing else: it does not allocate, log or
 * format. posix_spawn() would do that part, but it cannot change the user, which root needs:
 * PostgreSQL refuses to run as root.
 *
 * A child is in a session of its own. Ctrl-C in the terminal then reaches the server alone,
 * which stops the cluster in its own order; and killing the session's group kills also what the
 * program started itself, as initdb does.
 *
 * Its end is awaited on a pidfd, together with a deadline and the descriptor that stops the
 * server. waitpid() knows no deadline, and SIGCHLD would be one handler for the whole process.
 */

#include "core/store/embedded/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- In the child: only what is safe between fork and exec ---- */

/* The system calls themselves: the library's functions would signal the other threads, which
 * the child does not have. */
static bool become_user(const struct child_plan *plan)
{
    return syscall(SYS_setgroups, 0, NULL) == 0 &&
           syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid) == 0 &&
           syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid) == 0;
}

/* Descriptors of the server are closed, in case one was opened without O_CLOEXEC: a postmaster
 * outlives the server, and would keep its sockets and locks. */
static void set_streams(const struct child_plan *plan, int null)
{
    dup2(plan->input >= 0 ? plan->input : null, STDIN_FILENO);
    dup2(plan->output >= 0 ? plan->output : null, STDOUT_FILENO);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0U);
}

/* The server ignores SIGPIPE and blocks the signals that it reads from a signalfd; both would be
 * inherited through execv(). */
static void restore_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int signal = 1; signal < NSIG; signal++)
        sigaction(signal, &plain, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static NO_RETURN void become(const struct child_plan *plan, int null)
{
    setsid();
    umask(077);
    if (plan->switch_user && !become_user(plan))
        _exit(CHILD_NO_USER);
    if (chdir(plan->directory) != 0)
        _exit(CHILD_NO_DIRECTORY);
    set_streams(plan, null);
    restore_signals();
    /* execv() changes nothing in its arguments; its type is older than const. */
    execv(plan->argv[0], (char *const *)(uintptr_t)plan->argv);
    _exit(CHILD_NO_PROGRAM);
}

/* ---- In ourselves ---- */

enum err_code child_start(const struct child_plan *plan, struct child *ret_child,
                          struct err *err)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct child child = {.pid = null < 0 ? -1 : fork()};

    if (child.pid == 0)
        become(plan, null);
    if (null >= 0)
        close(null);
    if (child.pid < 0)
        return err_set(err, ERR_INTERNAL, "cannot start %s: %s", plan->argv[0],
                       strerror(errno));

    child.pidfd = pidfd_open(child.pid, 0);
    if (child.pidfd < 0) {
        enum err_code rc =
            err_set(err, ERR_INTERNAL, "cannot watch %s: %s", plan->argv[0], strerror(errno));
        kill(child.pid, SIGKILL);
        waitpid(child.pid, NULL, 0);
        return rc;
    }
    *ret_child = child;
    return ERR_OK;
}

int child_reap(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The child has a session of its own, once it has come that far. */
static void kill_all(const struct child *child)
{
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL);
}

static enum err_code wait_for_end(struct child *child, const struct patience *patience,
                                  int *ret_status, struct err *err)
{
    bool ended = patience_wait(patience, &child->pidfd, 1);
    int status;

    if (!ended)
        kill_all(child);
    status = child_reap(child->pid);
    close(child->pidfd);
    if (!ended)
        return patience_lost(patience, "a program of PostgreSQL", err);
    *ret_status = status;
    return ERR_OK;
}

/* Reads to the end, or until patience runs out. What does not fit is discarded. */
static void read_output(int fd, const struct patience *patience, char *ret_output, size_t size)
{
    size_t length = 0;
    char chunk[512];
    ssize_t count;

    while (patience_wait(patience, &fd, 1) && (count = read(fd, chunk, sizeof(chunk))) > 0) {
        size_t room = size - 1 - length;
        size_t kept = (size_t)count < room ? (size_t)count : room;

        memcpy(ret_output + length, chunk, kept);
        length += kept;
    }
    ret_output[length] = '\0';
}

/* The text is in the pipe before the child starts: it is shorter than the buffer of a pipe. */
static bool fill_input(int pipe_fd, const char *input)
{
    size_t length = input ? strlen(input) : 0;

    return write(pipe_fd, input ? input : "", length) == (ssize_t)length;
}

enum err_code child_run(const struct child_plan *plan, const char *input,
                        const struct patience *patience, char *ret_output, size_t size,
                        int *ret_status, struct err *err)
{
    struct child_plan piped = *plan;
    struct child child;
    int in[2], out[2];
    enum err_code rc;

    if (pipe2(in, O_CLOEXEC) != 0)
        return err_set(err, ERR_INTERNAL, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return err_set(err, ERR_INTERNAL, "cannot make a pipe: %s", strerror(errno));
    }
    piped.input = in[0];
    piped.output = out[1];
    rc = fill_input(in[1], input) ? child_start(&piped, &child, err)
                                  : err_set(err, ERR_INTERNAL, "cannot fill a pipe");
    close(in[0]);
    close(in[1]);
    close(out[1]);
    if (!rc) {
        read_output(out[0], patience, ret_output, size);
        rc = wait_for_end(&child, patience, ret_status, err);
    }
    close(out[0]);
    return rc;
}
