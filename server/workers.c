#include "server/workers.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/store/store.h"

/*
 * A pool in its simplest form: one queue, one condition, a fixed number of threads. Work is intrusive,
 * so putting it cannot fail, and a loop may do it at any time.
 *
 * There is no cancelling and no result. A worker calls work->run() and forgets the work before that,
 * so run() may free it or put it again. An answer to a loop is a task that run() posts there.
 *
 * Stopping drains the queue: threads end only when it is empty. Work that was put is always run,
 * because its owner waits for that and has no other way to get its memory back.
 *
 * Each thread may have a connection of the store, which it makes with its first call and returns at
 * its end.
 */
struct workers {
    struct store *store;
    pthread_t *threads;
    unsigned count;

    struct lock lock;
    pthread_cond_t more; /* guarded by lock, as all below */
    struct fair_queue queue;
    bool stopping;
};

static struct work *take(struct workers *workers)
{
    struct fair_job *job;

    lock_acquire(&workers->lock);
    while (!(job = fair_queue_take(&workers->queue)) && !workers->stopping)
        lock_wait(&workers->lock, &workers->more);
    lock_release(&workers->lock);
    return job ? CONTAINER_OF(job, struct work, job) : NULL;
}

/* The work is its owner's again when it has run. So its tenant is known before. */
static void run_work(struct workers *workers, struct work *work)
{
    uint64_t began_ns = clock_mono_ns();
    struct tenant tenant = work->tenant;

    work->run(work);
    lock_acquire(&workers->lock);
    fair_queue_charge(&workers->queue, &tenant, clock_mono_ns() - began_ns);
    lock_release(&workers->lock);
}

static void *run_worker(void *arg)
{
    struct workers *workers = arg;
    struct work *work;

    pthread_setname_np(pthread_self(), "worker");
    while ((work = take(workers)))
        run_work(workers, work);
    if (workers->store)
        store_thread_end(workers->store);
    return NULL;
}

bool workers_offer(struct workers *workers, struct work *work, size_t limit)
{
    bool waits;

    work->job = (struct fair_job){.tenant = &work->tenant};
    lock_acquire(&workers->lock);
    waits = fair_queue_put(&workers->queue, &work->job, limit);
    if (waits)
        pthread_cond_signal(&workers->more);
    lock_release(&workers->lock);
    return waits;
}

void workers_put(struct workers *workers, struct work *work)
{
    bool waits = workers_offer(workers, work, SIZE_MAX);

    assert(waits);
    (void)waits;
}

enum err_code workers_start(unsigned count, struct store *store, struct workers **ret_workers,
                            struct err *err)
{
    struct workers *workers = mem_new(struct workers);

    workers->store = store;
    workers->threads = mem_new_array(pthread_t, count);
    lock_init(&workers->lock, LOCK_WORKERS);
    lock_cond_init(&workers->more);
    for (; workers->count < count; workers->count++) {
        int rc = pthread_create(&workers->threads[workers->count], NULL, run_worker, workers);

        if (rc) {
            workers_stop(workers);
            return err_set(err, ERR_INTERNAL, "cannot start a worker: %s", strerror(rc));
        }
    }
    *ret_workers = workers;
    return ERR_OK;
}

void workers_stop(struct workers *workers)
{
    if (!workers)
        return;
    lock_acquire(&workers->lock);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->more);
    lock_release(&workers->lock);
    for (unsigned i = 0; i < workers->count; i++)
        pthread_join(workers->threads[i], NULL);
    pthread_cond_destroy(&workers->more);
    lock_destroy(&workers->lock);
    free(workers->threads);
    free(workers);
}
