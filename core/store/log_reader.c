#include "core/store/log_reader.h"

#include <pthread.h>

#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/store/runs.h"

struct log_reader {
    struct store *store;
    pthread_t thread;

    struct lock lock;
    pthread_cond_t asked; /* guarded by lock, as all below */
    struct log_read *first, **last;
    bool stopping;
};

/* The status is read first: if it is final, the frames that are found are all there will be. */
static void read_log(struct log_reader *reader, struct log_read *read)
{
    struct run_row run = {0};

    read->rc =
        store_run_get(reader->store, read->project, *read->thread_id ? read->thread_id : NULL,
                      read->run_id, &run, NULL);
    if (read->rc)
        return;
    read->status = run.status;
    run_row_clear(&run);
    read->rc = store_events_read(reader->store, read->project, read->run_id, read->first_seq,
                                 read->limit, &read->frames, &read->length, &read->next, NULL);
}

static struct log_read *wait_for_read(struct log_reader *reader)
{
    struct log_read *read;

    lock_acquire(&reader->lock);
    while (!reader->first && !reader->stopping)
        lock_wait(&reader->lock, &reader->asked);
    read = reader->first;
    if (read)
        reader->first = read->next_read;
    if (!reader->first)
        reader->last = &reader->first;
    lock_release(&reader->lock);
    return read;
}

static void *run_reader(void *arg)
{
    struct log_reader *reader = arg;
    struct log_read *read;

    pthread_setname_np(pthread_self(), "log-reader");
    while ((read = wait_for_read(reader))) {
        read_log(reader, read);
        loop_post(read->loop, &read->done);
    }
    store_thread_end(reader->store);
    return NULL;
}

enum err_code log_reader_start(struct store *store, struct log_reader **ret_reader,
                               struct err *err)
{
    struct log_reader *reader = mem_new(struct log_reader);

    reader->store = store;
    reader->last = &reader->first;
    lock_init(&reader->lock, LOCK_STORE_QUEUE);
    lock_cond_init(&reader->asked);
    if (pthread_create(&reader->thread, NULL, run_reader, reader)) {
        free(reader);
        return err_set(err, ERR_INTERNAL, "cannot start the thread that reads the event log");
    }
    *ret_reader = reader;
    return ERR_OK;
}

void log_reader_ask(struct log_reader *reader, struct log_read *read)
{
    read->next_read = NULL;
    lock_acquire(&reader->lock);
    *reader->last = read;
    reader->last = &read->next_read;
    pthread_cond_signal(&reader->asked);
    lock_release(&reader->lock);
}

void log_reader_stop(struct log_reader *reader)
{
    if (!reader)
        return;
    lock_acquire(&reader->lock);
    reader->stopping = true;
    pthread_cond_signal(&reader->asked);
    lock_release(&reader->lock);
    pthread_join(reader->thread, NULL);
    pthread_cond_destroy(&reader->asked);
    lock_destroy(&reader->lock);
    free(reader);
}
