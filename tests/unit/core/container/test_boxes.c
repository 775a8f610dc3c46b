/* The live boxes of a node: who shares one, who waits, who goes. Real ones, so skipped where a machine has no user
 * namespaces. */

#include "core/container/boxes.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "tests/support/boxes.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"
#include "tests/unit/core/container/live_boxes.h"

static struct boxes_counts count(void)
{
    struct boxes_counts counts;

    boxes_count(live_boxes, &counts);
    return counts;
}

/* A call on a thread of its own. */
struct other {
    struct boxes_request request;
    struct boxes_hold *hold;
    enum err_code rc;
    struct err err;
    pthread_t thread;
};

static void *take(void *argument)
{
    struct other *other = argument;

    other->rc = boxes_take(live_boxes, &other->request, &other->hold, &other->err);
    return NULL;
}

static void start(struct other *other)
{
    assert_int_equal(pthread_create(&other->thread, NULL, take, other), 0);
}

/* Starts it, and waits until it waits. */
static void start_waiting(struct other *other)
{
    size_t waiting = count().waiting;

    start(other);
    while (count().waiting == waiting)
        sched_yield();
}

static enum err_code finish(struct other *other)
{
    pthread_join(other->thread, NULL);
    return other->rc;
}

static struct other call(const char *container, enum boxes_use use)
{
    return (struct other){.request = live_request(container, use)};
}

/* Boxes with other limits than those of the set-up. */
static void restart(void)
{
    boxes_free(live_boxes);
    live_boxes = boxes_new(&live_options);
}

static void assert_notice(const char *container, const char *expected)
{
    struct shown shown = {0};
    struct python_cell cell = live_cell(container, "x = 7", &shown);

    live_run(container, &cell, &shown);
    assert_string_equal(shown.result.notice, expected);
    buf_clear(&shown.text);
}

#define RESTARTED \
    "The sandbox was restarted; background processes and variables are gone, files are there."

/* ---- Sharing ---- */

TEST(calls_of_a_container_share_its_box)
{
    struct boxes_hold *one = live_take("a", BOXES_COMMAND),
                      *two = live_take("a", BOXES_COMMAND);
    struct boxes_hold *three = live_take("a", BOXES_PYTHON);
    struct box *box = boxes_box(one);

    assert_ptr_equal(boxes_box(two), box);
    assert_ptr_equal(boxes_box(three), box);
    assert_null(boxes_python(one));
    assert_non_null(boxes_python(three));
    boxes_give(one);
    boxes_give(two);
    boxes_give(three);
    one = live_take("a", BOXES_COMMAND);
    assert_ptr_equal(boxes_box(one), box); /* it has stayed */
    boxes_give(one);
    assert_int_equal(count().started, 1);
    assert_int_equal(count().ready, 1);
}

TEST(containers_side_by_side_do_not_see_each_other)
{
    struct boxes_hold *a = live_take("a", BOXES_COMMAND), *b = live_take("b", BOXES_COMMAND);

    test_box = boxes_box(a);
    assert_int_equal(run_script("echo secret > /mnt/data/mine; echo secret > /tmp/mine").status,
                     0);
    test_box = boxes_box(b);
    assert_prints("ls /mnt/data /tmp", "/mnt/data:\n\n/tmp:\n");
    test_box = NULL;
    boxes_give(a);
    boxes_give(b);
}

TEST(cells_of_a_container_run_one_after_the_other)
{
    struct boxes_hold *first = live_take("a", BOXES_PYTHON);
    struct other second = call("a", BOXES_PYTHON);

    start_waiting(&second);
    assert_null(second.hold);
    boxes_give(live_take("a", BOXES_COMMAND)); /* a command need not wait */
    boxes_give(first);
    assert_int_equal(finish(&second), ERR_OK);
    boxes_give(second.hold);
}

TEST(more_calls_than_a_container_may_have_wait)
{
    struct boxes_hold *holds[4];
    struct other fifth = call("a", BOXES_COMMAND);

    for (size_t i = 0; i < 4; i++)
        holds[i] = live_take("a", BOXES_COMMAND);
    start_waiting(&fifth);
    boxes_give(holds[2]);
    assert_int_equal(finish(&fifth), ERR_OK);
    boxes_give(fifth.hold);
    for (size_t i = 0; i < 4; i++) {
        if (i != 2)
            boxes_give(holds[i]);
    }
}

TEST(calls_that_ask_at_once_make_one_box)
{
    struct other others[4];

    for (size_t i = 0; i < 4; i++) {
        others[i] = call("a", BOXES_COMMAND);
        start(&others[i]);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(finish(&others[i]), ERR_OK);
    assert_int_equal(count().started, 1);
    for (size_t i = 0; i < 4; i++)
        boxes_give(others[i].hold);
}

/* ---- Room ---- */

TEST(the_box_that_was_unused_longest_makes_room)
{
    assert_notice("a", "");
    boxes_give(live_take("b", BOXES_COMMAND));
    boxes_give(live_take("c", BOXES_COMMAND));
    boxes_give(live_take("d", BOXES_COMMAND));
    assert_int_equal(count().ready, 3);
    assert_int_equal(count().ended_for_room, 1);
    assert_notice("a", RESTARTED); /* said once; b is gone now */
    assert_notice("a", "");
    assert_int_equal(count().started, 5);
    assert_int_equal(count().memory, 3 * LIVE_MEMORY);
}

TEST(a_call_waits_for_room_until_another_gives_it)
{
    struct boxes_hold *a = live_take("a", BOXES_COMMAND), *b = live_take("b", BOXES_COMMAND);
    struct boxes_hold *c = live_take("c", BOXES_COMMAND);
    struct other other = call("d", BOXES_COMMAND);

    start_waiting(&other);
    boxes_give(b);
    assert_int_equal(finish(&other), ERR_OK);
    assert_int_equal(count().ended_for_room, 1);
    boxes_give(other.hold);
    boxes_give(a);
    boxes_give(c);
}

TEST(a_small_box_does_not_overtake_a_large_one)
{
    struct boxes_hold *a = live_take("a", BOXES_COMMAND), *b = live_take("b", BOXES_COMMAND);
    struct other large = call("c", BOXES_COMMAND), small = call("d", BOXES_COMMAND);

    large.request.memory = 2 * LIVE_MEMORY;
    start_waiting(&large);
    start_waiting(&small); /* there would be room for it */
    assert_null(small.hold);
    boxes_give(a);
    assert_int_equal(finish(&large), ERR_OK);
    assert_int_equal(count().waiting, 1);
    boxes_give(b);
    assert_int_equal(finish(&small), ERR_OK);
    boxes_give(large.hold);
    boxes_give(small.hold);
}

TEST(a_call_that_finds_no_room_in_time_is_refused)
{
    struct boxes_request request;
    struct boxes_hold *a, *hold = NULL;
    struct err err;

    live_options.count = 1;
    live_options.queue_ns = 20 * NS_PER_MS;
    restart();
    a = live_take("a", BOXES_COMMAND);
    request = live_request("b", BOXES_COMMAND);
    assert_int_equal(boxes_take(live_boxes, &request, &hold, &err), ERR_LIMIT);
    assert_string_equal(err.text, "The server is out of sandbox memory; try again.");
    assert_int_equal(count().waiting, 0);
    request.memory = 4 * LIVE_MEMORY;
    assert_int_equal(boxes_take(live_boxes, &request, &hold, &err), ERR_TOO_LARGE);
    boxes_give(a);
    boxes_give(live_take("b", BOXES_COMMAND));
}

TEST(a_call_that_waits_can_be_cancelled)
{
    struct boxes_hold *first = live_take("a", BOXES_PYTHON);
    struct other second = call("a", BOXES_PYTHON);

    second.request.cancel = eventfd(0, EFD_CLOEXEC);
    start_waiting(&second);
    assert_int_equal(eventfd_write(second.request.cancel, 1), 0);
    assert_int_equal(finish(&second), ERR_CANCELLED);
    close(second.request.cancel);
    assert_int_equal(count().waiting, 0);
    boxes_give(first);
}

/* ---- Ends ---- */

static bool has_thread(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    bool found = false;

    assert_non_null(tasks);
    while ((task = readdir(tasks))) {
        AUTO_FREE char *path = mem_printf("/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        char name[16] = "";

        if (file && fgets(name, sizeof(name), file))
            found = found || strcmp(name, "boxes\n") == 0;
        if (file)
            (void)fclose(file);
    }
    closedir(tasks);
    return found;
}

TEST(the_thread_begins_with_the_first_call)
{
    assert_false(has_thread());
    boxes_give(live_take("a", BOXES_COMMAND));
    assert_true(has_thread());
}

TEST(a_box_that_is_not_used_is_stopped)
{
    live_options.idle_ns = 20 * NS_PER_MS;
    restart();
    assert_notice("a", "");
    while (count().ready)
        sched_yield();
    assert_notice("a", "The Python process was ended (it was not used for long). Variables are "
                       "gone, files are there.");
    assert_true(count().ended_idle >= 1);
}

TEST(a_box_that_has_ended_is_made_again)
{
    struct boxes_hold *hold = live_take("a", BOXES_COMMAND);

    assert_notice("a", "");
    box_kill(boxes_box(hold));
    boxes_give(hold);
    assert_int_equal(count().ready, 0);
    assert_notice("a", RESTARTED);
    /* While no call had it: */
    hold = live_take("a", BOXES_COMMAND);
    test_box = boxes_box(hold);
    boxes_give(hold);
    box_kill(test_box);
    test_box = NULL;
    assert_notice("a", RESTARTED);
    assert_notice("a", "");
    assert_int_equal(count().memory, LIVE_MEMORY);
}

TEST(a_python_of_which_only_the_row_knows_was_lost)
{
    struct other other = call("a", BOXES_PYTHON);

    other.request.had_python = true;
    start(&other);
    assert_int_equal(finish(&other), ERR_OK);
    boxes_give(other.hold);
    assert_notice("a", RESTARTED);
}

TEST(the_end_of_a_container_ends_its_commands)
{
    struct boxes_hold *hold = live_take("a", BOXES_COMMAND);
    struct boxes_hold *other = live_take("b", BOXES_COMMAND);
    const char *arguments[4];
    struct box_run plan = script(arguments, "sleep 99");

    assert_notice("a", "");
    boxes_end(live_boxes, "a");
    test_box = boxes_box(hold);
    assert_int_equal(run(plan).why, BOX_GONE);
    boxes_give(hold);
    test_box = boxes_box(other); /* its own goes on */
    assert_int_equal(run_script("true").status, 0);
    test_box = NULL;
    boxes_give(other);
    boxes_end(live_boxes, "b");
    boxes_end(live_boxes, "b");
    boxes_end(live_boxes, "unknown");
    assert_int_equal(count().memory, 0);
    assert_no_box_is_left();
    assert_notice("a", ""); /* forgotten */
}

/* While the first end of a container kills its box, a second one begins. */
struct second_end {
    pthread_t thread;
    sem_t ended;
    bool early; /* it was over before the box was */
};

static struct second_end *second; /* of the test that is running; or NULL */

static void *end_again(void *argument)
{
    struct second_end *end = argument;

    boxes_end(live_boxes, "a");
    assert_int_equal(sem_post(&end->ended), 0);
    return NULL;
}

void __real_box_kill(struct box *box);
void __wrap_box_kill(struct box *box);

void __wrap_box_kill(struct box *box)
{
    struct second_end *end = TAKE(second);
    struct timespec until;

    if (end) {
        assert_int_equal(pthread_create(&end->thread, NULL, end_again, end), 0);
        assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
        until.tv_nsec = until.tv_nsec < 900000000 ? until.tv_nsec + 99999999 : 999999999;
        end->early = sem_timedwait(&end->ended, &until) == 0;
    }
    __real_box_kill(box);
}

TEST(every_end_of_a_container_waits_for_its_processes)
{
    struct boxes_hold *hold = live_take("a", BOXES_COMMAND);
    struct second_end end = {.early = false};
    bool alive;

    assert_int_equal(sem_init(&end.ended, 0, 0), 0);
    second = &end;
    boxes_end(live_boxes, "a");
    pthread_join(end.thread, NULL);
    alive = box_is_alive(boxes_box(hold));
    boxes_give(hold);
    assert_false(end.early);
    assert_false(alive);
    assert_no_box_is_left();
    sem_destroy(&end.ended);
}

TEST(a_box_that_cannot_be_made_leaves_nothing)
{
    struct boxes_request request = live_request("a", BOXES_PYTHON);
    struct boxes_hold *hold = NULL;
    struct err err;

    fault_arm("boxes.thread", 1);
    assert_int_equal(boxes_take(live_boxes, &request, &hold, &err), ERR_INTERNAL);
    fault_arm("boxes.open", 1);
    assert_int_equal(boxes_take(live_boxes, &request, &hold, &err), ERR_INTERNAL);
    fault_disarm();
    assert_int_equal(count().memory, 0);
    assert_notice("a", "");
}

TEST(after_a_drain_only_those_who_have_a_box_go_on)
{
    struct boxes_hold *hold = live_take("a", BOXES_PYTHON);
    struct other waiting = call("a", BOXES_PYTHON), late = call("b", BOXES_COMMAND);

    boxes_give(live_take("c", BOXES_COMMAND));
    start_waiting(&waiting);
    boxes_drain(live_boxes);
    assert_int_equal(finish(&waiting), ERR_CANCELLED);
    start(&late);
    assert_int_equal(finish(&late), ERR_CANCELLED);
    while (count().ready)
        sched_yield();
    test_box = boxes_box(hold);
    assert_int_equal(run_script("true").status, 0);
    boxes_kill(live_boxes);
    assert_int_equal(run(script((const char *[4]){0}, "true")).why, BOX_GONE);
    test_box = NULL;
    boxes_give(hold);
    assert_int_equal(count().memory, 0);
}

/* ---- What boxes write ---- */

/* Three files, each as large as one may be, are more than the workspace. */
#define FILL "for i in 1 2 3; do head -c 30M /dev/zero > /mnt/data/$i; done; "

static struct box_result run_with(struct boxes_hold *hold, const char *text,
                                  enum box_leftovers leftovers)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, text);

    plan.leftovers = leftovers;
    test_box = boxes_box(hold);
    return run(plan);
}

TEST(a_command_that_fills_its_workspace_ends_with_its_box)
{
    struct boxes_hold *hold = live_take("a", BOXES_COMMAND);
    struct boxes_hold *other = live_take("b", BOXES_COMMAND);

    assert_int_equal(run_with(hold, FILL "exec sleep 99", BOX_KILL_LEFTOVERS).why,
                     BOX_OVER_DISK);
    boxes_give(hold);
    assert_int_equal(count().ended_full, 1);
    /* Files can be deleted, however long that takes. */
    hold = live_take("a", BOXES_COMMAND);
    assert_int_equal(run_with(hold, "sleep 1.5; rm /mnt/data/3", BOX_KILL_LEFTOVERS).why,
                     BOX_EXITED);
    boxes_give(hold);
    assert_int_equal(run_with(other, "true", BOX_KILL_LEFTOVERS).status, 0);
    test_box = NULL;
    boxes_give(other);
    assert_int_equal(count().ended_full, 1);
}

TEST(what_a_command_leaves_behind_cannot_fill_the_workspace_either)
{
    struct boxes_hold *hold = live_take("a", BOXES_COMMAND);
    struct box_result result = run_with(
        hold,
        "(" FILL
        "while :; do head -c 8k /dev/zero >> /mnt/data/4; sleep 0.1; done) > /dev/null &",
        BOX_KEEP_LEFTOVERS);

    test_box = NULL;
    assert_int_equal(result.why, BOX_EXITED);
    boxes_give(hold);
    while (!count().ended_full)
        sched_yield();
    while (count().ready || count().busy)
        sched_yield();
    assert_int_equal(count().ended_full, 1);
}

TEST(a_python_that_fills_its_workspace_says_why_it_is_gone)
{
    struct shown shown = {0};
    struct python_cell cell = live_cell(
        "a",
        "for n in '123': open(n, 'wb').write(bytes(30 << 20))\nimport time; time.sleep(99)",
        &shown);

    live_run("a", &cell, &shown);
    assert_int_equal(shown.result.end, PYTHON_ENDED);
    assert_string_equal(shown.result.notice,
                        "The Python process was ended (the workspace is full). Variables are "
                        "gone, files are there.");
    buf_clear(&shown.text);
}

int main(void)
{
#define BOXES(test) cmocka_unit_test_setup_teardown(test, live_set_up, live_tear_down)
    const struct CMUnitTest tests[] = {
        BOXES(calls_of_a_container_share_its_box),
        BOXES(containers_side_by_side_do_not_see_each_other),
        BOXES(cells_of_a_container_run_one_after_the_other),
        BOXES(more_calls_than_a_container_may_have_wait),
        BOXES(calls_that_ask_at_once_make_one_box),
        BOXES(the_box_that_was_unused_longest_makes_room),
        BOXES(a_call_waits_for_room_until_another_gives_it),
        BOXES(a_small_box_does_not_overtake_a_large_one),
        BOXES(a_call_that_finds_no_room_in_time_is_refused),
        BOXES(a_call_that_waits_can_be_cancelled),
        BOXES(the_thread_begins_with_the_first_call),
        BOXES(a_box_that_is_not_used_is_stopped),
        BOXES(a_box_that_has_ended_is_made_again),
        BOXES(a_python_of_which_only_the_row_knows_was_lost),
        BOXES(the_end_of_a_container_ends_its_commands),
        BOXES(every_end_of_a_container_waits_for_its_processes),
        BOXES(a_box_that_cannot_be_made_leaves_nothing),
        BOXES(a_command_that_fills_its_workspace_ends_with_its_box),
        BOXES(what_a_command_leaves_behind_cannot_fill_the_workspace_either),
        BOXES(a_python_that_fills_its_workspace_says_why_it_is_gone),
        BOXES(after_a_drain_only_those_who_have_a_box_go_on),
    };

    return run_in_boxes(tests, sizeof(tests) / sizeof(*tests), live_start, live_stop);
}
