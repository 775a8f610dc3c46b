/* Boxes whose commands do not want to end, want too much, or lose a process that they depend on. */

#include "core/sandbox/box.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/sandbox/compute.h"
#include "tests/support/boxes.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

#define MIB ((uint64_t)1 << 20)

/* The box answers, or has been ended: both are an end of what was in it. */
static void assert_nothing_goes_on(void)
{
    if (box_is_alive(test_box))
        assert_box_is_empty();
}

static struct box_result run_for(const char *text, uint32_t timeout_ms)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, text);

    plan.timeout_ms = timeout_ms;
    return run(plan);
}

/* ---- Processes that do not want to end ---- */

TEST(killing_everything_inside_does_not_end_the_box)
{
    struct box_result result = run_script("kill -9 -1; exit 4");

    /* Its supervisor was killed as well, so its own status is not known. */
    assert_true(result.why == BOX_SIGNALLED || result.status == 4);
    assert_true(box_is_alive(test_box));
    assert_box_is_empty();
}

TEST(no_signal_from_inside_reaches_the_first_process)
{
    assert_prints("for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done; echo here", "here\n");
    assert_prints("kill -9 1; kill -STOP 1; echo here", "here\n");
    assert_box_is_empty();
}

TEST(orphans_of_a_killed_supervisor_end)
{
    struct box_result result =
        run_script("setsid sleep 99 & (setsid sleep 99 &); kill -9 $PPID; sleep 99");

    assert_int_equal(result.why, BOX_SIGNALLED);
    assert_int_equal(result.status, SIGKILL);
    assert_nothing_goes_on();
}

TEST(a_stopped_supervisor_still_kills_its_tree)
{
    struct box_result result = run_for("kill -STOP -1; sleep 99 & sleep 99", 200);

    assert_int_equal(result.why, BOX_TIMED_OUT);
    assert_nothing_goes_on();
}

TEST(a_loop_that_stops_supervisors_costs_the_box_at_most)
{
    struct box_result result = run_for(
        "for i in 1 2 3 4; do (trap '' TERM; while :; do kill -STOP $PPID 2 1; done) & done; "
        "while :; do kill -STOP $PPID; done",
        200);

    assert_true(result.why == BOX_TIMED_OUT || result.why == BOX_GONE);
    assert_nothing_goes_on();
}

TEST(zombies_and_ignored_signals_do_not_matter)
{
    struct box_result result =
        run_for("trap '' TERM INT HUP QUIT USR1; for i in $(seq 100); do "
                "(exit 0) & done; exec sleep 99",
                300);

    assert_int_equal(result.why, BOX_TIMED_OUT);
    assert_nothing_goes_on();
}

/* ---- Limits ---- */

TEST(a_fork_bomb_stays_in_its_box)
{
    struct box_result result;

    box_close(test_box);
    test_box = open_test_box(1024 * MIB, 32);
    result = run_for("bomb() { bomb | bomb & }; bomb 2>/dev/null; wait; sleep 99", 400);
    assert_true(result.why == BOX_TIMED_OUT || result.why == BOX_GONE ||
                result.why == BOX_EXITED || result.why == BOX_SIGNALLED);
    assert_nothing_goes_on();
}

TEST(a_box_full_of_processes_refuses_another_command)
{
    static const char *const fork_until_refused[] = {
        "python3", "-c", "import os, time\nwhile os.fork(): pass\ntime.sleep(99)", NULL};
    const char *arguments[4];
    struct box_run plan = script(arguments, "");

    box_close(test_box);
    test_box = open_test_box(1024 * MIB, 12);
    plan.command.arguments = fork_until_refused;
    plan.leftovers = BOX_KEEP_LEFTOVERS;
    assert_int_equal(run(plan).status, 1);
    assert_int_equal(run_script("true").why, BOX_OVER_COUNT);
    assert_true(box_is_alive(test_box));
}

TEST(a_box_has_no_more_commands_than_it_may)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "exec sleep 99 & exit 0");
    struct box_result result = {.why = BOX_EXITED};
    int commands = 0;

    plan.leftovers = BOX_KEEP_LEFTOVERS;
    while (commands < 100 && (result = run(plan)).why == BOX_EXITED)
        commands++;
    assert_int_equal(result.why, BOX_OVER_COUNT);
    assert_int_equal(commands, 64);
}

TEST(one_process_cannot_have_more_memory_than_the_box)
{
    assert_int_equal(run_script("python3 -c 'x = bytearray(3 << 30)' 2>/dev/null").status, 1);
    assert_true(box_is_alive(test_box));
}

/* Each below the limit of one process. */
TEST(processes_with_too_much_memory_together_end_the_box)
{
    struct box_result result;

    box_close(test_box);
    test_box = open_test_box(64 * MIB, 64);
    result = run_script(
        "for i in 1 2 3; do head -c 40M /dev/zero | tail -c 40M | sleep 99 & done; wait");
    assert_int_equal(result.why, BOX_OVER_MEMORY);
    assert_false(box_is_alive(test_box));
    assert_int_equal(run_script("true").why, BOX_OVER_MEMORY);
}

/* Memory that no process has mapped is the kernel's to count, so the file system has a limit of its own. */
TEST(temporary_files_have_a_limit)
{
    assert_prints(
        "head -c 1M /dev/zero > /tmp/a && head -c 1M /dev/zero > /dev/shm/a && echo yes",
        "yes\n");
    assert_prints(
        "for i in $(seq 20); do head -c 1M /dev/zero > /tmp/$i || break; done 2>/dev/null; "
        "test $(du -sm /tmp | cut -f1) -le 16 && test ! -s /tmp/20 && echo full",
        "full\n");
}

TEST(a_file_has_a_limit)
{
    assert_int_equal(
        run_script("trap '' XFSZ; head -c 2M /dev/zero > /tmp/large 2>/dev/null").status, 1);
    /* 128 and SIGXFSZ, as the shell says it. */
    assert_int_equal(run_script("(truncate -s 1T /tmp/sparse) 2>/dev/null; exit $?").status,
                     153);
}

/* ---- Deaths ---- */

static pid_t child_of(pid_t pid)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(path, "re");
    pid_t child = 0;

    assert_non_null(file);
    if (fscanf(file, "%d", &child) != 1)
        child = 0;
    (void)fclose(file);
    return child;
}

struct waiting {
    pthread_t thread;
    struct box_result result;
};

static void *wait_for_sleep(void *argument)
{
    ((struct waiting *)argument)->result = run_script("echo > /tmp/begun; exec sleep 99");
    return NULL;
}

/* Kills one of the family while a command runs: the number of generations below this process says which one. */
static struct box_result kill_during_command(int generation)
{
    struct waiting waiting = {0};
    pid_t pid = getpid();

    assert_int_equal(pthread_create(&waiting.thread, NULL, wait_for_sleep, &waiting), 0);
    assert_prints("until test -e /tmp/begun; do :; done", "");
    for (int i = 0; i < generation; i++)
        pid = child_of(pid);
    assert_true(pid > 1);
    kill(pid, SIGKILL);
    pthread_join(waiting.thread, NULL);
    return waiting.result;
}

enum { ZYGOTE = 1, SPAWNER, BUBBLEWRAP, FIRST_PROCESS, SUPERVISOR };

static void assert_another_box_can_be_had(void)
{
    box_close(test_box);
    test_box = open_test_box(1024 * MIB, 256);
    assert_prints("echo again", "again\n");
}

TEST(a_killed_spawner_takes_its_boxes_along_and_is_replaced)
{
    assert_int_equal(kill_during_command(SPAWNER).why, BOX_GONE);
    assert_another_box_can_be_had();
}

TEST(a_killed_bubblewrap_takes_its_box_along)
{
    assert_int_equal(kill_during_command(BUBBLEWRAP).why, BOX_GONE);
    assert_another_box_can_be_had();
}

TEST(a_killed_first_process_takes_its_box_along)
{
    assert_int_equal(kill_during_command(FIRST_PROCESS).why, BOX_GONE);
    assert_another_box_can_be_had();
}

TEST(a_supervisor_that_the_host_kills_is_not_the_end)
{
    assert_int_equal(kill_during_command(SUPERVISOR).why, BOX_SIGNALLED);
    assert_nothing_goes_on();
}

/* In a process of its own, which is killed as the server may be. All of its family become this one's children. */
static void assert_server_leaves_nothing(const char *fault)
{
    int pipes[2], status;
    pid_t server;
    char byte;

    box_close(test_box);
    test_box = NULL;
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    server = fork();
    if (server == 0) {
        struct err err;

        if (fault)
            setenv("RUNNEL_FAULT", fault, 1);
        if (compute_start(NULL, 0, &err))
            _exit(1);
        test_box = open_test_box(1024 * MIB, 256);
        run_script("(setsid sleep 99 &); sleep 99 & echo > /tmp/x; kill -9 $PPID");
        (void)!write(pipes[1], "x", 1);
        run_script("(setsid sleep 99 &); exec sleep 99");
        _exit(1);
    }
    close(pipes[1]);
    if (!fault) {
        assert_int_equal(read(pipes[0], &byte, 1), 1);
        kill(server, SIGKILL);
    }
    assert_int_equal(waitpid(server, &status, 0), server);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(pipes[0]);
    assert_no_box_is_left();
}

TEST(nothing_outlives_a_killed_server)
{
    assert_server_leaves_nothing(NULL);
}

TEST(nothing_outlives_a_server_that_is_killed_at_any_point)
{
    static const char *const points[] = {
        "sandbox.box.open:1:kill",  "sandbox.send:1:kill",     "sandbox.box.opened:1:kill",
        "sandbox.box.start:1:kill", "sandbox.box.poll:1:kill", "sandbox.box.poll:2:kill",
        "sandbox.box.end:1:kill"};

    for (size_t i = 0; i < COUNT_OF(points); i++)
        assert_server_leaves_nothing(points[i]);
}

static int lowest_descriptor(void)
{
    int fd = memfd_create("lowest", MFD_CLOEXEC);

    close(fd);
    return fd;
}

TEST(no_descriptor_is_left_behind_by_any_failure)
{
    struct box_plan plan = {.limits = {.memory = 64 * MIB, .temporary = MIB, .processes = 16},
                            .user = box_user()};
    struct box *other = NULL;
    const char *arguments[4];
    struct box_run run_plan = script(arguments, "true");
    struct box_result result;
    struct err err;
    int before = lowest_descriptor();

    fault_arm("sandbox.box.open", 1);
    assert_int_equal(box_open(&plan, &other, &err), ERR_INTERNAL);
    plan.folders = &(struct box_folder){"/no/such/folder", "/mnt/data", true};
    plan.folder_count = 1;
    assert_int_equal(box_open(&plan, &other, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "/no/such/folder"));
    assert_null(other);
    fault_arm("sandbox.box.start", 1);
    assert_int_equal(box_run(test_box, &run_plan, &result, &err), ERR_OK);
    assert_int_equal(result.why, BOX_GONE);
    for (size_t i = 0; i < 2; i++) {
        box_close(test_box);
        test_box = open_test_box(64 * MIB, 16);
        fault_arm((const char *[]){"sandbox.box.poll", "sandbox.box.end"}[i], 1);
        assert_int_equal(run_script("true").why, BOX_GONE);
    }
    fault_disarm();
    assert_int_equal(lowest_descriptor(), before);
}

int main(void)
{
#define IN_A_BOX(test) cmocka_unit_test_setup_teardown(test, box_set_up, box_tear_down)
    const struct CMUnitTest tests[] = {
        /* First, because RUNNEL_FAULT is read at the first visit of any point. */
        cmocka_unit_test(nothing_outlives_a_server_that_is_killed_at_any_point),
        IN_A_BOX(killing_everything_inside_does_not_end_the_box),
        IN_A_BOX(no_signal_from_inside_reaches_the_first_process),
        IN_A_BOX(orphans_of_a_killed_supervisor_end),
        IN_A_BOX(a_stopped_supervisor_still_kills_its_tree),
        IN_A_BOX(a_loop_that_stops_supervisors_costs_the_box_at_most),
        IN_A_BOX(zombies_and_ignored_signals_do_not_matter),
        IN_A_BOX(a_fork_bomb_stays_in_its_box),
        IN_A_BOX(a_box_full_of_processes_refuses_another_command),
        IN_A_BOX(a_box_has_no_more_commands_than_it_may),
        IN_A_BOX(one_process_cannot_have_more_memory_than_the_box),
        IN_A_BOX(processes_with_too_much_memory_together_end_the_box),
        IN_A_BOX(temporary_files_have_a_limit),
        IN_A_BOX(a_file_has_a_limit),
        IN_A_BOX(a_killed_spawner_takes_its_boxes_along_and_is_replaced),
        IN_A_BOX(a_killed_bubblewrap_takes_its_box_along),
        IN_A_BOX(a_killed_first_process_takes_its_box_along),
        IN_A_BOX(a_supervisor_that_the_host_kills_is_not_the_end),
        IN_A_BOX(nothing_outlives_a_killed_server),
        IN_A_BOX(no_descriptor_is_left_behind_by_any_failure),
    };

    return run_in_boxes(tests, COUNT_OF(tests), boxes_start, boxes_stop);
}
