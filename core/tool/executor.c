#include "core/tool/executor.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/domain/fair_queue.h"
#include "core/tool/call_internal.h"
#include "core/tool/channel_internal.h"

/*
 * executor.c -- a pool of workers, a fair queue, and a timekeeper.
 *
 * A worker is started when a call waits that no idle one will take, up to the size of the pool. Nearly all servers need
 * far fewer than they may have, and each is a thread. A worker that has had no call for EXECUTOR_IDLE_NS ends. The
 * timekeeper starts with the first call and stays. Where no worker can be started, it tries again, and calls wait.
 *
 * The queue is shared fairly by project, and within a project by run (fair_queue.h). A worker pays for its
 * call when the call has ended: a handler that was given up pays when it returns.
 *
 * Which container a call uses is known when a worker has opened it. So each call is taken by a worker first; if it must
 * wait for a seat in the box, it is put down, and is in the queue again when it has one.
 *
 * One thread keeps the time of all calls. It sleeps until the earliest deadline and never waits for a
 * handler. Its answer to a late call has two steps. First it puts the END instead of the handler, so the
 * run continues at once. Then, if the handler has not returned after EXECUTOR_GRACE_NS, it gives the
 * worker up: the thread is marked a stray and another worker is started. If the handler returns after all,
 * the stray ends and is joined. The number of strays is limited, because each one is a thread.
 *
 * A call whose run has gone (its channel is closed) is not late by itself: it may need a moment to finish.
 * It counts as late only while other calls wait and no worker is idle.
 *
 * All threads share the executor's memory, and the last one frees it, because a thread that is stuck in a
 * handler cannot be joined. That is what `holders` counts.
 *
 * Locks: one. Under it a channel is only asked what it knows; an END is put without it. Functions that release it
 * meanwhile say so, and their callers start over, because the list of workers may have changed.
 */

struct worker {
    struct worker *next;
    struct tool_executor *executor;
    pthread_t thread;
    struct tool_call *call; /* what it runs, or NULL */
    uint64_t began_ns;      /* when it took the call */
    uint64_t late_since_ns; /* when the call was first seen late, or 0 */
    bool stray;             /* given up and replaced */
    bool done;              /* about to return, may be joined */
};

/* Guarded by lock, but for the constants. */
struct tool_executor {
    struct lock lock;
    pthread_cond_t work;    /* a call waits, or stopping */
    pthread_cond_t time;    /* next_check_ns is too late, or stopped */
    pthread_cond_t ended;   /* a worker is done */
    unsigned size;          /* constant: workers, but for strays */
    double default_timeout; /* constant */
    uint64_t idle_ns;       /* constant */
    unsigned holders;       /* the owner, and threads */
    struct fair_queue queue;
    struct seats seats;
    struct worker *workers;
    unsigned live; /* workers that are no strays */
    unsigned idle;
    unsigned strays;
    uint64_t next_check_ns; /* when the timekeeper wakes by itself */
    pthread_t timekeeper;
    bool timekeeping; /* the thread was started */
    bool started;
    bool stopping;
    bool stopped; /* for the timekeeper */
};

/* ---- memory ---- */

struct tool_executor *tool_executor_new(unsigned workers, double default_timeout_seconds)
{
    struct tool_executor *executor = mem_new(struct tool_executor);

    assert(workers > 0);
    lock_init(&executor->lock, LOCK_TOOL_POOL);
    lock_cond_init(&executor->work);
    lock_cond_init(&executor->time);
    lock_cond_init(&executor->ended);
    executor->size = workers;
    executor->default_timeout = default_timeout_seconds;
    executor->idle_ns = EXECUTOR_IDLE_NS;
    executor->holders = 1;
    return executor;
}

void tool_executor_share(struct tool_executor *executor)
{
    executor->queue.workers = executor->size;
}

void tool_executor_idle(struct tool_executor *executor, uint64_t idle_ns)
{
    executor->idle_ns = idle_ns;
}

/* Strays are no workers of the pool, but their calls still count as work of their projects. */
static void count_strays_locked(struct tool_executor *executor) REQUIRES(executor->lock)
{
    if (executor->queue.workers)
        executor->queue.workers = executor->size + executor->strays;
}

/* Gives up one hold; the last one frees the executor. */
static void release(struct tool_executor *executor)
{
    unsigned holders;

    lock_acquire(&executor->lock);
    holders = --executor->holders;
    lock_release(&executor->lock);
    if (holders)
        return;

    while (executor->workers) {
        struct worker *worker = executor->workers;

        executor->workers = worker->next;
        free(worker);
    }
    pthread_cond_destroy(&executor->work);
    pthread_cond_destroy(&executor->time);
    pthread_cond_destroy(&executor->ended);
    lock_destroy(&executor->lock);
    free(executor);
}

/* ---- workers ---- */

/* Ends a call that no worker will run. */
static void reject(struct tool_call *call, enum err_code rc, const char *why)
{
    struct err error;

    err_set(&error, rc, "%s was not run: %s", call->handler->name, why);
    tool_call_end_with(call->channel, call->position, &error);
    tool_call_free(call);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t deadline_of(const struct tool_executor *executor, const struct tool_call *call)
{
    double seconds = call->handler->timeout_seconds;

    if (seconds <= 0)
        seconds = executor->default_timeout;
    return seconds > 0 ? clock_mono_ns() + clock_ns_from_seconds(seconds) : UINT64_MAX;
}

/* True when calls wait and every worker that there may be is busy. */
static bool starved_locked(struct tool_executor *executor) REQUIRES(executor->lock)
{
    return fair_queue_count(&executor->queue) > 0 && !executor->idle &&
           executor->live >= executor->size;
}

/* True when calls wait and no worker could be started for them. */
static bool forsaken_locked(struct tool_executor *executor) REQUIRES(executor->lock)
{
    return fair_queue_count(&executor->queue) > 0 && !executor->live;
}

static struct tool_call *take_call_locked(struct tool_executor *executor)
    REQUIRES(executor->lock)
{
    struct fair_job *queued = fair_queue_take(&executor->queue);

    return queued ? CONTAINER_OF(queued, struct tool_call, queued) : NULL;
}

/* Makes sure that the timekeeper wakes no later than `due_ns`, and soon while calls starve or have no worker. */
static void hurry_timekeeper_locked(struct tool_executor *executor, uint64_t due_ns)
    REQUIRES(executor->lock)
{
    if (starved_locked(executor) || forsaken_locked(executor))
        due_ns = least(due_ns, clock_mono_ns() + EXECUTOR_GRACE_NS);
    if (due_ns < executor->next_check_ns)
        pthread_cond_signal(&executor->time);
}

/* Waits for a call; NULL when there is nothing more to do for this worker. */
static struct tool_call *next_call(struct worker *worker)
{
    struct tool_executor *executor = worker->executor;
    struct tool_call *call = NULL;
    uint64_t until_ns = clock_mono_ns() + executor->idle_ns;
    bool in_time = true;

    lock_acquire(&executor->lock);
    executor->idle++;
    while (!worker->stray && !executor->stopping && !(call = take_call_locked(executor)) &&
           in_time)
        in_time = lock_wait_until(&executor->lock, &executor->work, until_ns);
    executor->idle--;
    if (!call && !worker->stray)
        executor->live--; /* it ends: calls that come from now on do not count on it */
    if (call) {
        /* The time of a call starts here: waiting for a worker is not the handler's fault. */
        call->deadline_ns = deadline_of(executor, call);
        worker->call = call;
        worker->began_ns = clock_mono_ns();
        worker->late_since_ns = 0;
        hurry_timekeeper_locked(executor, call->deadline_ns);
    }
    lock_release(&executor->lock);
    return call;
}

/* The worker has no call any more. */
static struct tool_call *put_down_locked(struct tool_executor *executor, struct worker *worker)
    REQUIRES(executor->lock)
{
    struct tool_call *call = TAKE(worker->call);

    fair_queue_charge(&executor->queue, &call->tenant, clock_mono_ns() - worker->began_ns);
    if (fair_queue_count(&executor->queue)) /* its project may have more workers now */
        pthread_cond_signal(&executor->work);
    return call;
}

static void finish_call(struct worker *worker)
{
    struct tool_executor *executor = worker->executor;
    struct tool_call *call;
    struct seat *next;

    tool_call_close_container(worker->call, true);
    lock_acquire(&executor->lock);
    call = put_down_locked(executor, worker);
    next = seats_give(&executor->seats, &call->seat);
    if (next) {
        (void)fair_queue_put(&executor->queue,
                             &CONTAINER_OF(next, struct tool_call, seat)->queued, SIZE_MAX);
        pthread_cond_signal(&executor->work);
    }
    lock_release(&executor->lock);
    tool_call_free(call);
}

/* The call waits for a seat, without this worker. True: it has it after all. */
static bool wait_for_seat(struct worker *worker, const char *container, unsigned at_once)
{
    struct tool_executor *executor = worker->executor;
    struct tool_call *call = worker->call;
    enum seat_answer answer = SEAT_TAKEN;

    tool_call_close_container(call, false); /* a line is long, and descriptors are few */
    lock_acquire(&executor->lock);
    if (!executor->stopping)
        answer = seats_ask(&executor->seats, &call->seat, container, at_once);
    if (answer != SEAT_TAKEN)
        (void)put_down_locked(executor, worker);
    lock_release(&executor->lock);
    if (answer == SEAT_REFUSED)
        reject(call, ERR_LIMIT, "too many calls wait for its container");
    return answer == SEAT_TAKEN;
}

/* True: the call may start. It has a seat in the box of its container, or needs none. */
static bool enter(struct worker *worker)
{
    struct tool_executor *executor = worker->executor;
    struct tool_call *call = worker->call;
    char container[ID_SIZE];
    unsigned at_once;
    bool has;

    if (call->seat.has || !tool_call_needs_seat(call))
        return true;
    memcpy(container, call->container->id, sizeof(container));
    at_once = call->containers->at_once;
    lock_acquire(&executor->lock);
    has = seats_try(&executor->seats, &call->seat, container, at_once);
    lock_release(&executor->lock);
    return has || wait_for_seat(worker, container, at_once);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct tool_executor *executor = worker->executor;
    struct tool_call *call;

    while ((call = next_call(worker))) {
        if (!enter(worker))
            continue;
        tool_call_execute(call);
        finish_call(worker);
    }
    lock_acquire(&executor->lock);
    if (worker->stray)
        executor->strays--;
    count_strays_locked(executor);
    worker->done = true;
    pthread_cond_broadcast(&executor->ended);
    pthread_cond_signal(&executor->time); /* it is to be joined */
    lock_release(&executor->lock);

    release(executor);
    return NULL;
}

static enum err_code start_worker_locked(struct tool_executor *executor, struct err *err)
    REQUIRES(executor->lock)
{
    struct worker *worker = mem_new(struct worker);
    int rc;

    worker->executor = executor;
    rc = pthread_create(&worker->thread, NULL, work, worker);
    if (rc) {
        free(worker);
        return err_set(err, ERR_INTERNAL, "cannot start a tool worker: %s", strerror(rc));
    }
    (void)pthread_setname_np(worker->thread, "tool");
    executor->holders++;
    executor->live++;
    worker->next = executor->workers;
    executor->workers = worker;
    return ERR_OK;
}

/* A worker for each call that waits and that no idle one will take. If none can be started, the others take it
 * later. */
static enum err_code grow_locked(struct tool_executor *executor, struct err *err)
    REQUIRES(executor->lock)
{
    if (fair_queue_count(&executor->queue) <= executor->idle ||
        executor->live >= executor->size)
        return ERR_OK;
    return start_worker_locked(executor, err);
}

/* ---- time ---- */

/* When this worker's call becomes late. While it waits for room, that moves on with the clock. */
static uint64_t call_due_locked(struct tool_executor *executor, const struct worker *worker,
                                bool *ret_waits) REQUIRES(executor->lock)
{
    const struct tool_call *call = worker->call;
    uint64_t due = tool_call_due(call, ret_waits);

    return starved_locked(executor) && tool_channel_closed(call->channel) ? 0 : due;
}

/* When the timekeeper has to check this worker's call again: not all the time at one whose moment moves on. */
static uint64_t next_check_of_locked(struct tool_executor *executor,
                                     const struct worker *worker, uint64_t now)
    REQUIRES(executor->lock)
{
    bool waits;
    uint64_t due = call_due_locked(executor, worker, &waits);

    return waits && due < now + EXECUTOR_GRACE_NS ? now + EXECUTOR_GRACE_NS : due;
}

/* How late the call of a worker is. */
enum lateness {
    LATE_NOT,
    LATE_NOW,   /* it has just become late */
    LATE_GRACE, /* its handler may be about to return */
    LATE_STUCK, /* its handler did not return within the grace */
};

static enum lateness lateness_locked(struct tool_executor *executor,
                                     const struct worker *worker, uint64_t now)
    REQUIRES(executor->lock)
{
    bool waits;

    if (!worker->call || worker->stray)
        return LATE_NOT;
    if (worker->late_since_ns)
        return now < worker->late_since_ns + EXECUTOR_GRACE_NS ? LATE_GRACE : LATE_STUCK;
    return now < call_due_locked(executor, worker, &waits) ? LATE_NOT : LATE_NOW;
}

/* Ends a late call instead of its handler. Releases the lock meanwhile. */
static void end_late_locked(struct tool_executor *executor, struct worker *worker, uint64_t now)
    REQUIRES(executor->lock)
{
    struct tool_channel *channel = tool_channel_hold(worker->call->channel);
    unsigned position = worker->call->position;
    struct err error;

    tool_call_timeout_error(worker->call->handler, &error);
    worker->late_since_ns = now;
    lock_release(&executor->lock);
    tool_call_end_with(channel, position, &error);
    tool_channel_release(channel);
    lock_acquire(&executor->lock);
}

/* Replaces a worker that is stuck. Releases the lock meanwhile. */
static void replace_locked(struct tool_executor *executor, struct worker *worker, uint64_t now)
    REQUIRES(executor->lock)
{
    const char *name = worker->call->handler->name;
    struct err err = {0};
    unsigned strays;

    worker->late_since_ns = now; /* if this fails, it is tried again after another grace */
    if (executor->stopping || executor->strays >= EXECUTOR_STRAY_LIMIT)
        return;
    if (!start_worker_locked(executor, &err)) {
        worker->stray = true;
        executor->strays++;
        executor->live--;
        count_strays_locked(executor);
    }
    strays = executor->strays;
    lock_release(&executor->lock);
    if (err.code)
        log_warn("%s", err.text);
    else
        log_warn("tool %s does not return; its thread was replaced (%u are stuck)", name,
                 strays);
    lock_acquire(&executor->lock);
}

/* Handles one late worker. False when no worker is late. */
static bool attend_locked(struct tool_executor *executor, uint64_t now) REQUIRES(executor->lock)
{
    for (struct worker *worker = executor->workers; worker; worker = worker->next) {
        switch (lateness_locked(executor, worker, now)) {
        case LATE_NOW: end_late_locked(executor, worker, now); return true;
        case LATE_STUCK: replace_locked(executor, worker, now); return true;
        case LATE_NOT:
        case LATE_GRACE: break;
        }
    }
    return false;
}

/* When the timekeeper has something to do next. Closing a channel does not wake it, so while calls starve
 * it checks periodically. */
static uint64_t next_check_locked(struct tool_executor *executor, uint64_t now)
    REQUIRES(executor->lock)
{
    bool again = starved_locked(executor) || forsaken_locked(executor);
    uint64_t next = again ? now + EXECUTOR_GRACE_NS : UINT64_MAX;

    for (const struct worker *worker = executor->workers; worker; worker = worker->next) {
        if (!worker->call || worker->stray)
            continue;
        if (worker->late_since_ns)
            next = least(next, worker->late_since_ns + EXECUTOR_GRACE_NS);
        else
            next = least(next, next_check_of_locked(executor, worker, now));
    }
    return next;
}

/* Takes a worker that has ended out of the list; NULL when none has. */
static struct worker *ended_worker_locked(struct tool_executor *executor)
    REQUIRES(executor->lock)
{
    struct worker **at = &executor->workers;
    struct worker *worker;

    while (*at && !(*at)->done)
        at = &(*at)->next;
    worker = *at;
    if (worker)
        *at = worker->next;
    return worker;
}

static void join_worker(struct worker *worker)
{
    pthread_join(worker->thread, NULL);
    free(worker);
}

static bool join_ended_locked(struct tool_executor *executor) REQUIRES(executor->lock)
{
    struct worker *worker = ended_worker_locked(executor);

    if (!worker)
        return false;
    lock_release(&executor->lock);
    join_worker(worker);
    lock_acquire(&executor->lock);
    return true;
}

static void *keep_time(void *arg)
{
    struct tool_executor *executor = arg;

    lock_acquire(&executor->lock);
    while (!executor->stopped) {
        uint64_t now = clock_mono_ns();

        /* Both release the lock, so everything is read anew after them. */
        if (attend_locked(executor, now) || join_ended_locked(executor))
            continue;
        if (forsaken_locked(executor))
            (void)start_worker_locked(executor, NULL);
        executor->next_check_ns = next_check_locked(executor, now);
        (void)lock_wait_until(&executor->lock, &executor->time, executor->next_check_ns);
        executor->next_check_ns = 0; /* awake: no signal is needed */
    }
    lock_release(&executor->lock);
    return NULL;
}

/* ---- start, submit, stop ---- */

/* Starts the timekeeper if it is missing. Without it no call may run. */
static enum err_code keep_time_locked(struct tool_executor *executor, struct err *err)
    REQUIRES(executor->lock)
{
    int error;

    if (executor->timekeeping)
        return ERR_OK;
    error = pthread_create(&executor->timekeeper, NULL, keep_time, executor);
    if (error)
        return err_set(err, ERR_INTERNAL, "cannot start the tools' timekeeper: %s",
                       strerror(error));
    (void)pthread_setname_np(executor->timekeeper, "tool-time");
    executor->timekeeping = true;
    return ERR_OK;
}

enum err_code tool_executor_start(struct tool_executor *executor, struct err *err)
{
    enum err_code rc = ERR_OK;

    lock_acquire(&executor->lock);
    executor->started = true;
    if (fair_queue_count(&executor->queue))
        rc = keep_time_locked(executor, err);
    while (!rc && fair_queue_count(&executor->queue) > executor->live &&
           executor->live < executor->size)
        rc = start_worker_locked(executor, err);
    lock_release(&executor->lock);
    if (rc)
        tool_executor_stop(executor, UINT64_MAX);
    return rc;
}

static const char stopping_text[] = "the server is stopping";

void tool_executor_submit(struct tool_executor *executor, const struct tool_call_spec *spec)
{
    struct tool_call *call = tool_call_new(spec);
    bool stopping, timeless, waits;
    struct err err = {0};

    lock_acquire(&executor->lock);
    stopping = executor->stopping;
    timeless = executor->started && !stopping && keep_time_locked(executor, &err);
    waits = !stopping && !timeless &&
            fair_queue_put(&executor->queue, &call->queued, EXECUTOR_CALLS_LIMIT);
    if (waits) {
        if (executor->started)
            (void)grow_locked(executor, &err);
        pthread_cond_signal(&executor->work);
        hurry_timekeeper_locked(executor, UINT64_MAX);
    }
    lock_release(&executor->lock);
    if (stopping)
        reject(call, ERR_CANCELLED, stopping_text);
    else if (timeless)
        reject(call, ERR_INTERNAL, "the server has no thread for it");
    else if (!waits)
        reject(call, ERR_LIMIT, "too many calls of this project wait for a tool worker");
    if (err.code)
        log_warn("%s", err.text);
}

/* Takes all waiting calls, as one list. Those in the queue may have a seat already. */
static struct fair_job *empty_queue_locked(struct tool_executor *executor)
    REQUIRES(executor->lock)
{
    struct fair_job *calls = NULL;
    struct tool_call *call;

    for (struct seat *seat = seats_take_waiting(&executor->seats); seat; seat = seat->next) {
        call = CONTAINER_OF(seat, struct tool_call, seat);
        call->queued.next = calls;
        calls = &call->queued;
    }
    executor->queue.workers = 0; /* nothing keeps them back now */
    while ((call = take_call_locked(executor))) {
        fair_queue_charge(&executor->queue, &call->tenant, 0);
        (void)seats_give(&executor->seats, &call->seat);
        call->queued.next = calls;
        calls = &call->queued;
    }
    return calls;
}

static bool all_done_locked(struct tool_executor *executor) REQUIRES(executor->lock)
{
    for (const struct worker *worker = executor->workers; worker; worker = worker->next)
        if (!worker->done)
            return false;
    return true;
}

/* Takes the workers that are done out of the list, to be joined. The others are detached. */
static struct worker *split_workers_locked(struct tool_executor *executor)
    REQUIRES(executor->lock)
{
    struct worker *done = NULL, **at = &executor->workers;

    while (*at) {
        struct worker *worker = *at;

        if (!worker->done) {
            pthread_detach(worker->thread);
            at = &worker->next;
            continue;
        }
        *at = worker->next;
        worker->next = done;
        done = worker;
    }
    return done;
}

static void stop_timekeeper(struct tool_executor *executor)
{
    bool timekeeping;

    lock_acquire(&executor->lock);
    executor->stopped = true;
    timekeeping = executor->timekeeping;
    executor->timekeeping = false;
    pthread_cond_signal(&executor->time);
    lock_release(&executor->lock);
    if (timekeeping)
        pthread_join(executor->timekeeper, NULL);
}

void tool_executor_stop(struct tool_executor *executor, uint64_t patience_ns)
{
    uint64_t now = clock_mono_ns();
    uint64_t until = patience_ns < UINT64_MAX - now ? now + patience_ns : UINT64_MAX;
    struct fair_job *calls;
    struct worker *workers;

    if (executor->stopped)
        return;
    lock_acquire(&executor->lock);
    executor->stopping = true;
    calls = empty_queue_locked(executor);
    pthread_cond_broadcast(&executor->work);
    lock_release(&executor->lock);

    /* Without the lock: the END wakes a loop. */
    while (calls) {
        struct fair_job *next = calls->next;

        reject(CONTAINER_OF(calls, struct tool_call, queued), ERR_CANCELLED, stopping_text);
        calls = next;
    }

    lock_acquire(&executor->lock);
    while (!all_done_locked(executor))
        if (!lock_wait_until(&executor->lock, &executor->ended, until))
            break;
    lock_release(&executor->lock);
    stop_timekeeper(executor);

    lock_acquire(&executor->lock);
    workers = split_workers_locked(executor);
    lock_release(&executor->lock);
    while (workers) {
        struct worker *next = workers->next;

        join_worker(workers);
        workers = next;
    }
}

void tool_executor_free(struct tool_executor *executor)
{
    if (!executor)
        return;
    assert(!executor->timekeeping);
    tool_executor_stop(executor, 0);
    release(executor);
}
