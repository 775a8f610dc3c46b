/*
 * The event log, read for loops that must not block.
 *
 * A follower on a loop hands over a log_read and goes on. One thread takes the requests in their
 * order, reads, and posts each result back to its loop. Its connection is the store's for that
 * thread, so while the database is away every read fails at once, and its follower asks again
 * later.
 *
 * Followers of one run usually wait for the same frames: a wake-up reaches all of them together.
 * So the thread takes out of the queue every request that equals the first one, reads once, and
 * copies the result. Twenty followers of one response cost about an eighth of the reads that
 * they cost one by one.
 *
 * The end of a run. The status is read before the frames. If it is final, the frames found
 * afterwards are all that there will ever be, and the follower may end its stream. In the other
 * order a run could end in between: its last frames would be missing from a read that says
 * "final".
 *
 * Decided against: a table of the followers of each run, which would share reads even when the
 * requests do not wait together. It saves another half of the reads, and needs an owner that
 * knows when the last follower has left. And against several reader threads: reads are short and
 * limited in bytes, and a second connection for each node helps only once the first one is busy
 * all the time.
 */

#include "core/store/cluster/log_reader.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/lock.h"
#include "core/base/mem.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/threads.h"

struct log_reader {
    struct store *store;
    pthread_t thread;

    struct lock lock;
    pthread_cond_t asked; /* guarded by lock, as all below */
    struct log_read *first, **last;
    bool stopping;
};

/* A thread that cannot be read now counts as there: only the text for the client depends on it. */
static bool is_thread_deleted(struct log_reader *reader, const struct log_read *read)
{
    struct thread_row thread = {0};
    enum err_code rc = ERR_OK;

    if (*read->thread_id)
        rc = store_thread_get(reader->store, &read->tenant, read->thread_id, &thread, NULL);
    thread_row_clear(&thread);
    return rc == ERR_NOT_FOUND;
}

static void read_log(struct log_reader *reader, struct log_read *read)
{
    struct run_row run = {0};

    read->rc = store_run_get(reader->store, &read->tenant,
                             read->face == FACE_ASSISTANTS ? read->thread_id : NULL,
                             read->run_id, &run, NULL);
    read->thread_deleted = read->rc == ERR_NOT_FOUND && is_thread_deleted(reader, read);
    if (read->rc)
        return;
    read->status = run.status;
    run_row_clear(&run);
    read->rc = store_events_read(reader->store, &read->tenant, read->run_id, read->first_seq,
                                 read->limit, &read->frames, &read->length, &read->next, NULL);
}

static bool is_same(const struct log_read *a, const struct log_read *b)
{
    return a->first_seq == b->first_seq && a->limit == b->limit && a->face == b->face &&
           strcmp(a->run_id, b->run_id) == 0 && strcmp(a->thread_id, b->thread_id) == 0 &&
           strcmp(a->tenant.project, b->tenant.project) == 0;
}

/* Takes the first read that waits, and with it all others that want the same frames. */
static struct log_read *take_locked(struct log_reader *reader) REQUIRES(reader->lock)
{
    struct log_read *first = reader->first, **link = &reader->first, **end;
    struct log_read *read;

    if (!first)
        return NULL;
    reader->first = first->next_read;
    end = &first->next_read;
    while ((read = *link)) {
        if (!is_same(read, first)) {
            link = &read->next_read;
            continue;
        }
        *link = read->next_read;
        *end = read;
        end = &read->next_read;
    }
    *end = NULL;
    reader->last = link;
    return first;
}

static struct log_read *wait_for_reads(struct log_reader *reader)
{
    struct log_read *reads;

    lock_acquire(&reader->lock);
    while (!reader->first && !reader->stopping)
        lock_wait(&reader->lock, &reader->asked);
    reads = take_locked(reader);
    lock_release(&reader->lock);
    return reads;
}

static void copy_answer(const struct log_read *from, struct log_read *to)
{
    to->rc = from->rc;
    to->thread_deleted = from->thread_deleted;
    if (from->rc)
        return;
    to->status = from->status;
    to->frames = mem_strndup(from->frames, from->length);
    to->length = from->length;
    to->next = from->next;
}

/* Posts the first read last, because the others copy from it, and after posting it belongs to
 * its loop. */
static void post_all(struct log_read *first)
{
    struct log_read *read = first->next_read, *next;

    for (; read; read = next) {
        next = read->next_read;
        copy_answer(first, read);
        loop_post(read->loop, &read->done);
    }
    loop_post(first->loop, &first->done);
}

/* Stopping drains the queue: wait_for_reads() returns NULL only when it is empty, so every
 * follower gets its struct back. */
static void *run_reader(void *arg)
{
    struct log_reader *reader = arg;
    struct log_read *reads;

    pthread_setname_np(pthread_self(), "log-reader");
    while ((reads = wait_for_reads(reader))) {
        read_log(reader, reads);
        post_all(reads);
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
