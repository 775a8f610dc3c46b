#include "core/ingest/vector_index.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/store/store.h"
#include "core/store/tables/vector_stores/pgvector.h"

#define AGAIN_NS (61 * NS_PER_SECOND) /* behind the pause of store_pgvector_index() */

struct vector_index {
    struct store *store;
    int stop_fd;
    pthread_t thread;
    struct lock lock;
    pthread_cond_t changed;
    int wanted, made; /* models; 0: none. Guarded by the lock, as all below */
    uint32_t dimensions;
    uint64_t again_ns; /* not before this moment; 0: now */
    bool stopping;
};

/* Waits until there is something to make. False: it is to end. */
static bool wait_for_want(struct vector_index *index, int *ret_model, uint32_t *ret_dimensions)
{
    bool stopping;

    lock_acquire(&index->lock);
    while (!index->stopping &&
           (index->wanted == index->made || clock_mono_ns() < index->again_ns)) {
        if (index->wanted == index->made)
            lock_wait(&index->lock, &index->changed);
        else
            (void)lock_wait_until(&index->lock, &index->changed, index->again_ns);
    }
    *ret_model = index->wanted;
    *ret_dimensions = index->dimensions;
    stopping = index->stopping;
    lock_release(&index->lock);
    return !stopping;
}

static void *run(void *arg)
{
    struct vector_index *index = arg;
    uint32_t dimensions;
    int model;
    struct err err;

    pthread_setname_np(pthread_self(), "vector index");
    while (wait_for_want(index, &model, &dimensions)) {
        if (store_pgvector_index(index->store, model, dimensions, index->stop_fd, &err))
            log_info("the index of pgvector is left to the next start: %s", err.text);
        lock_acquire(&index->lock);
        if (store_pgvector_is_indexed(index->store, model))
            index->made = model;
        else
            index->again_ns = clock_mono_ns() + AGAIN_NS;
        lock_release(&index->lock);
    }
    store_thread_end(index->store);
    return NULL;
}

enum err_code vector_index_start(struct store *store, int stop_fd,
                                 struct vector_index **ret_index, struct err *err)
{
    struct vector_index *index = mem_new(struct vector_index);

    *index = (struct vector_index){.store = store, .stop_fd = stop_fd};
    lock_init(&index->lock, LOCK_INGEST);
    lock_cond_init(&index->changed);
    if (pthread_create(&index->thread, NULL, run, index) != 0) {
        pthread_cond_destroy(&index->changed);
        lock_destroy(&index->lock);
        free(index);
        return err_set(err, ERR_INTERNAL, "cannot start a thread for the index of vectors");
    }
    *ret_index = index;
    return ERR_OK;
}

void vector_index_want(struct vector_index *index, int model, uint32_t dimensions)
{
    if (!index || dimensions > PGVECTOR_INDEXED_DIMENSIONS)
        return;
    lock_acquire(&index->lock);
    if (index->wanted != model) {
        index->wanted = model;
        index->dimensions = dimensions;
        index->again_ns = 0;
        pthread_cond_signal(&index->changed);
    }
    lock_release(&index->lock);
}

void vector_index_stop(struct vector_index *index)
{
    if (!index)
        return;
    lock_acquire(&index->lock);
    index->stopping = true;
    pthread_cond_signal(&index->changed);
    lock_release(&index->lock);
    pthread_join(index->thread, NULL);
    pthread_cond_destroy(&index->changed);
    lock_destroy(&index->lock);
    free(index);
}
