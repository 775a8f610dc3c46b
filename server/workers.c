#include "server/workers.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/fault.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/store.h"

/*
 * One crew of threads, and a queue for each kind of work.
 *
 * A server needs a dozen threads for its worst minute and none for most others, so threads follow the work. A piece of
 * work that is put wakes the idle thread that was busy last, or else starts one. The others sleep on, until they have
 * slept for `idle_ns` and end. A single condition for all would wake them in turn, and none would ever end.
 *
 * Each queue has a ceiling. `running` counts its work on threads, `coming` the threads that are on their way to it. So
 * a thousand pieces of work, put before the first thread moves, start no more threads than the ceiling.
 *
 * A thread that cannot be started (a limit of the process or its cgroup) is no fault of the work, which waits in its
 * queue. The first thread never ends, and threads look into all queues before they sleep. So the work is done, later.
 *
 * There is no cancelling and no result. A thread calls work->run() and forgets the work before that, so run() may free
 * it or put it again. An answer to a loop is a task that run() posts there. Stopping waits until the queue is empty:
 * its owner waits for the work, and has no other way to get its memory back.
 *
 * Each thread may have a connection of the store, which it makes with its first call and returns at its end.
 */
struct workers {
    struct workers *next;
    struct crew *crew;
    unsigned count; /* constant: the ceiling */

    /* Guarded by the crew's lock, as all below. */
    struct fair_queue queue;
    unsigned running, coming;
    pthread_cond_t done; /* nothing waits and nothing runs */
};

struct hand {
    struct hand *next; /* of the idle ones, or of those that have ended */
    struct crew *crew;
    pthread_t thread;
    pthread_cond_t woken;
    struct workers *called; /* it is one of their `coming` */
    bool awake;             /* it is not among the idle ones */
    bool stays;
};

struct crew {
    struct store *store;
    uint64_t idle_ns;

    struct lock lock;
    struct workers *workers; /* guarded by lock, as all below; first to be served first */
    struct hand *idle;       /* the one that was busy last is the first */
    struct hand *ended;      /* the next that ends joins it */
    unsigned threads;
    bool stopping;
    pthread_cond_t gone; /* no thread is left */
};

/* ---- threads ---- */

static void enlist_locked(struct crew *crew, struct workers *workers) REQUIRES(crew->lock)
{
    struct workers **at = &crew->workers;

    while (*at)
        at = &(*at)->next;
    workers->next = NULL;
    *at = workers;
}

static void delist_locked(struct crew *crew, struct workers *workers) REQUIRES(crew->lock)
{
    struct workers **at = &crew->workers;

    while (*at != workers)
        at = &(*at)->next;
    *at = workers->next;
}

/* The queues take turns. */
static struct work *take_locked(struct crew *crew, struct workers **ret_workers)
    REQUIRES(crew->lock)
{
    for (struct workers *workers = crew->workers; workers; workers = workers->next) {
        struct fair_job *job;

        if (workers->running >= workers->count || !(job = fair_queue_take(&workers->queue)))
            continue;
        workers->running++;
        delist_locked(crew, workers);
        enlist_locked(crew, workers);
        *ret_workers = workers;
        return CONTAINER_OF(job, struct work, job);
    }
    return NULL;
}

static bool busy(const struct workers *workers)
{
    return workers->running || workers->coming || fair_queue_count(&workers->queue);
}

/* `running` or `coming` has become less. */
static void notice_locked(struct crew *crew, struct workers *workers) REQUIRES(crew->lock)
{
    (void)crew; /* for the analysis of locks */
    if (!busy(workers))
        pthread_cond_broadcast(&workers->done);
}

/* The work is its owner's again when it has run. So its tenant is known before. */
static void run_work(struct crew *crew, struct workers *workers, struct work *work)
{
    uint64_t began_ns = clock_mono_ns();
    struct tenant tenant = work->tenant;

    work->run(work);
    lock_acquire(&crew->lock);
    fair_queue_charge(&workers->queue, &tenant, clock_mono_ns() - began_ns);
    workers->running--;
    notice_locked(crew, workers);
    lock_release(&crew->lock);
}

/* Sleeps among the idle ones. False: for so long that the thread should end. */
static bool sleep_locked(struct crew *crew, struct hand *hand) REQUIRES(crew->lock)
{
    uint64_t until_ns = hand->stays ? UINT64_MAX : clock_mono_ns() + crew->idle_ns;
    struct hand **at = &crew->idle;

    hand->awake = false;
    hand->next = crew->idle;
    crew->idle = hand;
    while (!hand->awake && !crew->stopping &&
           lock_wait_until(&crew->lock, &hand->woken, until_ns))
        ;
    if (hand->awake)
        return true;
    while (*at != hand)
        at = &(*at)->next;
    *at = hand->next;
    return false;
}

/* Waits for work. NULL: the thread is to end. */
static struct work *next_work(struct hand *hand, struct workers **ret_workers)
{
    struct crew *crew = hand->crew;
    struct work *work;

    lock_acquire(&crew->lock);
    do {
        if (hand->called) {
            hand->called->coming--;
            notice_locked(crew, TAKE(hand->called));
        }
        work = take_locked(crew, ret_workers);
    } while (!work && sleep_locked(crew, hand));
    lock_release(&crew->lock);
    return work;
}

static void join_hand(struct hand *hand)
{
    if (!hand)
        return;
    pthread_join(hand->thread, NULL);
    pthread_cond_destroy(&hand->woken);
    free(hand);
}

static void *run_hand(void *arg)
{
    struct hand *hand = arg;
    struct crew *crew = hand->crew;
    struct workers *workers;
    struct work *work;
    struct hand *earlier;

    pthread_setname_np(pthread_self(), "worker");
    while ((work = next_work(hand, &workers)))
        run_work(crew, workers, work);
    if (crew->store)
        store_thread_end(crew->store);
    lock_acquire(&crew->lock);
    earlier = crew->ended;
    crew->ended = hand;
    crew->threads--;
    if (!crew->threads)
        pthread_cond_signal(&crew->gone);
    lock_release(&crew->lock);
    join_hand(earlier);
    return NULL;
}

/* 0, or an errno. */
static int start_hand_locked(struct crew *crew, struct workers *called) REQUIRES(crew->lock)
{
    struct hand *hand = mem_new(struct hand);
    int rc;

    hand->crew = crew;
    hand->called = called;
    hand->stays = !called;
    lock_cond_init(&hand->woken);
    rc = FAULT("worker.start") ? EAGAIN : pthread_create(&hand->thread, NULL, run_hand, hand);
    if (rc) {
        pthread_cond_destroy(&hand->woken);
        free(hand);
        return rc;
    }
    crew->threads++;
    if (called)
        called->coming++;
    return 0;
}

/* A thread for what has just been put, if the ceiling allows another one. */
static int call_locked(struct crew *crew, struct workers *workers) REQUIRES(crew->lock)
{
    struct hand *hand = crew->idle;

    if (workers->running + workers->coming >= workers->count)
        return 0;
    if (!hand)
        return start_hand_locked(crew, workers);
    crew->idle = hand->next;
    hand->awake = true;
    hand->called = workers;
    workers->coming++;
    pthread_cond_signal(&hand->woken);
    return 0;
}

enum err_code crew_start(struct store *store, uint64_t idle_ns, struct crew **ret_crew,
                         struct err *err)
{
    struct crew *crew = mem_new(struct crew);
    int rc;

    crew->store = store;
    crew->idle_ns = idle_ns;
    lock_init(&crew->lock, LOCK_WORKERS);
    lock_cond_init(&crew->gone);
    *ret_crew = crew;
    lock_acquire(&crew->lock);
    rc = start_hand_locked(crew, NULL);
    lock_release(&crew->lock);
    return rc ? err_set(err, ERR_INTERNAL, "cannot start a worker: %s", strerror(rc)) : ERR_OK;
}

void crew_stop(struct crew *crew)
{
    if (!crew)
        return;
    assert(!crew->workers);
    lock_acquire(&crew->lock);
    crew->stopping = true;
    for (struct hand *hand = crew->idle; hand; hand = hand->next)
        pthread_cond_signal(&hand->woken);
    while (crew->threads)
        lock_wait(&crew->lock, &crew->gone);
    lock_release(&crew->lock);
    join_hand(crew->ended);
    pthread_cond_destroy(&crew->gone);
    lock_destroy(&crew->lock);
    free(crew);
}

unsigned crew_threads(struct crew *crew)
{
    unsigned threads;

    lock_acquire(&crew->lock);
    threads = crew->threads;
    lock_release(&crew->lock);
    return threads;
}

/* ---- work ---- */

struct workers *workers_new(struct crew *crew, unsigned count)
{
    struct workers *workers = mem_new(struct workers);

    workers->crew = crew;
    workers->count = count;
    lock_cond_init(&workers->done);
    lock_acquire(&crew->lock);
    enlist_locked(crew, workers);
    lock_release(&crew->lock);
    return workers;
}

bool workers_offer(struct workers *workers, struct work *work, size_t limit)
{
    struct crew *crew = workers->crew;
    bool waits;
    int rc = 0;

    work->job = (struct fair_job){.tenant = &work->tenant};
    lock_acquire(&crew->lock);
    waits = fair_queue_put(&workers->queue, &work->job, limit);
    if (waits)
        rc = call_locked(crew, workers);
    lock_release(&crew->lock);
    if (rc)
        log_warn("cannot start a worker, others do its work: %s", strerror(rc));
    return waits;
}

void workers_put(struct workers *workers, struct work *work)
{
    bool waits = workers_offer(workers, work, SIZE_MAX);

    assert(waits);
    (void)waits;
}

void workers_stop(struct workers *workers)
{
    struct crew *crew;

    if (!workers)
        return;
    crew = workers->crew;
    lock_acquire(&crew->lock);
    while (busy(workers))
        lock_wait(&crew->lock, &workers->done);
    delist_locked(crew, workers);
    lock_release(&crew->lock);
    pthread_cond_destroy(&workers->done);
    free(workers);
}
