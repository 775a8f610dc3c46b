/*
 * loop.c -- epoll, an inbox and a heap of timers on one thread.
 *
 * A round: wait, read the clock once, call the watches that are ready, then the timers that are
 * due. The clock is read once because thousands of streams note the time of each piece of data.
 *
 * The inbox is a watch like any other. Its eventfd is written only when a message finds the inbox
 * empty, and it is never read: with an edge-triggered watch each write is an event, and a read
 * would be one more system call for each wake-up.
 *
 * Timers are a binary heap of pointers, and each timer knows its place in it, so that stopping one
 * needs no search. Each open stream has timers, and most are stopped or moved before they fire. A
 * timer wheel would be cheaper still, but fires late by its resolution.
 *
 * A removed watch may be freed at once. Its event may still be in the batch that is being handled,
 * so loop_watch_remove() erases it there, and the watch itself is not touched again.
 *
 * Tasks and timers that start anew while they run wait for the next round, so that none of them
 * can starve the rest of the loop.
 */

#include "core/net/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

#define EVENTS_PER_ROUND 256
#define STACK_SIZE       ((size_t)2 << 20)
#define NAME_SIZE        16

struct loop {
    char name[NAME_SIZE];
    pthread_t thread;
    bool started; /* written only while there is no thread */
    bool stopping;
    int epoll_fd;
    uint64_t now_ns;

    struct epoll_event batch[EVENTS_PER_ROUND];
    size_t batch_count;

    struct loop_timer **timers; /* a binary heap, the next one first */
    size_t timer_count;
    size_t timer_capacity;

    struct loop_watch wake;
    struct lock inbox_lock;
    struct loop_task *inbox_first; /* guarded by inbox_lock, as is inbox_last */
    struct loop_task *inbox_last;
    struct loop_task stop_task;

    void *http_state;
    void (*http_release)(void *state);
};

static _Thread_local const struct loop *loop_here;

bool loop_is_here(const struct loop *loop)
{
    return loop_here == loop;
}

/* Before the thread is started, others may do what later only the loop's thread may do. */
static void assert_ours(const struct loop *loop)
{
    assert(loop_is_here(loop) || !loop->started);
    (void)loop;
}

uint64_t loop_now(const struct loop *loop)
{
    assert_ours(loop);
    return loop->now_ns;
}

/* --- inbox --- */

void loop_post(struct loop *loop, struct loop_task *task)
{
    static const uint64_t one = 1;

    task->next = NULL;
    lock_acquire(&loop->inbox_lock);
    if (loop->inbox_first) {
        loop->inbox_last->next = task;
    } else {
        loop->inbox_first = task;
        /* Under the lock: once the task has run, the loop may end and close the descriptor. */
        (void)!write(loop->wake.fd, &one, sizeof(one));
    }
    loop->inbox_last = task;
    lock_release(&loop->inbox_lock);
}

/* Only the tasks of this moment: one that posts itself must not starve the rest of the loop. */
static void run_tasks(struct loop_watch *wake, uint32_t events)
{
    struct loop *loop = CONTAINER_OF(wake, struct loop, wake);
    struct loop_task *task;

    (void)events;
    lock_acquire(&loop->inbox_lock);
    task = loop->inbox_first;
    loop->inbox_first = NULL;
    lock_release(&loop->inbox_lock);
    while (task) {
        struct loop_task *next = task->next;

        task->run(task);
        task = next;
    }
}

static void stop_running(struct loop_task *task)
{
    CONTAINER_OF(task, struct loop, stop_task)->stopping = true;
}

/* --- watches --- */

enum err_code loop_watch_add(struct loop *loop, struct loop_watch *watch, uint32_t events,
                             struct err *err)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};

    assert_ours(loop);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event))
        return err_set(err, ERR_INTERNAL, "cannot watch descriptor %d: %s", watch->fd,
                       strerror(errno));
    return ERR_OK;
}

void loop_watch_change(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    int rc;

    assert_ours(loop);
    rc = epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event);
    assert(rc == 0);
    (void)rc;
}

void loop_watch_remove(struct loop *loop, struct loop_watch *watch)
{
    assert_ours(loop);
    /* Fails when the descriptor was closed before (libcurl does so): epoll has forgotten it by
     * itself then. Not epoll_ctl(), because another thread may have been given the number since,
     * and the thread sanitizer, which knows only numbers, would see a race in that. */
    (void)syscall(SYS_epoll_ctl, loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    for (size_t i = 0; i < loop->batch_count; i++)
        if (loop->batch[i].data.ptr == watch)
            loop->batch[i].data.ptr = NULL;
}

static void call_ready(struct loop *loop)
{
    for (size_t i = 0; i < loop->batch_count; i++) {
        struct loop_watch *watch = loop->batch[i].data.ptr;

        if (watch)
            watch->ready(watch, loop->batch[i].events);
    }
    loop->batch_count = 0;
}

/* --- timers --- */

static void place(struct loop *loop, struct loop_timer *timer, size_t at)
{
    loop->timers[at] = timer;
    timer->slot = at + 1;
}

static void sift_up(struct loop *loop, struct loop_timer *timer, size_t at)
{
    while (at > 0) {
        size_t parent = (at - 1) / 2;

        if (loop->timers[parent]->due_ns <= timer->due_ns)
            break;
        place(loop, loop->timers[parent], at);
        at = parent;
    }
    place(loop, timer, at);
}

static void sift_down(struct loop *loop, struct loop_timer *timer, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= loop->timer_count)
            break;
        if (child + 1 < loop->timer_count &&
            loop->timers[child + 1]->due_ns < loop->timers[child]->due_ns)
            child++;
        if (timer->due_ns <= loop->timers[child]->due_ns)
            break;
        place(loop, loop->timers[child], at);
        at = child;
    }
    place(loop, timer, at);
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, uint64_t due_ns)
{
    assert_ours(loop);
    loop_timer_stop(loop, timer);
    if (loop->timer_count == loop->timer_capacity) {
        loop->timer_capacity = loop->timer_capacity ? loop->timer_capacity * 2 : 64;
        loop->timers = mem_resize(loop->timers, loop->timer_capacity, sizeof(*loop->timers));
    }
    timer->due_ns = due_ns;
    sift_up(loop, timer, loop->timer_count++);
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer)
{
    struct loop_timer *moved;
    size_t at;

    assert_ours(loop);
    if (!timer->slot)
        return;
    at = timer->slot - 1;
    timer->slot = 0;
    moved = loop->timers[--loop->timer_count];
    if (moved == timer)
        return;
    /* The last one fills the gap; it belongs above or below it. */
    if (at > 0 && moved->due_ns < loop->timers[(at - 1) / 2]->due_ns)
        sift_up(loop, moved, at);
    else
        sift_down(loop, moved, at);
}

/* At most as many as were running at first: a timer that starts itself anew for a moment that has
 * passed must not starve the rest of the loop. */
static void fire_due(struct loop *loop)
{
    size_t left = loop->timer_count;

    while (left-- && loop->timer_count && loop->timers[0]->due_ns <= loop->now_ns) {
        struct loop_timer *timer = loop->timers[0];

        loop_timer_stop(loop, timer);
        timer->fire(timer);
    }
}

/* Milliseconds until the next timer, rounded up: a timer never fires early. */
static int patience_ms(const struct loop *loop)
{
    uint64_t now = clock_mono_ns();
    uint64_t wait_ms;

    if (!loop->timer_count)
        return -1;
    if (loop->timers[0]->due_ns <= now)
        return 0;
    wait_ms = (loop->timers[0]->due_ns - now - 1) / NS_PER_MS + 1;
    return wait_ms < INT_MAX ? (int)wait_ms : INT_MAX;
}

/* --- the thread --- */

static void run_round(struct loop *loop)
{
    int count = epoll_wait(loop->epoll_fd, loop->batch, EVENTS_PER_ROUND, patience_ms(loop));

    assert(count >= 0 || errno == EINTR);
    loop->batch_count = count > 0 ? (size_t)count : 0;
    loop->now_ns = clock_mono_ns();
    call_ready(loop);
    fire_due(loop);
}

static void *thread_main(void *arg)
{
    struct loop *loop = arg;

    loop_here = loop;
    pthread_setname_np(pthread_self(), loop->name);
    while (!loop->stopping)
        run_round(loop);
    return NULL;
}

struct loop *loop_new(const char *name)
{
    struct loop *loop = mem_new(struct loop);

    assert(strlen(name) < NAME_SIZE);
    memcpy(loop->name, name, strlen(name) + 1);
    lock_init(&loop->inbox_lock, LOCK_LOOP_INBOX);
    loop->now_ns = clock_mono_ns();
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = (struct loop_watch){
        .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .ready = run_tasks,
    };
    loop->stop_task.run = stop_running;
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    assert(!loop->started);
    if (loop->http_release)
        loop->http_release(loop->http_state);
    if (loop->wake.fd >= 0)
        close(loop->wake.fd);
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    lock_destroy(&loop->inbox_lock);
    free(loop->timers);
    free(loop);
}

/* Signals are for the main thread: the new one inherits a mask that blocks them all. */
static int start_thread(struct loop *loop)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    int rc;

    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&loop->thread, &attributes, thread_main, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return rc;
}

enum err_code loop_start(struct loop *loop, struct err *err)
{
    enum err_code rc;
    int failure;

    assert(!loop->started);
    if (loop->epoll_fd < 0 || loop->wake.fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot make an event loop: no descriptors left");
    rc = loop_watch_add(loop, &loop->wake, EPOLLIN | EPOLLET, err);
    if (rc)
        return rc;
    loop->now_ns = clock_mono_ns();
    loop->stopping = false;
    loop->started = true;
    failure = start_thread(loop);
    if (failure) {
        loop->started = false;
        loop_watch_remove(loop, &loop->wake);
        return err_set(err, ERR_INTERNAL, "cannot start thread %s: %s", loop->name,
                       strerror(failure));
    }
    return ERR_OK;
}

void loop_stop(struct loop *loop)
{
    if (!loop->started)
        return;
    loop_post(loop, &loop->stop_task);
    pthread_join(loop->thread, NULL);
    loop->started = false;
    loop_watch_remove(loop, &loop->wake);
}

void loop_finish(struct loop *loop)
{
    assert(!loop->started);
    while (loop->inbox_first)
        run_tasks(&loop->wake, 0);
}

void *loop_http_state(struct loop *loop)
{
    assert_ours(loop);
    return loop->http_state;
}

void loop_set_http_state(struct loop *loop, void *state, void (*release)(void *state))
{
    assert_ours(loop);
    loop->http_state = state;
    loop->http_release = release;
}
