#include "core/store/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"

/* ---- In the child: only what is safe between fork and exec ---- */

/* The system calls themselves: the library's functions would speak to our other threads, of which
 * the child has none. */
static bool become_user(const struct child_plan *plan)
{
    return syscall(SYS_setgroups, 0, NULL) == 0 &&
           syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid) == 0 &&
           syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid) == 0;
}

static void set_streams(const struct child_plan *plan, int null)
{
    dup2(plan->input >= 0 ? plan->input : null, STDIN_FILENO);
    dup2(plan->output >= 0 ? plan->output : null, STDOUT_FILENO);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0U);
}

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
    /* execv() does not change what it is given; its type is older than const. */
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

static int ms_left(uint64_t deadline_ns)
{
    uint64_t now = clock_mono_ns();

    return now >= deadline_ns ? 0 : (int)((deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

bool pidfd_wait(int pidfd, uint64_t deadline_ns)
{
    struct pollfd watched = {.fd = pidfd, .events = POLLIN};
    int ready;

    do {
        ready = poll(&watched, 1, ms_left(deadline_ns));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

enum err_code child_wait(struct child *child, uint64_t deadline_ns, int *ret_status,
                         struct err *err)
{
    bool ended = pidfd_wait(child->pidfd, deadline_ns);
    int status = 0;

    if (!ended)
        kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(child->pidfd);
    child->pidfd = -1;
    if (!ended)
        return err_set(err, ERR_TIMEOUT, "a program did not end in time");
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ERR_OK;
}

/* Reads to the end, or to the deadline; what does not fit is thrown away. */
static void read_output(int fd, uint64_t deadline_ns, char *ret_output, size_t size)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    size_t length = 0;
    char chunk[512];
    ssize_t count;

    while (poll(&watched, 1, ms_left(deadline_ns)) > 0 &&
           (count = read(fd, chunk, sizeof(chunk))) > 0) {
        size_t room = size - 1 - length;
        size_t kept = (size_t)count < room ? (size_t)count : room;

        memcpy(ret_output + length, chunk, kept);
        length += kept;
    }
    ret_output[length] = '\0';
}

/* The text lies in the pipe before the child starts: it is shorter than a pipe holds. */
static bool fill_input(int pipe_fd, const char *input)
{
    size_t length = input ? strlen(input) : 0;

    return write(pipe_fd, input ? input : "", length) == (ssize_t)length;
}

enum err_code child_run(const struct child_plan *plan, const char *input, uint64_t deadline_ns,
                        char *ret_output, size_t size, int *ret_status, struct err *err)
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
        read_output(out[0], deadline_ns, ret_output, size);
        rc = child_wait(&child, deadline_ns, ret_status, err);
    }
    close(out[0]);
    return rc;
}
