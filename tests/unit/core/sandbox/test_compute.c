/* Compute children: what they may not do, how they end, and who ends them. The tasks below run in real children. */

#include "core/sandbox/compute.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

/* ---- Tasks ---- */

static int echo(void)
{
    char bytes[4096];
    ssize_t got;

    while ((got = read(0, bytes, sizeof(bytes))) > 0) {
        if (write(1, bytes, (size_t)got) != got)
            return 1;
    }
    return got == 0 ? 7 : 1;
}

static int say_argument(void)
{
    const char *argument = compute_argument();

    return write(1, argument, strlen(argument)) == (ssize_t)strlen(argument) ? 0 : 1;
}

static int sleep_for_ever(void)
{
    while (poll(NULL, 0, -1) <= 0)
        ;
    return 0;
}

/* An echo of what follows a 2. Behind anything else it goes to the end of its input, and stays there. */
static int end_the_second_time(void)
{
    char byte;

    if (read(0, &byte, 1) != 1)
        return 1;
    if (byte == '2')
        return echo();
    if (write(1, "half", 4) != 4 || lseek(0, 0, SEEK_END) < 0)
        return 1;
    return sleep_for_ever();
}

static int spin(void)
{
    for (volatile bool forever = true; forever;)
        ;
    return 0;
}

static int crash(void)
{
    raise(SIGSEGV); /* not allowed to signal, so: */
    *(volatile int *)(uintptr_t)8 = 1;
    return 0;
}

static int write_for_ever(void)
{
    static const char bytes[4096];

    while (write(1, bytes, sizeof(bytes)) > 0)
        ;
    return 0;
}

/* Data beyond the limit is refused, and that is an error of malloc(), not a kill. */
static int take_memory(void)
{
    size_t taken = 0;

    while (taken < 2 * CONFINE_MEMORY) {
        char *more =
            mmap(NULL, 64UL << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (more == MAP_FAILED)
            return 3;
        taken += 64UL << 20;
    }
    return 0;
}

/* Each try is refused, or the child has a way out. The names of those that worked are the output. */
static const char *secret_path; /* a file that the parent can read */
static pid_t parent;

static bool opens(const char *path, int flags)
{
    return open(path, flags, 0600) >= 0;
}

static bool connects(int family, int type)
{
    return socket(family, type, 0) >= 0;
}

static int try_everything(void)
{
    char *no_arguments[] = {NULL};
    const struct {
        const char *what;
        bool worked;
    } tries[] = {
        {"read a file of the parent", opens(secret_path, O_RDONLY)},
        {"read /etc/passwd", opens("/etc/passwd", O_RDONLY)},
        {"read /proc/1/environ", opens("/proc/1/environ", O_RDONLY)},
        {"list /", opendir("/") != NULL},
        {"climb out of /usr", opens("/usr/../etc/passwd", O_RDONLY)},
        {"follow a link of /proc", opens("/proc/self/root/etc/passwd", O_RDONLY)},
        {"make a file in /tmp", opens("/tmp/runnel-escaped", O_CREAT | O_WRONLY)},
        {"make a file without a name", opens("/tmp", O_TMPFILE | O_WRONLY)},
        {"write below /usr", opens("/usr/runnel-escaped", O_CREAT | O_WRONLY)},
        {"make a folder", mkdir("/tmp/runnel-escaped", 0700) == 0},
        {"remove a file", unlink(secret_path) == 0},
        {"rename a file", rename(secret_path, "/tmp/runnel-escaped") == 0},
        {"make an IPv4 socket", connects(AF_INET, SOCK_STREAM)},
        {"make an IPv6 socket", connects(AF_INET6, SOCK_DGRAM)},
        {"make a UNIX socket", connects(AF_UNIX, SOCK_STREAM)},
        {"make a netlink socket", connects(AF_NETLINK, SOCK_RAW)},
        {"make a pair of sockets", socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0}) == 0},
        {"fork", syscall(SYS_fork) >= 0},
        {"clone", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0},
        {"clone3", syscall(SYS_clone3, NULL, 0) >= 0 || errno != EPERM},
        {"execute a program", execve("/bin/true", no_arguments, no_arguments) >= 0},
        {"trace the parent", ptrace(PTRACE_ATTACH, parent, 0, 0) == 0},
        {"read the parent's memory",
         syscall(SYS_process_vm_readv, parent, NULL, 0, NULL, 0, 0) >= 0},
        {"open the parent's descriptors", syscall(SYS_pidfd_open, parent, 0) >= 0},
        {"signal the parent", kill(parent, 0) == 0},
        {"change the parent's limits",
         syscall(SYS_prlimit64, parent, RLIMIT_CORE, NULL, NULL) == 0},
        {"raise a limit of its own",
         syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &(struct rlimit){1, 1}, NULL) == 0},
        {"choose the process that output signals", fcntl(1, F_SETOWN, parent) == 0},
        {"choose the signal that output sends", fcntl(1, F_SETSIG, SIGKILL) == 0},
        {"have output send signals", fcntl(1, F_SETFL, O_ASYNC) == 0},
        {"make a namespace", unshare(CLONE_NEWUSER) == 0},
        {"mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL) == 0},
        {"change the root", chroot("/usr") == 0},
        {"change the folder", chdir("/tmp") == 0},
        {"use io_uring", syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno != EPERM},
        {"use bpf", syscall(SYS_bpf, 0, NULL, 0) >= 0 || errno != EPERM},
        {"use keys", syscall(SYS_keyctl, 0, 0, 0, 0, 0) >= 0},
        {"use a terminal", syscall(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, "x") >= 0},
        {"make an anonymous file", syscall(SYS_memfd_create, "x", 0) >= 0},
        {"use a descriptor of the server", fcntl(3, F_GETFD) >= 0 || fcntl(9, F_GETFD) >= 0},
        {"see the environment", getenv("HOME") != NULL || getenv("PATH") != NULL},
    };

    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        if (tries[i].worked)
            (void)dprintf(1, "%s; ", tries[i].what);
    }
    return (int)COUNT_OF(tries);
}

static int read_what_it_may(void)
{
    return opens("/usr/share/zoneinfo/Europe/Berlin", O_RDONLY) ? 0 : 1;
}

static int execute_a_program(void)
{
    char name[] = "cat";
    char *arguments[] = {name, NULL};

    execve("/bin/cat", arguments, arguments + 1);
    return 9;
}

enum {
    ECHO,
    SLEEP,
    SECOND,
    SPIN,
    CRASH,
    FLOOD,
    MEMORY,
    ESCAPE,
    ALLOWED,
    PROGRAM,
    ARGUMENT,
    TASKS
};

static const struct compute_task tasks[TASKS] = {
    [ECHO] = {"echo", CONFINE_COMPUTE, echo},
    [SLEEP] = {"sleep", CONFINE_COMPUTE, sleep_for_ever},
    [SECOND] = {"second", CONFINE_COMPUTE, end_the_second_time},
    [SPIN] = {"spin", CONFINE_COMPUTE, spin},
    [CRASH] = {"crash", CONFINE_COMPUTE, crash},
    [FLOOD] = {"flood", CONFINE_COMPUTE, write_for_ever},
    [MEMORY] = {"memory", CONFINE_COMPUTE, take_memory},
    [ESCAPE] = {"escape", CONFINE_COMPUTE, try_everything},
    [ALLOWED] = {"allowed", CONFINE_COMPUTE, read_what_it_may},
    [PROGRAM] = {"program", CONFINE_PROGRAM, execute_a_program},
    [ARGUMENT] = {"argument", CONFINE_COMPUTE, say_argument},
};

/* ---- Tools ---- */

static int file_with(const char *text)
{
    int fd = memfd_create("input", MFD_CLOEXEC);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static struct compute_end run_task(size_t task, const char *input, struct buf *ret_output,
                                   uint32_t wall_ms)
{
    struct compute_plan plan = {
        .task = task, .input = file_with(input), .output_max = 1 << 20, .wall_ms = wall_ms};
    struct compute_end end = {.why = COMPUTE_BUSY};
    struct err err;
    enum err_code rc = compute_run(&plan, ret_output, &end, &err);

    close(plan.input);
    assert_int_equal(rc, ERR_OK);
    return end;
}

static void assert_end(struct compute_end end, enum compute_why why, int status)
{
    assert_int_equal(end.why, why);
    assert_int_equal(end.status, status);
}

#define LONG_MS 60000

struct caller {
    pthread_t thread;
    struct compute_end end;
    bool worked;
    atomic_bool ended;
};

static void *call_sleep(void *argument)
{
    struct caller *caller = argument;
    AUTO_BUF output = {0};

    caller->end = run_task(SLEEP, "", &output, LONG_MS);
    caller->ended = true;
    return NULL;
}

/* The process ids of the children of a process; their number. 0 for a process that is gone. */
static size_t children_of(pid_t pid, pid_t *ret_pids, size_t room)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(path, "re");
    size_t count = 0;

    if (!file)
        return 0;
    while (count < room && fscanf(file, "%d", &ret_pids[count]) == 1)
        count++;
    (void)fclose(file);
    return count;
}

/* Waits until the process has a child. */
static pid_t child_of(pid_t pid)
{
    pid_t child;

    while (children_of(pid, &child, 1) == 0)
        sched_yield();
    return child;
}

static int start(void **state)
{
    char path[] = "/tmp/runnel-secret-XXXXXX";
    int fd = mkstemp(path);
    struct err err;

    (void)state;
    assert_true(fd >= 0);
    secret_path = mem_strdup(path);
    parent = getpid();
    close(fd);
    return compute_start(tasks, TASKS, &err) == ERR_OK ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    compute_stop();
    unlink(secret_path);
    free((char *)(uintptr_t)secret_path);
    return 0;
}

/* ---- Tests ---- */

TEST(a_child_reads_its_input_and_its_output_comes_back)
{
    AUTO_BUF output = {0};

    assert_end(run_task(ECHO, "some bytes", &output, LONG_MS), COMPUTE_EXITED, 7);
    assert_string_equal(output.data, "some bytes");
}

TEST(a_task_has_an_argument_of_its_own)
{
    struct compute_plan plan = {
        .task = ARGUMENT, .input = file_with(""), .output_max = 1024, .wall_ms = LONG_MS};
    static const char *const arguments[] = {"7", NULL, "eng+chi_sim"};
    struct compute_end end;

    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        AUTO_BUF output = {0};

        plan.argument = arguments[i];
        assert_int_equal(compute_run(&plan, &output, &end, NULL), ERR_OK);
        assert_end(end, COMPUTE_EXITED, 0);
        assert_string_equal(output.data ? output.data : "", arguments[i] ? arguments[i] : "");
    }
    close(plan.input);
}

TEST(nothing_that_a_parser_does_not_need_works)
{
    AUTO_BUF output = {0};
    struct compute_end end = run_task(ESCAPE, "", &output, LONG_MS);

    assert_string_equal(output.data ? output.data : "", "");
    assert_int_equal(end.why, COMPUTE_EXITED);
    assert_true(end.status > 30);
    assert_int_equal(access(secret_path, R_OK), 0);
    assert_int_equal(access("/tmp/runnel-escaped", F_OK), -1);
}

/* True if this line stands in /proc/<pid>/status. */
static bool has_status_line(pid_t pid, const char *line)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    char found[256];
    bool has = false;

    assert_non_null(file);
    while (!has && fgets(found, sizeof(found), file))
        has = strcmp(found, line) == 0;
    (void)fclose(file);
    return has;
}

/* Also where the server is root and the kernel gives it no namespace of its own. */
TEST(a_child_has_no_capabilities)
{
    static const char *const none[] = {
        "CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n",
        "CapEff:\t0000000000000000\n", "CapAmb:\t0000000000000000\n"};
    struct caller caller = {0};
    pid_t child;

    assert_int_equal(pthread_create(&caller.thread, NULL, call_sleep, &caller), 0);
    child = child_of(child_of(child_of(getpid())));
    /* Seccomp is the last layer. */
    while (!has_status_line(child, "Seccomp:\t2\n"))
        sched_yield();
    for (size_t i = 0; i < COUNT_OF(none); i++)
        assert_true(has_status_line(child, none[i]));
    kill(child, SIGKILL);
    pthread_join(caller.thread, NULL);
    assert_int_equal(caller.end.why, COMPUTE_KILLED);
}

TEST(files_of_the_system_can_be_read)
{
    AUTO_BUF output = {0};

    assert_end(run_task(ALLOWED, "", &output, LONG_MS), COMPUTE_EXITED, 0);
}

TEST(a_program_of_the_system_is_executed_only_where_the_task_says_so)
{
    AUTO_BUF output = {0};

    assert_end(run_task(PROGRAM, "through cat", &output, LONG_MS), COMPUTE_EXITED, 0);
    assert_string_equal(output.data, "through cat");
}

TEST(a_child_that_crashes_is_named_so)
{
    AUTO_BUF output = {0};
    struct compute_end end = run_task(CRASH, "", &output, LONG_MS);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    assert_true(end.why == COMPUTE_KILLED || end.why == COMPUTE_EXITED);
#else
    assert_end(end, COMPUTE_KILLED, SIGSEGV);
#endif
}

TEST(a_child_whose_time_is_over_is_killed)
{
    AUTO_BUF output = {0};

    assert_end(run_task(SLEEP, "", &output, 20), COMPUTE_LATE, 0);
    assert_end(run_task(SPIN, "", &output, 20), COMPUTE_LATE, 0);
}

TEST(memory_beyond_the_limit_is_refused)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* confine.h: no limit in these builds */
#else
    AUTO_BUF output = {0};

    assert_end(run_task(MEMORY, "", &output, LONG_MS), COMPUTE_EXITED, 3);
#endif
}

TEST(output_beyond_the_limit_ends_the_child)
{
    AUTO_BUF output = {0};
    struct compute_plan plan = {
        .task = FLOOD, .input = file_with(""), .output_max = 100000, .wall_ms = LONG_MS};
    struct compute_end end;
    struct err err;

    assert_int_equal(compute_run(&plan, &output, &end, &err), ERR_TOO_LARGE);
    close(plan.input);
    assert_true(output.length <= 100000);
}

static void *call_echo(void *argument)
{
    struct caller *caller = argument;
    AUTO_BUF output = {0};

    for (int i = 0; i < 20; i++) {
        caller->end = run_task(ECHO, "abc", &output, LONG_MS);
        caller->worked = caller->end.why == COMPUTE_EXITED && strcmp(output.data, "abc") == 0;
        if (!caller->worked)
            break;
        buf_reset(&output);
    }
    return NULL;
}

TEST(many_threads_share_the_spawner)
{
    struct caller callers[8] = {0};

    for (size_t i = 0; i < COUNT_OF(callers); i++)
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_echo, &callers[i]), 0);
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        assert_true(callers[i].worked);
    }
}

/* Ends the next spawner that has a child, and waits for the end of that child. False: the caller has ended. */
static bool kill_a_spawner(const struct caller *caller)
{
    pid_t zygote = child_of(getpid()), spawner, child;
    int child_fd;

    while (!children_of(zygote, &spawner, 1) || !children_of(spawner, &child, 1)) {
        if (caller->ended)
            return false;
        sched_yield();
    }
    child_fd = (int)syscall(SYS_pidfd_open, child, 0);
    kill(spawner, SIGKILL);
    if (child_fd >= 0) {
        assert_int_equal(poll(&(struct pollfd){.fd = child_fd, .events = POLLIN}, 1, LONG_MS),
                         1);
        close(child_fd);
    }
    return true;
}

TEST(a_killed_spawner_takes_its_children_along_and_is_replaced)
{
    AUTO_BUF output = {0};
    struct caller caller = {0};
    int killed = 0;

    assert_int_equal(pthread_create(&caller.thread, NULL, call_sleep, &caller), 0);
    /* A try may be lost without a child: it was sent to a spawner that was ending. */
    while (kill_a_spawner(&caller))
        killed++;
    pthread_join(caller.thread, NULL);
    assert_in_range(killed, 1, COMPUTE_ATTEMPTS);
    assert_int_equal(caller.end.why, COMPUTE_LOST);
    assert_end(run_task(ECHO, "again", &output, LONG_MS), COMPUTE_EXITED, 7);
    assert_string_equal(output.data, "again");
}

/* Once the first child has come to the end of the input. */
static void *kill_spawner(void *argument)
{
    const int *input = argument;

    while (lseek(*input, 0, SEEK_CUR) < 4)
        sched_yield();
    assert_int_equal(pwrite(*input, "2", 1, 0), 1);
    kill(child_of(child_of(getpid())), SIGKILL);
    return NULL;
}

TEST(a_task_whose_spawner_was_killed_runs_again_from_its_beginning)
{
    AUTO_BUF output = {0};
    struct compute_plan plan = {
        .task = SECOND, .input = file_with("1abc"), .output_max = 4, .wall_ms = LONG_MS};
    struct compute_end end = {0};
    pthread_t killer;
    struct err err;

    buf_add_text(&output, "before ");
    assert_int_equal(pthread_create(&killer, NULL, kill_spawner, &plan.input), 0);
    assert_int_equal(compute_run(&plan, &output, &end, &err), ERR_OK);
    pthread_join(killer, NULL);
    close(plan.input);
    assert_end(end, COMPUTE_EXITED, 7);
    assert_string_equal(output.data, "before abc");
}

TEST(a_request_that_cannot_be_sent_goes_to_another_spawner)
{
    AUTO_BUF output = {0};

    fault_arm("sandbox.send", 1);
    assert_end(run_task(ECHO, "x", &output, LONG_MS), COMPUTE_EXITED, 7);
    assert_true(fault_fired());
    fault_disarm();
}

TEST(no_descriptor_is_left_behind)
{
    AUTO_BUF output = {0};
    int before = memfd_create("before", MFD_CLOEXEC), after;

    close(before);
    assert_end(run_task(ECHO, "x", &output, LONG_MS), COMPUTE_EXITED, 7);
    assert_end(run_task(SLEEP, "", &output, 1), COMPUTE_LATE, 0);
    after = memfd_create("after", MFD_CLOEXEC);
    close(after);
    assert_int_equal(before, after);
}

/* In a process of its own, which is killed as the server may be. */
TEST(nothing_outlives_a_killed_server)
{
    int pids[2];
    pid_t server, family[3] = {0};
    struct pollfd ends[3];

    assert_int_equal(pipe2(pids, O_CLOEXEC), 0);
    compute_stop();
    server = fork();
    if (server == 0) {
        struct caller caller;
        struct err err;

        if (compute_start(tasks, TASKS, &err) ||
            pthread_create(&caller.thread, NULL, call_sleep, &caller))
            _exit(1);
        family[0] = child_of(getpid());
        family[1] = child_of(family[0]);
        family[2] = child_of(family[1]);
        (void)!write(pids[1], family, sizeof(family));
        for (;;)
            pause();
    }
    assert_int_equal(read(pids[0], family, sizeof(family)), sizeof(family));
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        ends[i] =
            (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, family[i], 0), .events = POLLIN};
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        if (ends[i].fd < 0)
            continue; /* it has ended already */
        assert_int_equal(poll(&ends[i], 1, LONG_MS), 1);
        close(ends[i].fd);
    }
    close(pids[0]);
    close(pids[1]);
    assert_int_equal(compute_start(tasks, TASKS, &(struct err){0}), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_reads_its_input_and_its_output_comes_back),
        cmocka_unit_test(a_task_has_an_argument_of_its_own),
        cmocka_unit_test(nothing_that_a_parser_does_not_need_works),
        cmocka_unit_test(a_child_has_no_capabilities),
        cmocka_unit_test(files_of_the_system_can_be_read),
        cmocka_unit_test(a_program_of_the_system_is_executed_only_where_the_task_says_so),
        cmocka_unit_test(a_child_that_crashes_is_named_so),
        cmocka_unit_test(a_child_whose_time_is_over_is_killed),
        cmocka_unit_test(memory_beyond_the_limit_is_refused),
        cmocka_unit_test(output_beyond_the_limit_ends_the_child),
        cmocka_unit_test(many_threads_share_the_spawner),
        cmocka_unit_test(a_killed_spawner_takes_its_children_along_and_is_replaced),
        cmocka_unit_test(a_task_whose_spawner_was_killed_runs_again_from_its_beginning),
        cmocka_unit_test(a_request_that_cannot_be_sent_goes_to_another_spawner),
        cmocka_unit_test(no_descriptor_is_left_behind),
        cmocka_unit_test(nothing_outlives_a_killed_server),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
