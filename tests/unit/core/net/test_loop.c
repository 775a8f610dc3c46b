#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/net/loop.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/errand.h"

#define THREADS  4
#define MESSAGES 5000

/* One loop for a test; `done` is posted when what the test waits for has happened. */
struct fixture {
    struct loop *loop;
    sem_t done;
};

static int set_up(void **state)
{
    struct fixture *fixture = mem_new(struct fixture);

    fixture->loop = loop_new("test");
    sem_init(&fixture->done, 0, 0);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    loop_stop(fixture->loop);
    loop_free(fixture->loop);
    sem_destroy(&fixture->done);
    free(fixture);
    return 0;
}

static void start(struct fixture *fixture)
{
    struct err err;

    assert_int_equal(loop_start(fixture->loop, &err), ERR_OK);
}

/* --- inbox --- */

struct message {
    struct loop_task task;
    struct sender *sender;
    int number;
};

struct sender {
    struct loop *loop;
    struct message messages[MESSAGES];
    pthread_t thread;
    int received;
};

static void receive(struct loop_task *task)
{
    struct message *message = CONTAINER_OF(task, struct message, task);

    assert_true(loop_is_here(message->sender->loop));
    assert_int_equal(message->number, message->sender->received++);
}

static void *send_all(void *arg)
{
    struct sender *sender = arg;

    for (int i = 0; i < MESSAGES; i++) {
        sender->messages[i] =
            (struct message){.task.run = receive, .sender = sender, .number = i};
        loop_post(sender->loop, &sender->messages[i].task);
    }
    return NULL;
}

TEST(every_message_arrives_once_in_the_order_of_its_sender)
{
    struct fixture *fixture = *state;
    struct sender *senders = mem_new_array(struct sender, THREADS);

    start(fixture);
    for (int i = 0; i < THREADS; i++) {
        senders[i].loop = fixture->loop;
        pthread_create(&senders[i].thread, NULL, send_all, &senders[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(senders[i].thread, NULL);
    /* Stopping runs what was posted before. */
    loop_stop(fixture->loop);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(senders[i].received, MESSAGES);
    free(senders);
}

TEST(messages_wait_for_the_loop_to_start)
{
    struct fixture *fixture = *state;
    struct sender *sender = mem_new(struct sender);

    sender->loop = fixture->loop;
    send_all(sender);
    start(fixture);
    loop_stop(fixture->loop);
    assert_int_equal(sender->received, MESSAGES);
    free(sender);
}

struct echo {
    struct loop_task task;
    struct loop *loop;
    struct loop_timer timer;
    atomic_bool enough;
    sem_t *done;
};

static void post_again(struct loop_task *task)
{
    struct echo *echo = CONTAINER_OF(task, struct echo, task);

    if (atomic_load(&echo->enough))
        sem_post(echo->done);
    else
        loop_post(echo->loop, task);
}

static void say_enough(struct loop_timer *timer)
{
    atomic_store(&CONTAINER_OF(timer, struct echo, timer)->enough, true);
}

TEST(a_task_that_posts_itself_does_not_starve_the_timers)
{
    struct fixture *fixture = *state;
    struct echo echo = {.task.run = post_again,
                        .timer.fire = say_enough,
                        .loop = fixture->loop,
                        .done = &fixture->done};

    loop_timer_start(fixture->loop, &echo.timer, loop_now(fixture->loop) + 5 * NS_PER_MS);
    loop_post(fixture->loop, &echo.task);
    start(fixture);
    wait_for(&fixture->done);
}

static void note_place(void *arg)
{
    struct fixture *fixture = arg;
    sigset_t blocked;

    assert_true(loop_is_here(fixture->loop));
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    assert_true(sigismember(&blocked, SIGTERM));
    assert_true(sigismember(&blocked, SIGPIPE));
}

TEST(tasks_run_on_the_thread_of_the_loop_which_takes_no_signals)
{
    struct fixture *fixture = *state;
    sigset_t blocked;

    start(fixture);
    assert_false(loop_is_here(fixture->loop));
    on_loop(fixture->loop, note_place, fixture);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGTERM));
}

TEST(a_loop_can_be_started_again)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 3; i++) {
        start(fixture);
        on_loop(fixture->loop, note_place, fixture);
        loop_stop(fixture->loop);
    }
    loop_stop(fixture->loop);
}

/* --- timers --- */

struct alarm {
    struct loop_timer timer;
    struct alarms *all;
    int fired;
};

struct alarms {
    struct loop *loop;
    struct alarm *alarms;
    size_t count;
    size_t left;
    uint64_t latest_due;
    sem_t *done;
};

static void ring(struct loop_timer *timer)
{
    struct alarm *alarm = CONTAINER_OF(timer, struct alarm, timer);
    struct alarms *all = alarm->all;

    assert_true(clock_mono_ns() >= timer->due_ns);
    assert_true(timer->due_ns >= all->latest_due);
    assert_int_equal(timer->slot, 0);
    all->latest_due = timer->due_ns;
    alarm->fired++;
    if (--all->left == 0)
        sem_post(all->done);
}

/* Starts many timers at random moments of the next 50 ms, moves a third, stops a third. */
static void set_alarms(void *arg)
{
    struct alarms *all = arg;
    uint64_t now = loop_now(all->loop);
    unsigned seed = 7;

    for (size_t i = 0; i < all->count; i++) {
        all->alarms[i] = (struct alarm){.timer.fire = ring, .all = all};
        loop_timer_start(all->loop, &all->alarms[i].timer,
                         now + (uint64_t)(rand_r(&seed) % 50000) * 1000);
    }
    for (size_t i = 0; i < all->count; i++) {
        if (i % 3 == 1)
            loop_timer_start(all->loop, &all->alarms[i].timer,
                             now + (uint64_t)(rand_r(&seed) % 50000) * 1000);
        if (i % 3 == 2)
            loop_timer_stop(all->loop, &all->alarms[i].timer);
        else
            all->left++;
    }
}

TEST(timers_fire_once_in_order_and_not_early)
{
    struct fixture *fixture = *state;
    struct alarms all = {.loop = fixture->loop, .count = 3000, .done = &fixture->done};

    all.alarms = mem_new_array(struct alarm, all.count);
    start(fixture);
    on_loop(fixture->loop, set_alarms, &all);
    wait_for(&fixture->done);
    loop_stop(fixture->loop);
    for (size_t i = 0; i < all.count; i++)
        assert_int_equal(all.alarms[i].fired, i % 3 == 2 ? 0 : 1);
    free(all.alarms);
}

struct pair {
    struct loop *loop;
    struct loop_timer first;
    struct loop_timer second;
    int fired;
    sem_t *done;
};

static void stop_the_second(struct loop_timer *timer)
{
    struct pair *pair = CONTAINER_OF(timer, struct pair, first);

    loop_timer_stop(pair->loop, &pair->second);
    loop_timer_stop(pair->loop, &pair->second);
    pair->fired++;
}

static void must_not_fire(struct loop_timer *timer)
{
    (void)timer;
    fail();
}

TEST(a_timer_can_stop_another_that_is_due_as_well)
{
    struct fixture *fixture = *state;
    struct pair pair = {
        .loop = fixture->loop, .first.fire = stop_the_second, .second.fire = must_not_fire};

    loop_timer_start(fixture->loop, &pair.first, 1);
    loop_timer_start(fixture->loop, &pair.second, 2);
    start(fixture);
    on_loop(fixture->loop, note_place, fixture);
    on_loop(fixture->loop, note_place, fixture);
    loop_stop(fixture->loop);
    assert_int_equal(pair.fired, 1);
}

static void fire_again(struct loop_timer *timer)
{
    struct pair *pair = CONTAINER_OF(timer, struct pair, first);

    pair->fired++;
    loop_timer_start(pair->loop, timer, 0);
}

TEST(a_timer_that_is_always_due_does_not_starve_the_inbox)
{
    struct fixture *fixture = *state;
    struct pair pair = {.loop = fixture->loop, .first.fire = fire_again};

    loop_timer_start(fixture->loop, &pair.first, 0);
    start(fixture);
    on_loop(fixture->loop, note_place, fixture);
    loop_stop(fixture->loop);
    assert_true(pair.fired > 0);
    loop_timer_stop(fixture->loop, &pair.first);
}

/* --- watches --- */

struct ear {
    struct loop_watch watch;
    struct loop *loop;
    struct ear **others; /* removed and freed by the first callback */
    int count;
    char received[64];
    sem_t *done;
};

static void read_bytes(struct loop_watch *watch, uint32_t events)
{
    struct ear *ear = CONTAINER_OF(watch, struct ear, watch);
    ssize_t got = read(watch->fd, ear->received, sizeof(ear->received) - 1);

    assert_true(events & EPOLLIN);
    assert_true(got > 0);
    sem_post(ear->done);
}

static void start_watching(void *arg)
{
    struct ear *ear = arg;

    assert_int_equal(loop_watch_add(ear->loop, &ear->watch, EPOLLIN, NULL), ERR_OK);
}

static void pause_watching(void *arg)
{
    struct ear *ear = arg;

    loop_watch_change(ear->loop, &ear->watch, 0);
}

static void resume_watching(void *arg)
{
    struct ear *ear = arg;

    loop_watch_change(ear->loop, &ear->watch, EPOLLIN);
}

static void stop_watching(void *arg)
{
    struct ear *ear = arg;

    loop_watch_remove(ear->loop, &ear->watch);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

TEST(a_watch_reports_the_events_it_was_added_for)
{
    struct fixture *fixture = *state;
    struct ear ear = {.watch.ready = read_bytes, .loop = fixture->loop, .done = &fixture->done};
    int received;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ear.watch.fd = ends[0];
    start(fixture);
    on_loop(fixture->loop, start_watching, &ear);
    assert_int_equal(write(ends[1], "one", 3), 3);
    wait_for(&fixture->done);
    assert_string_equal(ear.received, "one");

    on_loop(fixture->loop, pause_watching, &ear);
    assert_int_equal(write(ends[1], "two", 3), 3);
    on_loop(fixture->loop, do_nothing, NULL);
    on_loop(fixture->loop, do_nothing, NULL);
    sem_getvalue(&fixture->done, &received);
    assert_int_equal(received, 0);
    on_loop(fixture->loop, resume_watching, &ear);
    wait_for(&fixture->done);
    assert_string_equal(ear.received, "two");

    on_loop(fixture->loop, stop_watching, &ear);
    assert_int_equal(write(ends[1], "three", 5), 5);
    on_loop(fixture->loop, do_nothing, NULL);
    on_loop(fixture->loop, do_nothing, NULL);
    assert_string_equal(ear.received, "two");
    close(ends[0]);
    close(ends[1]);
}

/* The first callback removes and frees all, itself included. */
static void free_everybody(struct loop_watch *watch, uint32_t events)
{
    struct ear *ear = CONTAINER_OF(watch, struct ear, watch);
    struct ear **others = ear->others;
    int count = ear->count;
    sem_t *done = ear->done;

    (void)events;
    for (int i = 0; i < count; i++) {
        loop_watch_remove(others[i]->loop, &others[i]->watch);
        close(others[i]->watch.fd);
        free(others[i]);
        others[i] = NULL;
    }
    sem_post(done);
}

TEST(a_callback_may_release_every_watch_of_its_round)
{
    struct fixture *fixture = *state;
    struct ear *ears[8];
    int far_ends[8];
    int calls;

    for (int i = 0; i < 8; i++) {
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        far_ends[i] = ends[1];
        ears[i] = mem_new(struct ear);
        *ears[i] = (struct ear){.watch = {.fd = ends[0], .ready = free_everybody},
                                .loop = fixture->loop,
                                .others = ears,
                                .count = 8,
                                .done = &fixture->done};
        assert_int_equal(write(ends[1], "x", 1), 1);
        assert_int_equal(loop_watch_add(fixture->loop, &ears[i]->watch, EPOLLIN, NULL), ERR_OK);
    }
    /* All of them are ready before the first round. */
    start(fixture);
    wait_for(&fixture->done);
    on_loop(fixture->loop, do_nothing, NULL);
    sem_getvalue(&fixture->done, &calls);
    assert_int_equal(calls, 0);
    for (int i = 0; i < 8; i++)
        close(far_ends[i]);
}

TEST(a_descriptor_that_cannot_be_watched_is_an_error)
{
    struct fixture *fixture = *state;
    struct loop_watch watch = {.fd = -1};
    struct err err;

    assert_int_equal(loop_watch_add(fixture->loop, &watch, EPOLLIN, &err), ERR_INTERNAL);
    assert_non_null(strstr(err.text, "-1"));
}

TEST(each_round_reads_the_clock)
{
    struct fixture *fixture = *state;
    uint64_t before = clock_mono_ns();

    start(fixture);
    on_loop(fixture->loop, do_nothing, NULL);
    loop_stop(fixture->loop);
    assert_true(loop_now(fixture->loop) >= before);
    assert_true(loop_now(fixture->loop) <= clock_mono_ns());
}

#define loop_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        loop_test(every_message_arrives_once_in_the_order_of_its_sender),
        loop_test(messages_wait_for_the_loop_to_start),
        loop_test(a_task_that_posts_itself_does_not_starve_the_timers),
        loop_test(tasks_run_on_the_thread_of_the_loop_which_takes_no_signals),
        loop_test(a_loop_can_be_started_again),
        loop_test(timers_fire_once_in_order_and_not_early),
        loop_test(a_timer_can_stop_another_that_is_due_as_well),
        loop_test(a_timer_that_is_always_due_does_not_starve_the_inbox),
        loop_test(a_watch_reports_the_events_it_was_added_for),
        loop_test(a_callback_may_release_every_watch_of_its_round),
        loop_test(a_descriptor_that_cannot_be_watched_is_an_error),
        loop_test(each_round_reads_the_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
