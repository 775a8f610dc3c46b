/* Boxes: how commands in them end, what is left of them, and who ends a box. Real ones, so skipped where a machine has
 * no user namespaces. What a command tries in vain is in test_escape.c. */

#include "core/sandbox/box.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/support/boxes.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

static void *stop_waiting(void *argument)
{
    uint64_t one = 1;

    (void)!write(*(int *)argument, &one, sizeof(one));
    return NULL;
}

/* ---- How a command ends ---- */

TEST(output_status_and_use_of_a_command_come_back)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "echo out; echo err >&2; exit 7");
    struct printed printed = {0};
    struct box_result result;

    plan.take_output = keep_output;
    plan.argument = &printed;
    result = run(plan);
    assert_int_equal(result.why, BOX_EXITED);
    assert_int_equal(result.status, 7);
    assert_true(result.cpu_us > 0);
    assert_true(result.peak_bytes > 100000);
    assert_string_equal(printed_on(&printed, BOX_STDOUT), "out\n");
    assert_string_equal(printed_on(&printed, BOX_STDERR), "err\n");
    forget_output(&printed);
}

TEST(a_command_has_its_folder_its_environment_and_nothing_else)
{
    assert_prints("pwd; env -u _ -u SHLVL -u PWD", "/tmp\nPATH=/usr/bin:/bin\n");
    assert_prints("ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ");
}

TEST(input_is_empty_unless_the_caller_gives_some)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "test \"$(cat)\" = abc");
    int file = memfd_create("input", MFD_CLOEXEC);

    assert_prints("cat", "");
    assert_int_equal(write(file, "abc", 3), 3);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    plan.input = file;
    assert_int_equal(run(plan).status, 0);
    close(file);
}

TEST(the_time_zone_is_the_hosts)
{
    AUTO_FREE char *zone = realpath("/etc/localtime", NULL);
    AUTO_FREE char *expected = mem_printf("%s\n", zone ? zone : "");

    if (!zone || strncmp(zone, "/usr/", 5) != 0)
        skip();
    assert_prints("realpath /etc/localtime", expected);
}

TEST(a_command_comes_after_the_server)
{
    assert_prints("nice; nice -n -5 true 2>/dev/null; nice", "5\n5\n");
}

TEST(a_signal_is_told_apart_from_a_status)
{
    struct box_result result = run_script("kill -SEGV $$");

    assert_int_equal(result.why, BOX_SIGNALLED);
    assert_int_equal(result.status, SIGSEGV);
}

TEST(a_program_that_does_not_exist_is_127)
{
    static const char *const missing[] = {"no-such-program", NULL};
    const char *arguments[4];
    struct box_run plan = script(arguments, "");
    struct printed printed = {0};

    plan.command.arguments = missing;
    plan.take_output = keep_output;
    plan.argument = &printed;
    assert_int_equal(run(plan).status, 127);
    assert_string_equal(printed_on(&printed, BOX_STDERR),
                        "no-such-program: No such file or directory\n");
    forget_output(&printed);
}

TEST(a_command_whose_time_is_over_is_killed_with_its_children)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "trap '' TERM INT HUP; sleep 99 & sleep 99");

    plan.timeout_ms = 50;
    assert_int_equal(run(plan).why, BOX_TIMED_OUT);
    assert_box_is_empty();
}

TEST(a_command_with_a_grace_is_interrupted_first)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "trap 'echo saved; exit 3' INT; sleep 99 & wait");
    struct printed printed = {0};
    struct box_result result;

    plan.timeout_ms = (uint32_t)patience_ms(1) / 3;
    plan.grace_ms = BOX_LONG_MS;
    plan.take_output = keep_output;
    plan.argument = &printed;
    result = run(plan);
    assert_int_equal(result.why, BOX_TIMED_OUT);
    assert_int_equal(result.status, 3);
    assert_string_equal(printed_on(&printed, BOX_STDOUT), "saved\n");
    forget_output(&printed);
    plan = script(arguments, "trap '' INT; while :; do :; done");
    plan.timeout_ms = 20;
    plan.grace_ms = 20;
    assert_int_equal(run(plan).why, BOX_TIMED_OUT);
    assert_box_is_empty();
}

TEST(a_command_is_cancelled_by_a_descriptor)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "sleep 99");
    int cancel = eventfd(0, EFD_CLOEXEC);
    pthread_t thread;

    plan.cancel = cancel;
    assert_int_equal(pthread_create(&thread, NULL, stop_waiting, &cancel), 0);
    assert_int_equal(run(plan).why, BOX_CANCELLED);
    pthread_join(thread, NULL);
    close(cancel);
    assert_box_is_empty();
}

static bool refuse(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    (void)stream, (void)bytes;
    *(size_t *)argument += size;
    return *(size_t *)argument < 1 << 20;
}

TEST(endless_output_ends_when_the_caller_wants_no_more)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "yes");
    size_t taken = 0;

    plan.take_output = refuse;
    plan.argument = &taken;
    assert_int_equal(run(plan).why, BOX_UNWANTED);
    /* The piece that was refused is the last one. */
    assert_true(taken >= 1 << 20 && taken < (1 << 20) + (64 << 10));
    assert_box_is_empty();
}

/* Wants no more when the output pauses. */
static bool refuse_pause(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    (void)stream, (void)bytes;
    *(size_t *)argument += size;
    return size > 0;
}

TEST(a_pause_of_the_output_is_reported)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "echo a; sleep 600");
    size_t taken = 0;

    plan.take_output = refuse_pause;
    plan.pause_ms = 10;
    plan.argument = &taken;
    assert_int_equal(run(plan).why, BOX_UNWANTED);
    assert_int_equal(taken, 2);
    assert_box_is_empty();
}

/* The reader takes nothing for a while, and the command's time is over meanwhile. */
static bool sleep_once(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    (void)stream, (void)bytes;
    if (*(size_t *)argument == 0) {
        struct timespec time = {.tv_nsec = 400000000};

        nanosleep(&time, NULL); /* it is the slow reader, and waits for nothing */
    }
    *(size_t *)argument += size;
    return true;
}

TEST(a_reader_that_does_not_read_makes_the_program_wait)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "yes");
    struct box_result result;
    size_t taken = 0;

    plan.take_output = sleep_once;
    plan.argument = &taken;
    plan.timeout_ms = 100;
    result = run(plan);
    assert_int_equal(result.why, BOX_TIMED_OUT);
    assert_true(taken > 0);
    /* It slept, too. */
    assert_true(result.cpu_us < 200000);
}

/* ---- What it leaves behind ---- */

TEST(daemons_end_with_their_command)
{
    assert_int_equal(
        run_script("(setsid sleep 99 &) ; (setsid setsid nohup sleep 99 >&- 2>&- &) & "
                   "setsid bash -c 'trap \"\" TERM; sleep 99' & disown -a; exit 0")
            .why,
        BOX_EXITED);
    assert_box_is_empty();
}

TEST(a_call_does_not_wait_for_a_child_that_holds_its_output)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "echo first; sleep 99 & exit 0");
    struct printed printed = {0};

    plan.leftovers = BOX_KEEP_LEFTOVERS;
    plan.take_output = keep_output;
    plan.argument = &printed;
    assert_int_equal(run(plan).why, BOX_EXITED);
    assert_string_equal(printed_on(&printed, BOX_STDOUT), "first\n");
    forget_output(&printed);
}

TEST(leftovers_that_are_kept_are_there_for_the_next_command)
{
    const char *arguments[4];
    struct box_run plan =
        script(arguments, "(setsid bash -c 'echo $BASHPID > /tmp/service; "
                          "exec sleep 99' &); until test -s /tmp/service; do :; done");

    plan.leftovers = BOX_KEEP_LEFTOVERS;
    assert_int_equal(run(plan).why, BOX_EXITED);
    assert_prints("kill -0 $(cat /tmp/service) && echo alive", "alive\n");
}

TEST(commands_run_side_by_side_and_see_the_same_files)
{
    const char *arguments[4], *others[4];
    struct box_run plan = script(arguments, "read line < /tmp/fifo; test \"$line\" = hello");
    struct box_process *process = NULL;
    struct box_result result;
    struct err err;
    int null = memfd_create("null", MFD_CLOEXEC);

    assert_int_equal(run_script("mkfifo /tmp/fifo").status, 0);
    assert_int_equal(
        box_start(test_box, &plan.command, (int[]){null, null, null}, 3, &process, &err),
        ERR_OK);
    assert_int_equal(run(script(others, "echo hello > /tmp/fifo")).status, 0);
    while (poll(&(struct pollfd){.fd = box_process_fd(process), .events = POLLIN}, 1, -1) < 0)
        ;
    box_stop(process, &result);
    assert_int_equal(result.why, BOX_EXITED);
    assert_int_equal(result.status, 0);
    close(null);
}

TEST(a_process_can_be_interrupted)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, "trap 'exit 5' INT; echo x >&3; sleep 99 & wait");
    struct box_process *process = NULL;
    struct box_result result;
    struct err err;
    int pipes[2], null = memfd_create("null", MFD_CLOEXEC);
    char byte;

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(box_start(test_box, &plan.command, (int[]){null, null, null, pipes[1]}, 4,
                               &process, &err),
                     ERR_OK);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    box_interrupt(process);
    while (poll(&(struct pollfd){.fd = box_process_fd(process), .events = POLLIN}, 1, -1) < 0)
        ;
    box_stop(process, &result);
    assert_int_equal(result.status, 5);
    close(pipes[0]);
    close(pipes[1]);
    close(null);
}

/* ---- The listener ---- */

/* The server accepts in the network of the box, and what it receives is the command's. */
TEST(a_box_listens_before_its_first_command)
{
    struct box_plan plan = {.limits = {.memory = 64 << 20,
                                       .temporary = 1 << 20,
                                       .file = 1 << 20,
                                       .processes = 16,
                                       .cpus = 1},
                            .user = box_user(),
                            .port = 3128};
    CLEANUP(forget_output) struct printed printed = {0};
    const char *arguments[4];
    struct box_run from_box =
        script(arguments, "exec 3<>/dev/tcp/127.0.0.1/3128; echo hello >&3");
    struct box_result result;
    struct err err = {0};
    char text[8] = "";
    struct box *box = NULL;
    int listener, taken;

    if (box_open(&plan, &box, &err))
        fail_msg("%s", err.text);
    listener = box_take_listener(box);
    assert_true(listener >= 0);
    assert_int_equal(box_take_listener(box), -1);
    from_box.take_output = keep_output;
    from_box.argument = &printed;
    assert_int_equal(box_run(box, &from_box, &result, &err), ERR_OK);
    assert_string_equal(printed_on(&printed, BOX_STDERR), "");
    taken = accept(listener, NULL, NULL);
    assert_true(taken >= 0);
    assert_int_equal(read(taken, text, sizeof(text) - 1), 6);
    assert_string_equal(text, "hello\n");
    close(taken);
    box_close(box);
    close(listener);
}

TEST(a_box_without_a_port_has_no_listener)
{
    assert_int_equal(box_take_listener(test_box), -1);
    assert_prints("(exec 3<>/dev/tcp/127.0.0.1/3128) 2>/dev/null || echo closed", "closed\n");
}

int main(void)
{
#define IN_A_BOX(test) cmocka_unit_test_setup_teardown(test, box_set_up, box_tear_down)
    const struct CMUnitTest tests[] = {
        IN_A_BOX(output_status_and_use_of_a_command_come_back),
        IN_A_BOX(a_command_has_its_folder_its_environment_and_nothing_else),
        IN_A_BOX(input_is_empty_unless_the_caller_gives_some),
        IN_A_BOX(the_time_zone_is_the_hosts),
        IN_A_BOX(a_command_comes_after_the_server),
        IN_A_BOX(a_signal_is_told_apart_from_a_status),
        IN_A_BOX(a_program_that_does_not_exist_is_127),
        IN_A_BOX(a_command_whose_time_is_over_is_killed_with_its_children),
        IN_A_BOX(a_command_with_a_grace_is_interrupted_first),
        IN_A_BOX(a_command_is_cancelled_by_a_descriptor),
        IN_A_BOX(endless_output_ends_when_the_caller_wants_no_more),
        IN_A_BOX(a_pause_of_the_output_is_reported),
        IN_A_BOX(a_reader_that_does_not_read_makes_the_program_wait),
        IN_A_BOX(daemons_end_with_their_command),
        IN_A_BOX(a_call_does_not_wait_for_a_child_that_holds_its_output),
        IN_A_BOX(leftovers_that_are_kept_are_there_for_the_next_command),
        IN_A_BOX(commands_run_side_by_side_and_see_the_same_files),
        IN_A_BOX(a_process_can_be_interrupted),
        cmocka_unit_test(a_box_listens_before_its_first_command),
        IN_A_BOX(a_box_without_a_port_has_no_listener),
    };

    return run_in_boxes(tests, COUNT_OF(tests), boxes_start, boxes_stop);
}
