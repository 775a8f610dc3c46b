/*
 * core/net/loop.h and core/base/clock.h without threads, sockets and real time.
 *
 * A loop is an inbox and a list of timers. Two actors stand for it: one runs the next task, one fires the
 * next timer that is due. They are separate because a busy loop may be late with either.
 *
 * What the real loop promises holds here, and nothing more: tasks run in the order in which they were
 * posted, one at a time; a timer fires once, not before it is due, on the loop; a timer that was stopped
 * does not fire. The real loop runs all tasks of its inbox in one round. Here other actors may act
 * between any two of them, because in the server other threads may.
 *
 * Both clocks show the time of the world. So no leap or drift between them is tested here.
 */

#include "core/net/loop.h"

#include <assert.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "tests/unit/core/run/engine/world.h"

#define TIMERS 64

struct loop {
    struct node *node;
    struct actor tasks, clock;
    struct loop_task *first, **end;
    struct loop_timer *timers[TIMERS]; /* in no order */
    size_t timer_count;
    void *http_state;
    void (*http_release)(void *state);
};

/* ---- The clocks: wall time begins in 2026 ---- */

#define WALL_START_US (INT64_C(1790000000) * US_PER_SECOND)

uint64_t clock_mono_ns(void)
{
    return world->now_ns;
}

uint64_t clock_thread_ns(void)
{
    return world->now_ns;
}

int64_t clock_wall_us(void)
{
    return WALL_START_US + (int64_t)(world->now_ns / 1000);
}

uint64_t clock_ns_from_seconds(double seconds)
{
    return seconds <= 0 ? 0 : (uint64_t)(seconds * 1e9);
}

/* ---- Tasks ---- */

static bool has_task(struct actor *actor)
{
    return CONTAINER_OF(actor, struct loop, tasks)->first != NULL;
}

static void run_task(struct loop *loop)
{
    struct loop_task *task = loop->first;

    loop->first = task->next;
    if (!loop->first)
        loop->end = &loop->first;
    task->next = NULL;
    task->run(task);
}

static void take_task(struct actor *actor)
{
    run_task(CONTAINER_OF(actor, struct loop, tasks));
}

static const struct actor_ops tasks_ops = {
    .thing = THING_TASK,
    .is_ready = has_task,
    .act = take_task,
};

/* ---- Timers ---- */

/* The timer that is due first; of several the one that was started first. */
static struct loop_timer *next_timer(const struct loop *loop)
{
    struct loop_timer *next = NULL;

    for (size_t i = 0; i < loop->timer_count; i++) {
        if (!next || loop->timers[i]->due_ns < next->due_ns)
            next = loop->timers[i];
    }
    return next;
}

static uint64_t timer_due(struct actor *actor)
{
    const struct loop_timer *timer = next_timer(CONTAINER_OF(actor, struct loop, clock));

    return timer ? timer->due_ns : UINT64_MAX;
}

static bool has_due_timer(struct actor *actor)
{
    return timer_due(actor) <= world->now_ns;
}

static void fire_timer(struct actor *actor)
{
    struct loop *loop = CONTAINER_OF(actor, struct loop, clock);
    struct loop_timer *timer = next_timer(loop);

    loop_timer_stop(loop, timer);
    timer->fire(timer);
}

static const struct actor_ops clock_ops = {
    .thing = THING_TIMER,
    .is_ready = has_due_timer,
    .act = fire_timer,
    .due = timer_due,
};

void loop_timer_start(struct loop *loop, struct loop_timer *timer, uint64_t due_ns)
{
    loop_timer_stop(loop, timer);
    assert(loop->timer_count < TIMERS);
    timer->due_ns = due_ns;
    loop->timers[loop->timer_count++] = timer;
    timer->slot = loop->timer_count; /* its place, counted from 1; 0: it does not run */
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer)
{
    if (!timer->slot)
        return;
    loop->timer_count--;
    for (size_t i = timer->slot - 1; i < loop->timer_count; i++) {
        loop->timers[i] = loop->timers[i + 1];
        loop->timers[i]->slot = i + 1;
    }
    timer->slot = 0;
}

/* ---- The rest of loop.h ---- */

struct loop *loop_new(const char *name)
{
    struct loop *loop = mem_new(struct loop);

    (void)name;
    loop->node = world->booting;
    loop->end = &loop->first;
    actor_join(&loop->tasks, &tasks_ops, loop->node);
    actor_join(&loop->clock, &clock_ops, loop->node);
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    actor_leave(&loop->tasks);
    actor_leave(&loop->clock);
    if (loop->http_release)
        loop->http_release(loop->http_state);
    free(loop);
}

enum err_code loop_start(struct loop *loop, struct err *err)
{
    (void)loop;
    (void)err;
    return ERR_OK;
}

void loop_run_all(struct loop *loop)
{
    while (loop->first)
        run_task(loop);
}

void loop_stop(struct loop *loop)
{
    loop_run_all(loop);
}

void loop_finish(struct loop *loop)
{
    loop_run_all(loop);
}

void loop_post(struct loop *loop, struct loop_task *task)
{
    task->next = NULL;
    *loop->end = task;
    loop->end = &task->next;
}

bool loop_is_here(const struct loop *loop)
{
    (void)loop;
    return true; /* there is one thread */
}

uint64_t loop_now(const struct loop *loop)
{
    (void)loop;
    return world->now_ns;
}

bool loop_has_task(const struct loop *loop)
{
    return loop->first;
}

/* Longer than a run gathers frames for its log. */
#define SOON_NS (30 * NS_PER_MS)

bool loop_is_quiet(const struct loop *loop)
{
    const struct loop_timer *timer = next_timer(loop);

    return !loop->first && (!timer || timer->due_ns > world->now_ns + SOON_NS);
}

bool loop_is_empty(const struct loop *loop)
{
    return !loop->first && !loop->timer_count;
}

/* Nothing in this world has a socket. */
enum err_code loop_watch_add(struct loop *loop, struct loop_watch *watch, uint32_t events,
                             struct err *err)
{
    (void)loop;
    (void)watch;
    (void)events;
    return err_set(err, ERR_INTERNAL, "there are no sockets here");
}

void loop_watch_change(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
    (void)loop;
    (void)watch;
    (void)events;
}

void loop_watch_remove(struct loop *loop, struct loop_watch *watch)
{
    (void)loop;
    (void)watch;
}

void *loop_http_state(struct loop *loop)
{
    return loop->http_state;
}

void loop_set_http_state(struct loop *loop, void *state, void (*release)(void *state))
{
    loop->http_state = state;
    loop->http_release = release;
}

struct node *loop_node(const struct loop *loop)
{
    return loop->node;
}
