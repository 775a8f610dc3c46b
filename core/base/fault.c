/*
 * fault.c -- counts visits of fault points, and acts on the visit that a test has armed.
 *
 *   test ── RUNNEL_FAULT or a file ──▶ armed[] ◀── fault_visit("store.exec"): is this the n-th visit?
 *                                                      └─▶ fail, kill, stop or hold; FILE.fired
 *
 * A test finds every place where a scenario can break by counting up: n = 1, 2, 3 until the point is no
 * longer reached. That finds moments that the author of the test has not thought of. Where several threads
 * visit a point, the n-th visit is not the same in each run.
 *
 * A server is armed again through a file, because starting one for each n would take most of a test's
 * time. The test writes another file and renames it, so a reader never sees half a list.
 *
 * A killed server writes the .fired file first: the test must know that the kill was its own.
 */

#include "core/base/fault.h"

#ifdef RUNNEL_FAULTS

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/compiler.h"
#include "core/base/lock.h"

#define ARMED_LIMIT 16
#define ENTRY_SIZE  128
#define LIST_SIZE   1024
#define PATH_SIZE   512

enum fault_action {
    FAULT_FAIL,
    FAULT_KILL,
    FAULT_STOP,
    FAULT_HOLD,
};

struct armed {
    char point[ENTRY_SIZE];
    unsigned left; /* visits until it happens, 0 when it has */
    enum fault_action action;
};

/* Guarded by lock. */
static struct lock lock = {.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = LOCK_FAULT};
static struct armed armed[ARMED_LIMIT];
static size_t armed_count;
static bool fired;
static bool environment_read;
static char file_path[PATH_SIZE]; /* "" unless a file says what is armed */
static struct stat file_seen;

static const char *const action_words[] = {
    [FAULT_FAIL] = "fail",
    [FAULT_KILL] = "kill",
    [FAULT_STOP] = "stop",
    [FAULT_HOLD] = "hold",
};

/* A test that arms a fault relies on it: an entry with an unknown action ends the program. */
static NO_RETURN void refuse(const char *entry)
{
    (void)fprintf(stderr, "runnel: RUNNEL_FAULT: not \"point:visit[:kill|stop|hold]\": %s\n",
                  entry);
    abort();
}

static enum fault_action action_parse(const char *entry, const char *word)
{
    for (size_t i = 0; i < COUNT_OF(action_words); i++)
        if (strcmp(word, action_words[i]) == 0)
            return (enum fault_action)i;
    refuse(entry);
}

/* "point:visit[:action]"; cuts the entry at its colons. */
static void arm_entry_locked(char *entry) REQUIRES(lock)
{
    char *visit = strchr(entry, ':');
    char *end;
    unsigned long left = visit ? strtoul(visit + 1, &end, 10) : 0;

    if (!left || (*end && *end != ':') || armed_count == ARMED_LIMIT)
        refuse(entry);
    armed[armed_count] = (struct armed){
        .left = (unsigned)left,
        .action = *end ? action_parse(entry, end + 1) : FAULT_FAIL,
    };
    *visit = '\0';
    (void)snprintf(armed[armed_count].point, sizeof(armed[0].point), "%s", entry);
    armed_count++;
}

static void arm_list_locked(const char *list) REQUIRES(lock)
{
    char entry[ENTRY_SIZE];

    while (*list) {
        size_t length = strcspn(list, ",");

        (void)snprintf(entry, sizeof(entry), "%.*s", (int)length, list);
        arm_entry_locked(entry);
        list += length + (list[length] == ',');
    }
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads the file again when another one was renamed over it. */
static void read_file_locked(void) REQUIRES(lock)
{
    char list[LIST_SIZE];
    struct stat now;
    ssize_t length;
    int fd;

    if (stat(file_path, &now) != 0 || same_file(&now, &file_seen))
        return;
    fd = open(file_path, O_RDONLY | O_CLOEXEC);
    length = fd < 0 ? -1 : read(fd, list, sizeof(list) - 1);
    if (fd >= 0)
        close(fd);
    if (length < 0)
        return;
    list[length] = '\0';
    list[strcspn(list, "\n")] = '\0';
    file_seen = now;
    armed_count = 0;
    arm_list_locked(list);
}

static void read_environment_locked(void) REQUIRES(lock)
{
    const char *list = getenv("RUNNEL_FAULT");

    environment_read = true;
    if (list && *list == '@')
        (void)snprintf(file_path, sizeof(file_path), "%s", list + 1);
    else if (list)
        arm_list_locked(list);
}

/* The test that reads the file learns that the point fired, even if the process is killed next. */
static void report_locked(const char *point) REQUIRES(lock)
{
    char path[PATH_SIZE + sizeof(".fired")];
    char line[ENTRY_SIZE];
    int length = snprintf(line, sizeof(line), "%s\n", point);
    int fd;

    if (!*file_path)
        return;
    (void)snprintf(path, sizeof(path), "%s.fired", file_path);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
}

/* True if something was armed for this visit. */
static bool count_visit_locked(const char *point, enum fault_action *ret_action) REQUIRES(lock)
{
    bool due = false;

    if (!environment_read)
        read_environment_locked();
    if (*file_path)
        read_file_locked();
    for (size_t i = 0; i < armed_count; i++) {
        if (!armed[i].left || strcmp(armed[i].point, point) != 0 || --armed[i].left)
            continue;
        *ret_action = armed[i].action;
        fired = true;
        due = true;
    }
    return due;
}

/* Waits until the server is armed anew. Polls the file every 2 ms, which is fast enough for a test. */
static void hold(void)
{
    struct stat armed_by;
    bool same = true;

    lock_acquire(&lock);
    armed_by = file_seen;
    lock_release(&lock);
    while (same) {
        (void)poll(NULL, 0, 2);
        lock_acquire(&lock);
        read_file_locked();
        same = *file_path && same_file(&armed_by, &file_seen);
        lock_release(&lock);
    }
}

bool fault_visit(const char *point)
{
    enum fault_action action = FAULT_FAIL;
    bool due;

    lock_acquire(&lock);
    due = count_visit_locked(point, &action);
    if (due)
        report_locked(point);
    lock_release(&lock);
    if (!due)
        return false;
    if (action == FAULT_KILL)
        kill(getpid(), SIGKILL);
    if (action == FAULT_STOP)
        (void)raise(SIGSTOP); /* to this thread: with kill() it could run on for a moment */
    if (action == FAULT_HOLD)
        hold();
    /* A process that was stopped and continued goes on without a failure. */
    return action == FAULT_FAIL;
}

static void add_locked(const char *point, unsigned visit) REQUIRES(lock)
{
    struct armed *added = &armed[armed_count];

    assert(armed_count < ARMED_LIMIT);
    armed_count++;
    *added = (struct armed){.left = visit, .action = FAULT_FAIL};
    (void)snprintf(added->point, sizeof(added->point), "%s", point);
}

void fault_arm(const char *point, unsigned visit)
{
    lock_acquire(&lock);
    environment_read = true;
    armed_count = 0;
    fired = false;
    add_locked(point, visit);
    lock_release(&lock);
}

void fault_arm_also(const char *point, unsigned visit)
{
    lock_acquire(&lock);
    add_locked(point, visit);
    lock_release(&lock);
}

void fault_disarm(void)
{
    lock_acquire(&lock);
    environment_read = true;
    armed_count = 0;
    lock_release(&lock);
}

bool fault_fired(void)
{
    bool answer;

    lock_acquire(&lock);
    answer = fired;
    lock_release(&lock);
    return answer;
}

#else

/* A translation unit may not be empty. */
extern int fault_points_are_compiled_out;

#endif
