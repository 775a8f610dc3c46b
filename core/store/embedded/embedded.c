/*
 * A private PostgreSQL below data_dir, for a server that was given no database.
 *
 *   data_dir/lock          held by the one server (not by `runnel keys` and the like)
 *   data_dir/pg            the cluster; data_dir/pg.new while it is being made
 *   data_dir/pg.lock       held while a process makes, finds or starts the cluster
 *   data_dir/pg.users      shared by all processes that have it open
 *   data_dir/postgres.log  what the postmaster writes
 *
 * Opening. Under pg.lock: join pg.users, then look for a living postmaster. If there is one it
 * is used. Otherwise initdb runs if there is no cluster yet, remains of a dead postmaster are
 * cleared away, and a new one is started and awaited. Closing: the process that can turn its
 * share of pg.users into an exclusive lock is the last one, and stops the cluster.
 *
 * What crashes leave behind:
 *
 *   during initdb      pg.new, which the next process deletes: only a whole one becomes pg
 *   of a server        a running postmaster, which the next process adopts
 *   of the postmaster  the keeper of the server calls embedded_revive(), which starts it again
 *   of the machine     a stale postmaster.pid, and a log whose replay may take minutes
 *
 * So every wait has a deadline and a descriptor that ends it. After a timeout the postmaster is
 * left to its replay: killed, it would begin again from the start each time.
 *
 * Locks are flock()s on files, because the kernel drops them with the process however it ends. A
 * file that exists, or a number in a file, would need a rule for those that died.
 *
 * Decided against: binding the cluster's life to the server's, as a child that dies with it.
 * Each crash of the server would then cost a replay, and would end a command such as `runnel
 * keys` that is using the cluster. And against TCP: the socket's directory has mode 0700, so no
 * password has to be made, kept and passed on.
 */

#include "core/store/embedded/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/embedded/child.h"
#include "core/store/embedded/patience.h"
#include "core/store/embedded/postmaster.h"
#include "core/store/embedded/socket_dir.h"

#define CREATE_SECONDS  120
#define START_SECONDS   120 /* replaying the log after a crash may take its time */
#define PROGRAM_SECONDS 10
#define LOG_LIMIT       (4 << 20)

struct embedded {
    char data_dir[PATH_MAX]; /* absolute */
    char cluster[PATH_MAX];
    char socket_dir[PATH_MAX]; /* "" until it is known */
    char bin[PATH_MAX];
    char log[PATH_MAX];
    bool switch_user;
    uid_t uid; /* the user that runs it */
    gid_t gid;
    char user[64];

    struct postmaster postmaster;
    int users; /* the lock that all users of the cluster share; -1 */
    char *url;
};

/* ---- Directories ---- */

static enum err_code join_path(char ret_path[PATH_MAX], const char *directory, const char *name,
                               struct err *err)
{
    int length = snprintf(ret_path, PATH_MAX, "%s/%s", directory, name);

    if (length >= PATH_MAX)
        return err_set(err, ERR_INVALID, "the path of data_dir is too long");
    return ERR_OK;
}

/* Makes data_dir and the directories above it that are missing. The database's user must be
 * able to pass. */
static enum err_code make_data_dir(const char *data_dir, char ret_absolute[PATH_MAX],
                                   struct err *err)
{
    mode_t mode = geteuid() == 0 ? 0711 : 0700;
    AUTO_FREE char *path = mem_strdup(data_dir);

    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)!mkdir(path, 0755);
        *slash = '/';
    }
    if ((mkdir(path, mode) != 0 && errno != EEXIST) || !realpath(path, ret_absolute))
        return err_set(err, ERR_INVALID, "cannot make data_dir %s: %s", data_dir,
                       strerror(errno));
    return ERR_OK;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

enum err_code data_dir_lock(const char *data_dir, int *ret_fd, struct err *err)
{
    char absolute[PATH_MAX], path[PATH_MAX];
    enum err_code rc;
    int fd;

    rc = make_data_dir(data_dir, absolute, err);
    if (rc)
        return rc;
    rc = join_path(path, absolute, "lock", err);
    if (rc)
        return rc;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, ERR_INVALID, "cannot open %s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return err_set(err, ERR_CONFLICT, "data_dir %s is in use by another server", data_dir);
    }
    *ret_fd = fd;
    return ERR_OK;
}

/* ---- Programs ---- */

/* pg_config may belong to a client's installation that has no server programs. */
static bool has_server(const char *bin)
{
    char path[PATH_MAX];

    return !join_path(path, bin, "postgres", NULL) && access(path, X_OK) == 0 &&
           !join_path(path, bin, "initdb", NULL) && access(path, X_OK) == 0;
}

static bool ask_pg_config(char ret_bin[PATH_MAX])
{
    const char *const argv[] = {"/usr/bin/env", "pg_config", "--bindir", NULL};
    struct child_plan plan = {.argv = argv, .directory = "/", .input = -1, .output = -1};
    const struct patience patience = patience_of(-1, PROGRAM_SECONDS);
    int status;

    if (child_run(&plan, NULL, &patience, ret_bin, PATH_MAX, &status, NULL) || status != 0)
        return false;
    ret_bin[strcspn(ret_bin, "\n")] = '\0';
    return has_server(ret_bin);
}

/* Debian keeps the server programs of each version in a directory of its own, outside PATH. */
static bool newest_debian(char ret_bin[PATH_MAX])
{
    static const char head[] = "/usr/lib/postgresql/";
    long newest = 0;
    glob_t found;

    if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        long version = strtol(found.gl_pathv[i] + sizeof(head) - 1, NULL, 10);

        if (version > newest && has_server(found.gl_pathv[i])) {
            newest = version;
            snprintf(ret_bin, PATH_MAX, "%s", found.gl_pathv[i]);
        }
    }
    globfree(&found);
    return newest > 0;
}

static enum err_code find_programs(struct embedded *embedded, struct err *err)
{
    if (ask_pg_config(embedded->bin) || newest_debian(embedded->bin))
        return ERR_OK;
    return err_set(
        err, ERR_STORE,
        "PostgreSQL's server programs are not installed: install them (on Debian and "
        "Ubuntu: apt-get install postgresql), or set database_url");
}

/* ---- The user ---- */

static void take_user(struct embedded *embedded, uid_t uid, gid_t gid)
{
    struct passwd *entry = getpwuid(uid);

    embedded->switch_user = true;
    embedded->uid = uid;
    embedded->gid = gid;
    if (entry)
        snprintf(embedded->user, sizeof(embedded->user), "%s", entry->pw_name);
    else
        snprintf(embedded->user, sizeof(embedded->user), "%u", (unsigned)uid);
}

/* PostgreSQL refuses to run as root. A cluster that exists keeps its owner: its files could not
 * be read by another user, and chowning them would break a cluster that some other server has
 * open. */
static enum err_code choose_user(struct embedded *embedded, struct err *err)
{
    struct passwd *entry;
    struct stat info;

    embedded->uid = geteuid();
    embedded->gid = getegid();
    if (embedded->uid != 0)
        return ERR_OK;
    if (stat(embedded->cluster, &info) == 0 && info.st_uid != 0) {
        take_user(embedded, info.st_uid, info.st_gid);
        return ERR_OK;
    }
    entry = getpwnam("postgres");
    if (!entry)
        entry = getpwnam("nobody");
    if (!entry)
        return err_set(
            err, ERR_STORE,
            "PostgreSQL does not run as root, and there is no user postgres or nobody");
    take_user(embedded, entry->pw_uid, entry->pw_gid);
    return ERR_OK;
}

static struct child_plan plan_program(const struct embedded *embedded, const char *const *argv)
{
    return (struct child_plan){.argv = argv,
                               .directory = embedded->data_dir,
                               .switch_user = embedded->switch_user,
                               .uid = embedded->uid,
                               .gid = embedded->gid,
                               .input = -1,
                               .output = -1};
}

/* Explains why no program can start as that user; ERR_OK for other statuses. */
static enum err_code check_child_status(const struct embedded *embedded, int status,
                                        struct err *err)
{
    if (status == CHILD_NO_DIRECTORY)
        return err_set(err, ERR_STORE,
                       "user %s, as whom the private database runs, cannot enter %s: choose a "
                       "data_dir that it can, such as /var/lib/runnel",
                       embedded->user, embedded->data_dir);
    if (status == CHILD_NO_USER)
        return err_set(err, ERR_STORE, "root may not start programs as user %s here",
                       embedded->user);
    return ERR_OK;
}

/* The line of a program's output that best explains the failure: the last fatal one, or the
 * last one. */
static const char *failure_line(char *output)
{
    const char *best = "";
    bool fatal = false;
    char *rest = output;
    char *line;

    while ((line = strsep(&rest, "\n"))) {
        bool is_fatal = strstr(line, "FATAL:") || strstr(line, "PANIC:");

        if (*line && (is_fatal || !fatal))
            best = line;
        fatal = fatal || is_fatal;
    }
    return best;
}

static enum err_code run_program(const struct embedded *embedded, const char *const *argv,
                                 const char *input, int stop_fd, struct err *err)
{
    const struct patience patience = patience_of(stop_fd, CREATE_SECONDS);
    struct child_plan plan = plan_program(embedded, argv);
    char output[4096];
    enum err_code rc;
    int status;

    rc = child_run(&plan, input, &patience, output, sizeof(output), &status, err);
    if (rc)
        return rc;
    rc = check_child_status(embedded, status, err);
    if (rc)
        return rc;
    if (status != 0)
        return err_set(err, ERR_STORE, "%s failed: %s", argv[0], failure_line(output));
    return ERR_OK;
}

/* ---- Making the cluster ---- */

static enum err_code run_initdb(const struct embedded *embedded, const char *directory,
                                int stop_fd, struct err *err)
{
    char initdb[PATH_MAX];
    /* `trust`, because only the owner of the socket's directory can connect. The locale C
     * compares bytes, as all ids do, whatever the machine's locale is or becomes.
     *
     * Small segments of the WAL. A new segment is filled with zeros while every commit waits
     * for it. For the usual 16 MB that takes 50 to 100 ms and more, and thousands of streams
     * need one each second or two, until the first segments are used again. */
    const char *const argv[] = {initdb,
                                "--pgdata",
                                directory,
                                "--auth",
                                "trust",
                                "--locale",
                                "C",
                                "--encoding",
                                "UTF8",
                                "--username",
                                "runnel",
                                "--no-instructions",
                                "--wal-segsize=1",
                                NULL};
    enum err_code rc;

    rc = join_path(initdb, embedded->bin, "initdb", err);
    if (rc)
        return rc;
    return run_program(embedded, argv, NULL, stop_fd, err);
}

/* Works without a running server, so that a cluster under its final name always has the
 * database. */
static enum err_code create_database(const struct embedded *embedded, const char *directory,
                                     int stop_fd, struct err *err)
{
    char postgres[PATH_MAX];
    const char *const argv[] = {postgres, "--single", "-D", directory, "postgres", NULL};
    enum err_code rc;

    rc = join_path(postgres, embedded->bin, "postgres", err);
    if (rc)
        return rc;
    return run_program(embedded, argv, "CREATE DATABASE runnel\n", stop_fd, err);
}

/* The cluster is made under another name and then renamed. So a half-made one is never used
 * after a crash: it is made again. */
static enum err_code make_cluster(const struct embedded *embedded, int stop_fd, struct err *err)
{
    char fresh[PATH_MAX];
    enum err_code rc;

    rc = join_path(fresh, embedded->data_dir, "pg.new", err);
    if (rc)
        return rc;
    log_info("making a private database in %s", embedded->cluster);
    remove_tree(fresh);
    rc = private_dir_make(fresh, embedded->uid, embedded->gid, err);
    if (rc)
        return rc;
    rc = run_initdb(embedded, fresh, stop_fd, err);
    if (!rc)
        rc = create_database(embedded, fresh, stop_fd, err);
    if (!rc && rename(fresh, embedded->cluster) != 0)
        rc = err_set(err, ERR_STORE, "cannot rename %s: %s", fresh, strerror(errno));
    if (rc)
        remove_tree(fresh);
    return rc;
}

static enum err_code ensure_cluster(const struct embedded *embedded, int stop_fd,
                                    struct err *err)
{
    if (access(embedded->cluster, F_OK) == 0)
        return ERR_OK;
    return make_cluster(embedded, stop_fd, err);
}

/* ---- Who has it open ---- */

/* Two locks on files in data_dir. The kernel releases the locks of a process that dies.
 * pg.lock: one process at a time makes or starts the cluster, for example `runnel serve` or
 * `runnel keys`. pg.users: shared by all processes that have the cluster open. A process that
 * can hold it exclusively is the last user. No other can open the cluster before it has stopped
 * it. */
static enum err_code lock_file(const struct embedded *embedded, const char *name, int operation,
                               int *ret_fd, struct err *err)
{
    char path[PATH_MAX];
    enum err_code rc;
    int fd;

    rc = join_path(path, embedded->data_dir, name, err);
    if (rc)
        return rc;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, ERR_STORE, "cannot open %s: %s", path, strerror(errno));
    while (flock(fd, operation) != 0) {
        if (errno == EINTR)
            continue;
        rc = errno == EWOULDBLOCK ? ERR_CONFLICT : ERR_STORE;
        err_set(err, rc, "cannot lock %s: %s", path, strerror(errno));
        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return ERR_OK;
}

/* Unlocks explicitly, because a program that was just started may still have a copy of the
 * descriptor. */
static void unlock_file(int fd)
{
    flock(fd, LOCK_UN);
    close(fd);
}

static enum err_code lock_using(struct embedded *embedded, struct err *err)
{
    return lock_file(embedded, "pg.users", LOCK_SH, &embedded->users, err);
}

/* True if no other process has the cluster open; from now on none can open it. When several
 * processes leave at once, exactly one gets true: each gives up its share before it asks for
 * the exclusive lock. */
static bool is_last_to_leave(const struct embedded *embedded)
{
    return embedded->users >= 0 && flock(embedded->users, LOCK_EX | LOCK_NB) == 0;
}

/* ---- Starting ---- */

static int open_log(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct stat info;

    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > LOG_LIMIT)
        (void)!ftruncate(fd, 0);
    return fd;
}

/* The end of the log. The file is short enough that its end is all that matters. */
static void read_log_end(const char *path, char *ret_text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t start = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
    ssize_t length = fd < 0 ? 0 : pread(fd, ret_text, size - 1, start);

    ret_text[length > 0 ? length : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

static long cluster_version(const struct embedded *embedded)
{
    char path[PATH_MAX], text[16] = "";
    int fd;

    if (join_path(path, embedded->cluster, "PG_VERSION", NULL))
        return 0;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    (void)!read(fd, text, sizeof(text) - 1);
    close(fd);
    return strtol(text, NULL, 10);
}

static long program_version(const struct embedded *embedded)
{
    static const char head[] = "postgres (PostgreSQL) ";
    char postgres[PATH_MAX], output[256];
    const char *const argv[] = {postgres, "--version", NULL};
    struct child_plan plan = {.argv = argv, .directory = "/", .input = -1, .output = -1};
    const struct patience patience = patience_of(-1, PROGRAM_SECONDS);
    int status;

    if (join_path(postgres, embedded->bin, "postgres", NULL) ||
        child_run(&plan, NULL, &patience, output, sizeof(output), &status, NULL) ||
        strncmp(output, head, sizeof(head) - 1) != 0)
        return 0;
    return strtol(output + sizeof(head) - 1, NULL, 10);
}

/* Why it did not start, as far as this process can see: the user, the version, or what
 * PostgreSQL wrote last. Called only after a failure, because it starts a process. */
static enum err_code explain_failure(const struct embedded *embedded, int status,
                                     struct err *err)
{
    long have = cluster_version(embedded), can = program_version(embedded);
    char output[1024];
    enum err_code rc;

    rc = check_child_status(embedded, status, err);
    if (rc)
        return rc;
    if (have && can && have != can)
        return err_set(
            err, ERR_STORE,
            "the private database in %s was made by PostgreSQL %ld, the installed "
            "programs are PostgreSQL %ld: install version %ld, or move its data with "
            "pg_upgrade",
            embedded->cluster, have, can, have);
    read_log_end(embedded->log, output, sizeof(output));
    return err_set(err, ERR_STORE, "the private database did not start: %s (see %s)",
                   failure_line(output), embedded->log);
}

static enum err_code start_postmaster(struct embedded *embedded, int log, struct err *err)
{
    char postgres[PATH_MAX], sockets[PATH_MAX + 32];
    /* On the command line and not in postgresql.conf: an older cluster gets the settings of a
     * newer server, and an operator's own file still counts for everything else. There is no
     * replica, so the WAL is minimal. Checkpoints are rare: each makes the pages that change
     * after it be logged whole. Statements are short: neither JIT nor parallel workers pay. */
    /* clang-format off */
    const char *const argv[] = {
        postgres, "-D", embedded->cluster,
        "-c", "listen_addresses=",
        "-c", sockets,
        "-c", "unix_socket_permissions=0700",
        "-c", "port=5432",
        "-c", "max_connections=100",
        "-c", "shared_buffers=64MB",
        "-c", "wal_compression=on",
        "-c", "wal_level=minimal",
        "-c", "max_wal_senders=0",
        "-c", "max_logical_replication_workers=0",
        "-c", "checkpoint_timeout=15min",
        /* The usual value; initdb would count it in segments. */
        "-c", "min_wal_size=80MB",
        "-c", "max_wal_size=1GB",
        "-c", "jit=off",
        "-c", "max_parallel_workers_per_gather=0",
        /* Ends a statement whose client has gone. */
        "-c", "client_connection_check_interval=5s",
        "-c", "logging_collector=off",
        "-c", "log_checkpoints=off",
        NULL};
    /* clang-format on */
    struct child_plan plan = plan_program(embedded, argv);
    enum err_code rc;

    rc = join_path(postgres, embedded->bin, "postgres", err);
    if (rc)
        return rc;
    snprintf(sockets, sizeof(sockets), "unix_socket_directories=%s", embedded->socket_dir);
    plan.output = log;
    return postmaster_start(&plan, &embedded->postmaster, err);
}

static enum err_code launch(struct embedded *embedded, struct err *err)
{
    int log = open_log(embedded->log);
    enum err_code rc = start_postmaster(embedded, log, err);

    if (log >= 0)
        close(log);
    return rc;
}

/* Waits until the postmaster is ready, and notes its socket's directory, which an earlier
 * process may have chosen. */
static enum err_code await_postmaster(struct embedded *embedded,
                                      const struct patience *patience, struct err *err)
{
    struct postmaster *postmaster = &embedded->postmaster;
    enum err_code rc = postmaster_await(postmaster, embedded->cluster, patience, err);

    if (!rc)
        memcpy(embedded->socket_dir, postmaster->socket_dir, sizeof(embedded->socket_dir));
    return rc;
}

/* Called under pg.lock, when no postmaster can be reached. The order matters. Children of a dead postmaster may still
 * have its socket open, so they are waited for before the socket is looked at. A process that listens after that runs
 * in another container, perhaps, and is invisible here: then nothing of its cluster is removed. */
static enum err_code start_cluster(struct embedded *embedded, const struct patience *patience,
                                   struct err *err)
{
    enum err_code rc;

    rc = find_programs(embedded, err);
    if (rc)
        return rc;
    rc = ensure_cluster(embedded, patience->stop_fd, err);
    if (rc)
        return rc;
    rc = postmaster_await_remains(embedded->cluster, patience, err);
    if (rc)
        return rc;
    rc = socket_dir_make(embedded->data_dir, embedded->uid, embedded->gid, embedded->socket_dir,
                         err);
    if (rc)
        return rc;
    postmaster_remove_pid_file(embedded->cluster);
    rc = launch(embedded, err);
    if (rc)
        return rc;
    rc = await_postmaster(embedded, patience, err);
    if (rc == ERR_STORE)
        return explain_failure(embedded, postmaster_leave(&embedded->postmaster), err);
    return rc;
}

/* ---- Finding ---- */

static bool find_postmaster(struct embedded *embedded)
{
    struct postmaster *postmaster = &embedded->postmaster;

    if (postmaster->pidfd >= 0 && !postmaster_has_ended(postmaster))
        return true;
    (void)postmaster_leave(postmaster);
    return postmaster_find(embedded->cluster, postmaster);
}

/* ERR_STORE when no postmaster can be reached. Then none is running any more. */
static enum err_code reach_postmaster(struct embedded *embedded,
                                      const struct patience *patience, struct err *err)
{
    struct postmaster *postmaster = &embedded->postmaster;
    enum err_code rc;

    if (!find_postmaster(embedded))
        return err_set(err, ERR_STORE, "the private database does not run");
    rc = await_postmaster(embedded, patience, err);
    if (rc == ERR_STORE)
        (void)postmaster_leave(postmaster);
    if (rc || socket_dir_has_socket(embedded->socket_dir))
        return rc;
    /* Connected clients would not notice, but no other client can connect. */
    log_warn("the private database has lost its socket in %s; it is started again",
             embedded->socket_dir);
    rc = postmaster_ask_to_end(postmaster, patience, err);
    return rc ? rc : err_set(err, ERR_STORE, "the private database had no socket");
}

/* No other process makes or starts it meanwhile. */
static enum err_code find_or_start(struct embedded *embedded, const struct patience *patience,
                                   struct err *err)
{
    enum err_code rc = reach_postmaster(embedded, patience, err);

    return rc == ERR_STORE ? start_cluster(embedded, patience, err) : rc;
}

/* ---- The interface ---- */

static void add_quoted(struct buf *buf, const char *text)
{
    buf_add_char(buf, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buf_add_char(buf, '\\');
        buf_add_char(buf, *text);
    }
    buf_add_char(buf, '\'');
}

static char *make_url(const char *socket_dir)
{
    AUTO_BUF buf = {0};

    buf_add_text(&buf, "host=");
    add_quoted(&buf, socket_dir);
    buf_add_text(&buf, " port=5432 user=runnel dbname=runnel");
    return buf_take(&buf);
}

static enum err_code prepare(struct embedded *embedded, const char *data_dir, struct err *err)
{
    enum err_code rc;

    rc = make_data_dir(data_dir, embedded->data_dir, err);
    if (rc)
        return rc;
    rc = join_path(embedded->cluster, embedded->data_dir, "pg", err);
    if (rc)
        return rc;
    rc = join_path(embedded->log, embedded->data_dir, "postgres.log", err);
    if (rc)
        return rc;
    return choose_user(embedded, err);
}

static enum err_code open_cluster(struct embedded *embedded, const char *data_dir, int stop_fd,
                                  struct err *err)
{
    const struct patience patience = patience_of(stop_fd, START_SECONDS);
    enum err_code rc;
    int lock;

    rc = prepare(embedded, data_dir, err);
    if (rc)
        return rc;
    rc = lock_file(embedded, "pg.lock", LOCK_EX, &lock, err);
    if (rc)
        return rc;
    rc = lock_using(embedded, err);
    if (!rc)
        rc = find_or_start(embedded, &patience, err);
    unlock_file(lock);
    if (!rc)
        embedded->url = make_url(embedded->socket_dir);
    return rc;
}

static void release(struct embedded *embedded)
{
    (void)postmaster_leave(&embedded->postmaster);
    if (embedded->users >= 0)
        unlock_file(embedded->users);
    free(embedded->url);
    free(embedded);
}

/* After a timeout the cluster goes on replaying, so that the next process has less to wait for. */
enum err_code embedded_open(const char *data_dir, int stop_fd, struct embedded **ret_embedded,
                            struct err *err)
{
    struct embedded *embedded = mem_new(struct embedded);
    enum err_code rc;

    embedded->postmaster.pidfd = embedded->users = -1;
    rc = open_cluster(embedded, data_dir, stop_fd, err);
    if (rc == ERR_TIMEOUT)
        release(embedded);
    else if (rc)
        embedded_close(embedded);
    else
        *ret_embedded = embedded;
    return rc;
}

/* If another process holds the lock, it starts the cluster, so this one does not wait for it.
 * The next call looks again. */
enum err_code embedded_revive(struct embedded *embedded, int stop_fd, struct err *err)
{
    const struct patience patience = patience_of(stop_fd, START_SECONDS);
    enum err_code rc;
    int lock;

    rc = lock_file(embedded, "pg.lock", LOCK_EX | LOCK_NB, &lock, err);
    if (rc)
        return rc == ERR_CONFLICT ? ERR_OK : rc;
    if (!find_postmaster(embedded))
        log_warn("the private database has ended; it is started again");
    rc = find_or_start(embedded, &patience, err);
    unlock_file(lock);
    return rc;
}

const char *embedded_url(const struct embedded *embedded)
{
    return embedded->url;
}

/* Another process that had it open may have started it again. */
static void stop_cluster(struct embedded *embedded)
{
    if (find_postmaster(embedded))
        postmaster_stop(&embedded->postmaster);
    socket_dir_remove(embedded->data_dir, embedded->uid, embedded->socket_dir);
}

void embedded_close(struct embedded *embedded)
{
    if (!embedded)
        return;
    if (is_last_to_leave(embedded))
        stop_cluster(embedded);
    release(embedded);
}
