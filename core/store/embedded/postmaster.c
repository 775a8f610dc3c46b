/*
 * The postmaster: PostgreSQL's first process, which accepts connections and starts all others.
 *
 * It is not bound to this server's life. A server that is killed leaves it running, and the next
 * one adopts it: no replay of the log is needed, and `runnel keys` may use it meanwhile. So it
 * is often no child of this process. Everything here works on a pidfd, which can be polled and
 * signalled for any process and never means another one, as a number does once the process has
 * ended.
 *
 * Finding it. postmaster.pid has its number, its socket's directory and its state, a line each.
 * The file outlives a postmaster that was killed, and its number may belong to any process by
 * now. PostgreSQL enters the cluster's directory and stays there, so a process counts only if
 * that is its working directory.
 *
 * Waiting for it. PostgreSQL has no descriptor to wait on. It rewrites postmaster.pid when its
 * state changes, so inotify on the directory wakes the wait; the pidfd wakes it when the process
 * ends instead. Connecting again and again was the other way: it fails for several reasons that
 * look alike, and it polls.
 *
 * What a dead postmaster leaves. Its children notice within moments and end, but until then they
 * write to the cluster and hold its shared memory. A new postmaster refuses to start beside
 * them. So they are waited for, and only then is the stale file removed.
 *
 * Stopping it. SIGINT is PostgreSQL's fast mode: sessions end, then a checkpoint, so the next
 * start replays nothing. SIGQUIT ends it at once, and is used while it is not ready, because a
 * replay that is interrupted begins again anyway. SIGKILL is the last resort.
 */

#include "core/store/embedded/postmaster.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/compiler.h"
#include "core/base/log.h"

/* Fast mode takes a checkpoint; immediate mode ends at once. */
#define STOP_FAST_SECONDS      60
#define STOP_IMMEDIATE_SECONDS 10

/* ---- postmaster.pid ---- */

/* The lines of postmaster.pid, from 0. The status is padded with blanks. */
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

/* Linux shows the working directory of a process to the user that runs it, and to root with
 * CAP_SYS_PTRACE, which containers withhold. So this thread looks with the user and group of the
 * cluster's owner: setfsuid() changes them for this thread and for files only. The kernel then
 * marks the process as one that may hold secrets, which disables core dumps for the rest of its
 * life; PR_SET_DUMPABLE takes that back. */
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

static bool wait_for_process(pid_t pid, const struct patience *patience)
{
    int pidfd = pidfd_open(pid, 0);
    bool ended;

    if (pidfd < 0)
        return true;
    ended = patience_wait(patience, &pidfd, 1);
    close(pidfd);
    return ended;
}

enum err_code postmaster_await_remains(const char *cluster, const struct patience *patience,
                                       struct err *err)
{
    char path[PATH_MAX];
    struct dirent *entry;
    bool gone = true;
    DIR *processes;

    if (!pid_file_path(cluster, path) || access(path, F_OK) != 0)
        return ERR_OK;
    processes = opendir("/proc");
    while (gone && processes && (entry = readdir(processes))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 1 && works_in(pid, cluster))
            gone = wait_for_process(pid, patience);
    }
    if (processes)
        closedir(processes);
    if (gone)
        return ERR_OK;
    return patience_lost(patience, "the end of processes that the private database left", err);
}

void postmaster_remove_pid_file(const char *cluster)
{
    char path[PATH_MAX];

    if (pid_file_path(cluster, path))
        unlink(path);
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

static bool is_ready(struct postmaster *postmaster, const char *cluster)
{
    struct pid_file file;

    if (!pid_file_read(cluster, &file) || file.pid != postmaster->pid || !file.ready)
        return false;
    memcpy(postmaster->socket_dir, file.socket_dir, sizeof(file.socket_dir));
    postmaster->ready = true;
    return true;
}

/* `watch` must be set up before the file is read, or a change in between is missed. */
static enum err_code await_ready(struct postmaster *postmaster, const char *cluster, int watch,
                                 const struct patience *patience, struct err *err)
{
    const int fds[] = {postmaster->pidfd, watch};

    for (;;) {
        drain(watch);
        if (postmaster_has_ended(postmaster))
            return err_set(err, ERR_STORE, "the private database ended while starting");
        if (is_ready(postmaster, cluster))
            return ERR_OK;
        if (!patience_wait(patience, fds, COUNT_OF(fds)))
            return patience_lost(patience, "the start of the private database", err);
    }
}

enum err_code postmaster_await(struct postmaster *postmaster, const char *cluster,
                               const struct patience *patience, struct err *err)
{
    int watch = watch_directory(cluster);
    enum err_code rc;

    if (watch < 0)
        return err_set(err, ERR_INTERNAL, "cannot watch %s: %s", cluster, strerror(errno));
    rc = await_ready(postmaster, cluster, watch, patience, err);
    close(watch);
    return rc;
}

/* ---- Finding, starting, stopping ---- */

bool postmaster_find(const char *cluster, struct postmaster *ret_postmaster)
{
    struct postmaster found = {0};
    struct pid_file file;

    if (!pid_file_read(cluster, &file) || !works_in(file.pid, cluster))
        return false;
    found.pid = file.pid;
    found.pidfd = pidfd_open(file.pid, 0);
    if (found.pidfd < 0)
        return false;
    *ret_postmaster = found;
    return true;
}

enum err_code postmaster_start(const struct child_plan *plan, struct postmaster *ret_postmaster,
                               struct err *err)
{
    struct child child;
    enum err_code rc = child_start(plan, &child, err);

    if (!rc)
        *ret_postmaster =
            (struct postmaster){.pid = child.pid, .pidfd = child.pidfd, .ours = true};
    return rc;
}

/* Signals the descriptor, because by now the number may belong to another process. */
static bool signal_and_wait(const struct postmaster *postmaster, int signal,
                            const struct patience *patience)
{
    pidfd_send_signal(postmaster->pidfd, signal, NULL, 0);
    return patience_wait(patience, &postmaster->pidfd, 1);
}

static bool stop_within(const struct postmaster *postmaster, int signal, unsigned seconds)
{
    const struct patience patience = patience_of(-1, seconds);

    return signal_and_wait(postmaster, signal, &patience);
}

bool postmaster_has_ended(const struct postmaster *postmaster)
{
    const struct patience none = patience_of(-1, 0);

    return patience_wait(&none, &postmaster->pidfd, 1);
}

enum err_code postmaster_ask_to_end(struct postmaster *postmaster,
                                    const struct patience *patience, struct err *err)
{
    if (!signal_and_wait(postmaster, SIGINT, patience))
        return patience_lost(patience, "the end of the private database", err);
    (void)postmaster_leave(postmaster);
    return ERR_OK;
}

void postmaster_stop(struct postmaster *postmaster)
{
    if (postmaster->pidfd < 0)
        return;
    if (!(postmaster->ready && stop_within(postmaster, SIGINT, STOP_FAST_SECONDS)) &&
        !stop_within(postmaster, SIGQUIT, STOP_IMMEDIATE_SECONDS)) {
        log_warn("the private database did not stop; it is killed");
        stop_within(postmaster, SIGKILL, STOP_IMMEDIATE_SECONDS);
    }
    (void)postmaster_leave(postmaster);
}

int postmaster_leave(struct postmaster *postmaster)
{
    int status = 0;

    if (postmaster->pidfd < 0)
        return 0;
    if (postmaster->ours && postmaster_has_ended(postmaster))
        status = child_reap(postmaster->pid);
    close(postmaster->pidfd);
    postmaster->pidfd = -1;
    return status;
}
