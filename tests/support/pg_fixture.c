#include "tests/support/pg_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/store/embedded/embedded.h"
#include "tests/support/copy_cluster.h"

static char directory[64];
static struct embedded *cluster;
static pid_t guard;
static int guard_pipe = -1;

static void stop_here(const char *what, const struct err *err)
{
    fprintf(stderr, "pg_fixture: %s: %s\n", what, err ? err->text : strerror(errno));
    exit(1);
}

/* ---- The guard ---- */

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

static void kill_postmaster(void)
{
    char path[128];
    long pid = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/pg/postmaster.pid", directory);
    file = fopen(path, "r");
    if (!file)
        return;
    if (fscanf(file, "%ld", &pid) == 1 && pid > 1)
        kill((pid_t)pid, SIGQUIT);
    fclose(file);
}

/* Lives until the program has ended, however it did. */
static void watch_over(int pipe_end)
{
    char byte;

    setsid();
    while (read(pipe_end, &byte, 1) < 0 && errno == EINTR)
        ;
    kill_postmaster();
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    _exit(0);
}

static void start_guard(void)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        stop_here("pipe", NULL);
    guard = fork();
    if (guard == 0) {
        close(ends[1]);
        watch_over(ends[0]);
    }
    close(ends[0]);
    guard_pipe = ends[1];
}

/* ---- The cluster ---- */

#define ENOUGH_BYTES ((uint64_t)1 << 30)

/* In memory, where there is room: a new cluster has a thousand files, which ext4 makes slowly after others
 * were removed, and nothing here is about a power failure. */
static const char *parent_directory(void)
{
    struct statvfs room;

    if (statvfs("/dev/shm", &room) != 0 || access("/dev/shm", W_OK) != 0)
        return "/tmp";
    return (uint64_t)room.f_bavail * room.f_frsize >= ENOUGH_BYTES ? "/dev/shm" : "/tmp";
}

/* Under ctest it is a copy of one that was made before: initdb and the migrations take a second. */
static void start_cluster(void)
{
    const char *made = getenv("RUNNEL_TEST_CLUSTER");
    struct err err;

    if (cluster)
        return;
    snprintf(directory, sizeof(directory), "%s/runnel-test-XXXXXX", parent_directory());
    if (!mkdtemp(directory) || chmod(directory, 0711) != 0)
        stop_here("mkdtemp", NULL);
    start_guard();
    if (made && !copy_cluster(made, directory))
        stop_here("copy_cluster", NULL);
    if (embedded_open(directory, -1, &cluster, &err))
        stop_here("embedded_open", &err);
    if (!made && store_migrate(embedded_url(cluster), -1, &err))
        stop_here("store_migrate", &err);
}

void pg_fixture_stop(void)
{
    embedded_close(cluster);
    cluster = NULL;
}

void pg_fixture_start(void)
{
    struct err err;

    if (embedded_open(directory, -1, &cluster, &err))
        stop_here("embedded_open", &err);
}

const char *pg_fixture_url(void)
{
    start_cluster();
    return embedded_url(cluster);
}

const char *pg_fixture_directory(void)
{
    start_cluster();
    return directory;
}

struct store *pg_fixture_store_with(const struct store_options *options)
{
    struct store_options filled = *options;
    struct store *store;
    struct err err;

    filled.url = pg_fixture_url();
    if (store_open(&filled, &store, &err))
        stop_here("store_open", &err);
    return store;
}

struct store *pg_fixture_store(void)
{
    const struct store_options options = {.node_id = "node_test/boot_1"};

    return pg_fixture_store_with(&options);
}

void pg_fixture_end(struct store *store)
{
    store_free(store);
    if (!cluster)
        return;
    embedded_close(cluster);
    cluster = NULL;
    close(guard_pipe);
    waitpid(guard, NULL, 0);
}

/* ---- Looking inside ---- */

static const char *ask(const char *sql)
{
    static char answer[4096];
    PGconn *connection = PQconnectdb(pg_fixture_url());
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        fprintf(stderr, "pg_fixture: %s: %s", sql, PQerrorMessage(connection));
        exit(1);
    }
    snprintf(answer, sizeof(answer), "%s", PQntuples(result) ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    PQfinish(connection);
    return answer;
}

PRINTF_LIKE(1, 0)
static char *format_sql(const char *format, va_list arguments)
{
    char *sql = NULL;

    if (vasprintf(&sql, format, arguments) < 0)
        abort();
    return sql;
}

const char *pg_fixture_ask(const char *format, ...)
{
    va_list arguments;
    const char *answer;
    char *sql;

    va_start(arguments, format);
    sql = format_sql(format, arguments);
    va_end(arguments);
    answer = ask(sql);
    free(sql);
    return answer;
}

long pg_fixture_count(const char *format, ...)
{
    va_list arguments;
    long count;
    char *sql;

    va_start(arguments, format);
    sql = format_sql(format, arguments);
    va_end(arguments);
    count = strtol(ask(sql), NULL, 10);
    free(sql);
    return count;
}
