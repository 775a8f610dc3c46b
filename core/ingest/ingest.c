/*
 * ingest.c -- the workers, and what they do with a document that they have claimed.
 *
 *   claim ─▶ read the file, cut it ─▶ say how far ─▶ index ─┬────────────────────────────▶ publish
 *              │ the file is bad: fail                        └▶ store, embed ─▶ store vectors ─┘
 *              └ something else: give back, to be tried later                      └ window over: give it back
 *
 * A worker holds nothing but memory while it works. If it cannot even give a document back, because the database is
 * away, the lease runs out and the keeper puts the document into the queue.
 *
 * The workers are nicer than the loops: who streams an answer does not wait for who uploads a book.
 */

#include "core/ingest/ingest.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/fault.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/document/document.h"
#include "core/ingest/embed_document.h"
#include "core/ingest/embeddings.h"
#include "core/ingest/histogram.h"
#include "core/ingest/make_document.h"
#include "core/ingest/vector_index.h"
#include "core/ingest/vector_model.h"
#include "core/store/store.h"
#include "core/store/tables/vector_stores/document_vectors.h"
#include "core/store/tables/vector_stores/documents.h"
#include "core/store/tables/vector_stores/pgvector.h"
#include "core/store/tables/vector_stores/reindex.h"

#define NICENESS 10

/* A document with fewer chunks is done sooner than a client could look how far it is. */
#define PROGRESS_CHUNKS ((size_t)64)

/* Tries that may end for an unknown reason: as many as owners that may die. */
#define FAULTS_LIMIT DOCUMENT_ATTEMPTS

#define REINDEX_STEP   ((size_t)16) /* documents of older models that are queued at once */
#define LOOK_FAILED_NS (30 * NS_PER_SECOND) /* until they are looked for again */
#define LOOK_AGAIN_NS  (3600 * NS_PER_SECOND)

#define SCAN_PAGES   ((size_t)1000) /* of a document that are read from their pictures */
#define SCAN_SECONDS 1800           /* for all of them: other projects wait for this worker */
/* Of them until the database is asked whether it is still wanted. A model takes so long that it is asked each time */
#define LOOK_PAGES ((size_t)10)

#define DUE_LATE_US 1000 /* the database's clock decides, and must have reached it */
#define DUE_TIMES   64   /* that are known; later ones are left to the keeper */

#define EMBED_SECONDS     60.0 /* for a batch of texts */
#define EMBED_ALL_SECONDS 120.0

#define RETRY_FIRST_US (1 * US_PER_SECOND)
#define RETRY_LAST_US  (300 * US_PER_SECOND)

struct worker {
    struct ingest *ingest;
    pthread_t thread;
    /* Guarded by the lock; id "": none. Its worker reads it without */
    struct document_work work;
};

struct ingest {
    struct ingest_options options;
    char *spool_dir;
    struct lock lock;
    pthread_cond_t kicked;
    uint64_t kicks;             /* guarded by lock, as all below */
    uint64_t due_ns[DUE_TIMES]; /* of documents that were given back here, in order */
    size_t due_count;
    bool draining, stopping;
    int stop_fd;                /* readable from then on */
    struct vector_index *index; /* NULL without pgvector */
    bool looking;               /* a worker looks for documents of older models */
    uint64_t look_ns;           /* when to look again */
    struct reindex_pass pass;   /* how far it is; of the worker that looks */
    int pass_model;
    struct histogram seconds;
    atomic_ullong ready, failed, put_back;
    atomic_ullong waiting; /* as the keeper has seen it */
    atomic_ullong oldest_us;
    struct worker *workers;
    unsigned count;
};

/* ---- One document ---- */

/* Later each time, and not before the model wants to be asked again. */
static int64_t delay_of(const struct document_work *work, uint64_t pause_ns)
{
    int64_t delay = work->tries < 16 ? RETRY_FIRST_US << work->tries : RETRY_LAST_US;
    int64_t pause = (int64_t)(pause_ns / (uint64_t)(NS_PER_SECOND / US_PER_SECOND));

    delay = delay < RETRY_LAST_US ? delay : RETRY_LAST_US;
    return delay > pause ? delay : pause;
}

static void complain(const struct document_work *work, const char *what, const struct err *err)
{
    log_warn("%s %s: %s", work->id, what, err->text);
}

static void fail(struct ingest *ingest, const struct document_work *work,
                 const struct unmade_document *why)
{
    struct err err;
    enum err_code rc =
        store_document_fail(ingest->options.store, work, why->code, why->message, &err);

    atomic_fetch_add(&ingest->failed, !rc);
    if (rc && rc != ERR_CANCELLED)
        complain(work, "was not failed", &err);
}

static bool is_of_model(const struct document_work *work, const struct err *why)
{
    return work->cut &&
           (why->code == ERR_UPSTREAM || why->code == ERR_LIMIT || why->code == ERR_TIMEOUT);
}

/* What the client reads of a document that could not be worked on. */
static const char *given_up_for(const struct document_work *work, const struct err *why)
{
    if (is_of_model(work, why))
        return "The embedding model could not be reached.";
    return why->code == ERR_UPSTREAM && why->reason == REASON_SCAN_MODEL
               ? why->text
               : "An internal error occurred.";
}

/* Keeps their order. When there are too many, the last is forgotten. */
static void add_due_locked(struct ingest *ingest, uint64_t due_ns) REQUIRES(ingest->lock)
{
    size_t at = ingest->due_count;

    while (at && ingest->due_ns[at - 1] > due_ns)
        at--;
    if (at == DUE_TIMES)
        return;
    if (ingest->due_count == DUE_TIMES)
        ingest->due_count--;
    memmove(&ingest->due_ns[at + 1], &ingest->due_ns[at],
            (ingest->due_count - at) * sizeof(*ingest->due_ns));
    ingest->due_ns[at] = due_ns;
    ingest->due_count++;
}

/* Those that have come; others, that are later, stay. */
static void drop_due_locked(struct ingest *ingest) REQUIRES(ingest->lock)
{
    uint64_t now_ns = clock_mono_ns();
    size_t past = 0;

    while (past < ingest->due_count && ingest->due_ns[past] <= now_ns)
        past++;
    ingest->due_count -= past;
    memmove(ingest->due_ns, &ingest->due_ns[past], ingest->due_count * sizeof(*ingest->due_ns));
}

/* A worker looks for the document when it is due, and need not be kicked. */
static void note_due(struct ingest *ingest, int64_t delay_us)
{
    uint64_t due_ns = clock_mono_ns() + ((uint64_t)delay_us + DUE_LATE_US) * NS_PER_SECOND /
                                            (uint64_t)US_PER_SECOND;

    lock_acquire(&ingest->lock);
    add_due_locked(ingest, due_ns);
    pthread_cond_signal(&ingest->kicked);
    lock_release(&ingest->lock);
}

/* Something else than the file is in the way. */
static void give_back(struct ingest *ingest, const struct document_work *work,
                      uint64_t pause_ns, const struct err *why)
{
    struct ingest_options *options = &ingest->options;
    bool fault = why->code == ERR_INTERNAL;
    bool given_up = fault && work->faults + 1 >= FAULTS_LIMIT;
    bool late = (double)(clock_wall_us() - work->queued_at) >
                options->deadline_seconds * (double)US_PER_SECOND;
    struct unmade_document given = {.code = "server_error"};
    int64_t delay;
    struct err err;

    complain(work, given_up || late ? "is given up" : "is tried again later", why);
    if (given_up || late) {
        (void)snprintf(given.message, sizeof(given.message), "%s", given_up_for(work, why));
        fail(ingest, work, &given);
        return;
    }
    delay = delay_of(work, pause_ns);
    if (store_document_retry(options->store, work, delay, fault ? RETRY_FAULT : RETRY_COUNTED,
                             &err))
        complain(work, "was not given back", &err);
    else
        note_due(ingest, delay);
    atomic_fetch_add(&ingest->put_back, 1);
}

/* For its next turn: behind what waits now, and with nothing to be counted. */
static void end_turn(struct ingest *ingest, const struct document_work *work)
{
    struct err err;

    if (store_document_retry(ingest->options.store, work, 0, RETRY_UNCOUNTED, &err))
        complain(work, "was not given back", &err);
}

/* Without vectors everything is published at once; with them it is stored, and embedded afterwards. */
static enum err_code store_made(struct ingest *ingest, struct document_work *work,
                                const struct made_document *made, struct err *err)
{
    const struct document_made parts = {
        .texts = made->texts,
        .text_count = made->text_count,
        .chunks = made->shown,
        .chunk_count = made->chunks.count,
        .segment = made->segment.data,
        .segment_size = made->segment.length,
        .pages = made->document.pages,
        .usage_bytes = made->document.text.length + made->segment.length,
    };

    if (ingest->options.model && work->model_id)
        return store_document_cut(ingest->options.store, work, &parts, err);
    if (FAULT("ingest.publish"))
        return err_set(err, ERR_INTERNAL, "a fault before a document was published");
    return store_document_publish(ingest->options.store, work, &parts, err);
}

/* What the client may see while a long scan is read; and it may not be wanted any more. */
struct scanning {
    struct ingest *ingest;
    struct document_work *work;
    size_t asked;
    bool unwanted;
};

static bool is_to_stop(void *arg, size_t pages)
{
    struct scanning *scanning = arg;
    struct ingest *ingest = scanning->ingest;
    size_t between = ingest->options.scans->read ? 1 : LOOK_PAGES;
    bool stopping, wanted = true;

    lock_acquire(&ingest->lock);
    stopping = ingest->stopping;
    lock_release(&ingest->lock);
    if (stopping || ++scanning->asked % between)
        return stopping;
    if (store_document_progress(ingest->options.store, scanning->work, pages, 0, &wanted,
                                NULL) == ERR_CANCELLED)
        return true;
    scanning->unwanted = !wanted;
    return scanning->unwanted;
}

/* The first step. */
static enum err_code read_document(struct ingest *ingest, struct document_work *work,
                                   struct unmade_document *why, struct err *err)
{
    CLEANUP(made_document_clear) struct made_document made = {0};
    struct scanning scanning = {.ingest = ingest, .work = work};
    bool wanted;
    struct document_scans scans = {0};
    enum err_code rc;

    if (ingest->options.scans)
        scans = *ingest->options.scans;
    scans.pages = SCAN_PAGES;
    scans.seconds = SCAN_SECONDS;
    scans.stop = is_to_stop;
    scans.arg = &scanning;
    rc = document_cut(ingest->options.blobs, ingest->spool_dir,
                      ingest->options.scans ? &scans : NULL, ingest->options.counter, work,
                      &made, why, err);

    /* The claim that finds it next drops it. */
    if (rc == ERR_CANCELLED && scanning.unwanted)
        end_turn(ingest, work);
    if (!rc && made.chunks.count > PROGRESS_CHUNKS)
        rc = store_document_progress(ingest->options.store, work, made.document.pages,
                                     made.chunks.count, &wanted, err);
    if (rc)
        return rc;
    document_index(work->filename, &made);
    return store_made(ingest, work, &made, err);
}

/* The second step, for documents that have one. */
static enum err_code embed_document(struct ingest *ingest, struct document_work *work,
                                    struct unmade_document *why, uint64_t *pause_ns,
                                    bool *ret_ready, struct err *err)
{
    const struct document_embedder embedder = {.store = ingest->options.store,
                                               .embeddings = ingest->options.embeddings,
                                               .model = ingest->options.model,
                                               .index = ingest->index,
                                               .seconds = EMBED_SECONDS,
                                               .all_seconds = EMBED_ALL_SECONDS};
    enum err_code rc;

    *ret_ready = true;
    if (!work->cut)
        return ERR_OK;
    if (!ingest->options.model)
        return store_document_publish_cut(ingest->options.store, work, NULL, 0, err);
    rc = document_embed(&embedder, work, pause_ns, ret_ready, err);
    if (rc == ERR_INVALID) {
        complain(work, "is given up", err);
        *why = (struct unmade_document){"server_error",
                                        "The embedding model refused a part of the text."};
    }
    return rc;
}

static void do_document(struct ingest *ingest, struct document_work *work)
{
    uint64_t began_ns = clock_mono_ns();
    struct unmade_document why = {0};
    uint64_t pause_ns = 0;
    bool ready = false;
    enum err_code rc = ERR_OK;
    struct err err;

    if (work->attempts >= DOCUMENT_ATTEMPTS) {
        err_set(&err, ERR_INTERNAL, "%d servers have ended while they read it", work->attempts);
        complain(work, "is given up", &err);
        fail(ingest, work,
             &(struct unmade_document){"server_error", "An internal error occurred."});
        return;
    }
    if (!work->cut)
        rc = read_document(ingest, work, &why, &err);
    if (!rc)
        rc = embed_document(ingest, work, &why, &pause_ns, &ready, &err);
    if (rc && why.code)
        fail(ingest, work, &why);
    else if (rc && rc != ERR_CANCELLED)
        give_back(ingest, work, pause_ns, &err);
    else if (!rc && !ready)
        end_turn(ingest, work);
    if (rc || !ready)
        return;
    atomic_fetch_add(&ingest->ready, 1);
    histogram_add(&ingest->seconds, clock_mono_ns() - began_ns);
}

/* ---- Workers ---- */

static bool may_begin(struct ingest *ingest)
{
    bool may;

    lock_acquire(&ingest->lock);
    may = !ingest->draining;
    lock_release(&ingest->lock);
    return may;
}

static void note_work(struct worker *worker, const struct document_work *work)
{
    lock_acquire(&worker->ingest->lock);
    worker->work = *work;
    lock_release(&worker->ingest->lock);
}

/* ---- Documents of older models ---- */

/* The model is known afterwards, and whether it is still the same. */
static enum err_code look_for_old(struct ingest *ingest, size_t *ret_queued, struct err *err)
{
    const struct vector_space *space = NULL;
    uint64_t pause_ns;
    enum err_code rc = vector_model_learn(ingest->options.model, &pause_ns, &space, err);

    if (rc)
        return rc;
    if (!space || !ingest->options.reindex) {
        ingest->pass.ended = true;
        return ERR_OK;
    }
    if (ingest->pass_model != space->id)
        ingest->pass = (struct reindex_pass){0};
    ingest->pass_model = space->id;
    return store_reindex_step(ingest->options.store, space->id, REINDEX_STEP, &ingest->pass,
                              ret_queued, err);
}

static bool begin_look(struct ingest *ingest)
{
    bool mine;

    lock_acquire(&ingest->lock);
    mine = ingest->options.model && !ingest->looking && !ingest->draining &&
           clock_mono_ns() >= ingest->look_ns;
    if (mine)
        ingest->looking = true;
    lock_release(&ingest->lock);
    return mine;
}

static void end_look(struct ingest *ingest, uint64_t pause_ns)
{
    lock_acquire(&ingest->lock);
    ingest->looking = false;
    ingest->look_ns = clock_mono_ns() + pause_ns;
    lock_release(&ingest->lock);
}

/* For a worker without work: one step of the pass, which queues some documents that are to be made anew. Between two
 * steps a worker claims what is attached meanwhile, and sees a drain. True: there may be more. */
static bool find_old(struct ingest *ingest)
{
    size_t queued = 0;
    struct err err;
    enum err_code rc;
    bool more;

    if (!begin_look(ingest))
        return false;
    rc = look_for_old(ingest, &queued, &err);
    if (rc && rc != ERR_CANCELLED)
        log_warn("documents of older embeddings models wait: %s", err.text);
    more = !rc && (queued || !ingest->pass.ended);
    if (!rc && ingest->pass.ended)
        ingest->pass = (struct reindex_pass){0};
    end_look(ingest, rc ? LOOK_FAILED_NS : more ? 0 : LOOK_AGAIN_NS);
    return more;
}

/* False: there is nothing to do now. */
static bool do_next(struct worker *worker)
{
    struct ingest *ingest = worker->ingest;
    struct document_work work;
    bool found = false;
    struct err err;

    if (!may_begin(ingest))
        return false;
    if (store_document_claim(ingest->options.store, &work, &found, &err)) {
        log_warn("files of vector stores wait: %s", err.text);
        return false;
    }
    if (!found)
        return find_old(ingest);
    note_work(worker, &work);
    do_document(ingest, &work);
    note_work(worker, &(struct document_work){.id = ""});
    if (ingest->options.ended)
        ingest->options.ended(ingest->options.ended_arg, work.id);
    document_work_clear(&work);
    return true;
}

/* False: it is to end. */
static bool wait_for_kick(struct ingest *ingest, uint64_t *seen)
{
    bool stopping;

    lock_acquire(&ingest->lock);
    while (!ingest->stopping && ingest->kicks == *seen) {
        if (!ingest->due_count) {
            lock_wait(&ingest->lock, &ingest->kicked);
        } else if (!lock_wait_until(&ingest->lock, &ingest->kicked, ingest->due_ns[0])) {
            drop_due_locked(ingest);
            break;
        }
    }
    *seen = ingest->kicks;
    stopping = ingest->stopping;
    lock_release(&ingest->lock);
    return !stopping;
}

static void *run_worker(void *arg)
{
    struct worker *worker = arg;
    uint64_t seen = 0;

    pthread_setname_np(pthread_self(), "ingest");
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    while (wait_for_kick(worker->ingest, &seen))
        while (do_next(worker))
            continue;
    store_thread_end(worker->ingest->options.store);
    return NULL;
}

void ingest_kick(struct ingest *ingest)
{
    lock_acquire(&ingest->lock);
    ingest->kicks++;
    pthread_cond_broadcast(&ingest->kicked);
    lock_release(&ingest->lock);
}

size_t ingest_leases(struct ingest *ingest, struct ingest_lease **ret_leases)
{
    size_t count = 0;

    *ret_leases = mem_zeroed(ingest->count + 1, sizeof(**ret_leases));
    lock_acquire(&ingest->lock);
    for (unsigned i = 0; i < ingest->count; i++) {
        const struct document_work *work = &ingest->workers[i].work;

        if (!work->id[0])
            continue;
        memcpy((*ret_leases)[count].document_id, work->id, ID_SIZE);
        (*ret_leases)[count++].fence = work->fence;
    }
    lock_release(&ingest->lock);
    return count;
}

void ingest_note_queue(struct ingest *ingest, uint64_t count, int64_t oldest_us)
{
    atomic_store(&ingest->waiting, count);
    atomic_store(&ingest->oldest_us, (uint64_t)oldest_us);
}

void ingest_stats(struct ingest *ingest, struct ingest_stats *ret_stats)
{
    *ret_stats = (struct ingest_stats){
        .ready = atomic_load(&ingest->ready),
        .failed = atomic_load(&ingest->failed),
        .put_back = atomic_load(&ingest->put_back),
        .seconds = &ingest->seconds,
        .waiting = atomic_load(&ingest->waiting),
        .oldest_seconds = (double)atomic_load(&ingest->oldest_us) / (double)US_PER_SECOND,
    };
    lock_acquire(&ingest->lock);
    for (unsigned i = 0; i < ingest->count; i++)
        ret_stats->working += ingest->workers[i].work.id[0] != '\0';
    lock_release(&ingest->lock);
}

void ingest_drain(struct ingest *ingest)
{
    lock_acquire(&ingest->lock);
    ingest->draining = true;
    lock_release(&ingest->lock);
}

enum err_code ingest_start(const struct ingest_options *options, struct ingest **ret_ingest,
                           struct err *err)
{
    struct ingest *ingest = mem_new(struct ingest);

    *ingest = (struct ingest){
        .options = *options,
        .spool_dir = mem_strdup(options->spool_dir),
        .kicks = 1, /* what an earlier start has left */
        .workers = mem_zeroed(options->workers, sizeof(struct worker)),
        .stop_fd = eventfd(0, EFD_CLOEXEC),
    };
    lock_init(&ingest->lock, LOCK_INGEST);
    lock_cond_init(&ingest->kicked);
    if (ingest->stop_fd < 0) {
        ingest_free(ingest);
        return err_set(err, ERR_INTERNAL, "cannot make an eventfd: %s", strerror(errno));
    }
    if (options->model && store_pgvector_is_used(options->store)) {
        enum err_code rc =
            vector_index_start(options->store, ingest->stop_fd, &ingest->index, err);

        if (rc) {
            ingest_free(ingest);
            return rc;
        }
    }
    for (; ingest->count < options->workers; ingest->count++) {
        struct worker *worker = &ingest->workers[ingest->count];

        worker->ingest = ingest;
        if (pthread_create(&worker->thread, NULL, run_worker, worker) == 0)
            continue;
        ingest_stop(ingest);
        ingest_free(ingest);
        return err_set(err, ERR_INTERNAL, "cannot start a worker for files");
    }
    *ret_ingest = ingest;
    return ERR_OK;
}

/* Another node need not wait for a lease to run out. Its worker, if it comes to an end before the process, finds that
 * it has lost the document. */
static void give_back_all(struct ingest *ingest)
{
    for (unsigned i = 0; i < ingest->count; i++) {
        struct document_work work;
        struct err err;

        lock_acquire(&ingest->lock);
        work = ingest->workers[i].work;
        lock_release(&ingest->lock);
        if (work.id[0] &&
            store_document_retry(ingest->options.store, &work, 0, RETRY_UNCOUNTED, &err))
            complain(&work, "was not given back", &err);
    }
}

void ingest_cut(struct ingest *ingest)
{
    bool again;

    if (!ingest)
        return;
    lock_acquire(&ingest->lock);
    again = ingest->stopping;
    ingest->draining = ingest->stopping = true;
    pthread_cond_broadcast(&ingest->kicked);
    lock_release(&ingest->lock);
    if (again)
        return;
    (void)eventfd_write(ingest->stop_fd, 1);
    /* In this order: a worker whose request was closed forgets its document. */
    give_back_all(ingest);
    if (ingest->options.embeddings)
        embeddings_close(ingest->options.embeddings);
}

void ingest_stop(struct ingest *ingest)
{
    if (!ingest)
        return;
    ingest_cut(ingest);
    for (unsigned i = 0; i < ingest->count; i++)
        pthread_join(ingest->workers[i].thread, NULL);
    vector_index_stop(TAKE(ingest->index));
}

void ingest_free(struct ingest *ingest)
{
    if (!ingest)
        return;
    if (ingest->stop_fd >= 0)
        close(ingest->stop_fd);
    pthread_cond_destroy(&ingest->kicked);
    lock_destroy(&ingest->lock);
    free(ingest->workers);
    free(ingest->spool_dir);
    free(ingest);
}
