#include "core/store/postmaster.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"

/* Fast mode takes a checkpoint; immediate mode ends at once. */
#define STOP_FAST_SECONDS      60
#define STOP_IMMEDIATE_SECONDS 10

/* ---- postmaster.pid ---- */

/* Its lines, from 0. The status is padded with blanks. */
enum {
    PID_LINE = 0,
    SOCKET_LINE = 4,
    STATUS_LINE = 7,
};

struct pid_file {
    pid_t pid;
    char socket_dir[PATH_MAX];
    bool ready;
};

static bool pid_file_path(const char *cluster, char ret_path[PATH_MAX])
{
    return snprintf(ret_path, PATH_MAX, "%s/postmaster.pid", cluster) < PATH_MAX;
}

static void take_line(struct pid_file *file, int number, const char *line)
{
    if (number == PID_LINE)
        file->pid = (pid_t)strtol(line, NULL, 10);
    if (number == SOCKET_LINE)
        snprintf(file->socket_dir, sizeof(file->socket_dir), "%s", line);
    if (number == STATUS_LINE)
        file->ready = strncmp(line, "ready", 5) == 0;
}

static bool pid_file_read(const char *cluster, struct pid_file *ret_file)
{
    char path[PATH_MAX], line[PATH_MAX];
    FILE *stream = pid_file_path(cluster, path) ? fopen(path, "re") : NULL;

    *ret_file = (struct pid_file){0};
    if (!stream)
        return false;
    for (int number = 0; fgets(line, sizeof(line), stream); number++) {
        line[strcspn(line, "\n")] = '\0';
        take_line(ret_file, number, line);
    }
    fclose(stream);
    return ret_file->pid > 1;
}

/* ---- Whose process it is ---- */

/* Linux shows where a process works to the user that runs it, and to root with CAP_SYS_PTRACE,
 * which containers withhold: so this thread looks with the eyes of the cluster's owner. Having looked
 * so, the process would leave no core dump. */
static ssize_t read_directory(pid_t pid, const struct stat *owner, char *ret_path, size_t size)
{
    int dumpable = prctl(PR_GET_DUMPABLE);
    char link[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
    setfsgid(owner->st_gid);
    setfsuid(owner->st_uid);
    length = readlink(link, ret_path, size);
    setfsuid(geteuid());
    setfsgid(getegid());
    if (dumpable == 1)
        prctl(PR_SET_DUMPABLE, 1);
    return length;
}

static bool works_in(pid_t pid, const char *cluster)
{
    char directory[PATH_MAX];
    struct stat owner;
    ssize_t length;

    if (stat(cluster, &owner) != 0)
        return false;
    length = read_directory(pid, &owner, directory, sizeof(directory) - 1);
    if (length < 0)
        return false;
    directory[length] = '\0';
    return strcmp(directory, cluster) == 0;
}

static void wait_for_process(pid_t pid, uint64_t deadline_ns)
{
    int pidfd = pidfd_open(pid, 0);

    if (pidfd < 0)
        return;
    pidfd_wait(pidfd, deadline_ns);
    close(pidfd);
}

bool postmaster_clear_remains(const char *cluster, uint64_t deadline_ns)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *processes;

    if (!pid_file_path(cluster, path) || access(path, F_OK) != 0)
        return false;
    processes = opendir("/proc");
    while (processes && (entry = readdir(processes))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 1 && works_in(pid, cluster))
            wait_for_process(pid, deadline_ns);
    }
    if (processes)
        closedir(processes);
    unlink(path);
    return true;
}

/* ---- Waiting until it is ready ---- */

static int watch_directory(const char *directory)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd >= 0 && inotify_add_watch(fd, directory, IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void drain(int fd)
{
    char events[4096];

    while (read(fd, events, sizeof(events)) > 0)
        ;
}

static int ms_left(uint64_t deadline_ns)
{
    uint64_t now = clock_mono_ns();

    return now >= deadline_ns ? 0 : (int)((deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* False when the process has ended or the deadline has passed. `watch` must be older than the
 * question, or a change between the two is lost. */
static bool wait_ready(struct postmaster *postmaster, const char *cluster, int watch,
                       uint64_t deadline_ns)
{
    struct pollfd watched[2] = {{.fd = postmaster->pidfd, .events = POLLIN},
                                {.fd = watch, .events = POLLIN}};
    struct pid_file file;

    for (;;) {
        drain(watch);
        if (pid_file_read(cluster, &file) && file.pid == postmaster->pid && file.ready) {
            memcpy(postmaster->socket_dir, file.socket_dir, sizeof(file.socket_dir));
            return true;
        }
        if (poll(watched, 2, ms_left(deadline_ns)) == 0 || watched[0].revents)
            return false;
    }
}

bool postmaster_find(const char *cluster, uint64_t deadline_ns,
                     struct postmaster *ret_postmaster)
{
    struct postmaster found = {.pidfd = -1};
    struct pid_file file;
    int watch;
    bool ready;

    if (!pid_file_read(cluster, &file) || !works_in(file.pid, cluster))
        return false;
    found.pid = file.pid;
    found.pidfd = pidfd_open(file.pid, 0);
    if (found.pidfd < 0)
        return false;

    watch = watch_directory(cluster);
    ready = watch >= 0 && wait_ready(&found, cluster, watch, deadline_ns);
    if (watch >= 0)
        close(watch);
    if (ready)
        *ret_postmaster = found;
    else
        close(found.pidfd);
    return ready;
}

/* ---- Start and stop ---- */

static enum err_code await_start(struct postmaster *postmaster, const char *cluster, int watch,
                                 uint64_t deadline_ns, int *ret_status, struct err *err)
{
    struct child child = {.pid = postmaster->pid, .pidfd = postmaster->pidfd};
    enum err_code rc;

    if (wait_ready(postmaster, cluster, watch, deadline_ns))
        return ERR_OK;
    rc = child_wait(&child, deadline_ns, ret_status, err);
    if (rc)
        return rc;
    return err_set(err, ERR_STORE, "the private database ended while starting (status %d)",
                   *ret_status);
}

enum err_code postmaster_start(const char *cluster, const struct child_plan *plan,
                               uint64_t deadline_ns, struct postmaster *ret_postmaster,
                               int *ret_status, struct err *err)
{
    int watch = watch_directory(cluster);
    struct postmaster started = {.ours = true};
    struct child child;
    enum err_code rc;

    if (watch < 0)
        return err_set(err, ERR_INTERNAL, "cannot watch %s: %s", cluster, strerror(errno));
    rc = child_start(plan, &child, err);
    if (!rc) {
        started.pid = child.pid;
        started.pidfd = child.pidfd;
        rc = await_start(&started, cluster, watch, deadline_ns, ret_status, err);
    }
    close(watch);
    if (!rc)
        *ret_postmaster = started;
    return rc;
}

static bool signal_and_wait(const struct postmaster *postmaster, int signal, int seconds)
{
    /* By its descriptor: the number might be somebody else's by now. */
    pidfd_send_signal(postmaster->pidfd, signal, NULL, 0);
    return pidfd_wait(postmaster->pidfd, clock_mono_ns() + (uint64_t)seconds * NS_PER_SECOND);
}

bool postmaster_has_ended(const struct postmaster *postmaster)
{
    return pidfd_wait(postmaster->pidfd, 0);
}

void postmaster_stop(struct postmaster *postmaster)
{
    if (postmaster->pidfd < 0)
        return;
    if (!signal_and_wait(postmaster, SIGINT, STOP_FAST_SECONDS) &&
        !signal_and_wait(postmaster, SIGQUIT, STOP_IMMEDIATE_SECONDS)) {
        log_warn("the private database did not stop; it is killed");
        signal_and_wait(postmaster, SIGKILL, STOP_IMMEDIATE_SECONDS);
    }
    postmaster_leave(postmaster);
}

void postmaster_leave(struct postmaster *postmaster)
{
    if (postmaster->pidfd < 0)
        return;
    if (postmaster->ours)
        waitpid(postmaster->pid, NULL, WNOHANG);
    close(postmaster->pidfd);
    postmaster->pidfd = -1;
}
