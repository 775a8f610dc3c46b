#ifndef RUNNEL_CORE_INGEST_INGEST_H
#define RUNNEL_CORE_INGEST_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"

/*
 * ingest.h -- threads that make documents searchable: they read a file, cut it into chunks, and index those.
 *
 * Work is rows of the database (core/store/tables/vector_stores/documents.h), which any node claims. A worker that
 * finds nothing waits, without looking again, until ingest_kick(): for files that were attached, here or on another
 * node, and from the keeper, which finds what a lost hint would have announced.
 *
 * A file that cannot be read fails at once, with a sentence for its client. What fails for another reason (the database
 * is away, the bytes lie on another node, the machine is busy) is tried again, later each time, until its deadline.
 *
 * With an embeddings model, what was read is stored before the model sees it, and vectors are as they come:
 * embed_document.h. A long document gives its worker back after each window of vectors, and is claimed again in its
 * turn: the project with the fewest at work comes first. While the model is away documents wait, and are tried again.
 *
 * A server that ends in the middle of a document has left nothing of it. The keeper gives it to another, and that is
 * counted: a document that has been the end of several servers fails, so it does not end them all.
 */

struct blobs;
struct document_scans; /* core/document/document.h */
struct embeddings;
struct histogram; /* core/ingest/histogram.h */
struct ingest;
struct store;
struct token_counter; /* core/retrieval/words.h */
struct vector_model;

struct ingest_options {
    struct store *store; /* both borrowed until ingest_stop() */
    struct blobs *blobs;
    struct embeddings *embeddings; /* borrowed, as the next; NULL: words alone */
    struct vector_model *model;
    /* Documents of older models are made anew, by workers that have nothing else to do */
    bool reindex;
    const char *spool_dir; /* for files while they are read */
    /* What reads scanned pages; how many, how long and until when is decided here. Borrowed. NULL: they are not read */
    const struct document_scans *scans;
    const struct token_counter *counter; /* of chunks; borrowed. NULL: an estimate */
    unsigned workers;
    /* From attaching until a file fails that could not be tried to its end */
    double deadline_seconds;
    /* Called by a worker when its turn with a document is over, in success and failure; may be NULL. It must not
     * wait. */
    void (*ended)(void *arg, const char *document_id);
    void *ended_arg;
};

enum err_code ingest_start(const struct ingest_options *options, struct ingest **ret_ingest,
                           struct err *err) MUST_CHECK;

/* There may be something to do. Any thread; never waits. */
void ingest_kick(struct ingest *ingest);

/* From now on nothing is begun. Any thread. */
void ingest_drain(struct ingest *ingest);

/* Gives back what is at work, and closes the embeddings model, for searches too. Does not wait for the threads. Twice,
 * and NULL, are fine. */
void ingest_cut(struct ingest *ingest);

/* Likewise, and ends the threads. A reader that is at work ends first, within DOCUMENT_WALL_MS; a request to
 * the model is not waited for. The threads send hints, so they end before store_wakeups_stop(). Other functions may
 * still be called. NULL is fine. */
void ingest_stop(struct ingest *ingest);
/* After ingest_stop(). NULL is fine. */
void ingest_free(struct ingest *ingest);

/* Of this node, since its start. */
struct ingest_stats {
    uint64_t ready, failed, put_back; /* documents, by how the work on them ended */
    size_t working;                   /* now */
    /* Of turns that ended with a document that is ready; borrowed until ingest_stop() */
    const struct histogram *seconds;
    uint64_t waiting; /* documents of all nodes and projects, as ingest_note_queue() said */
    double oldest_seconds; /* for how long the oldest of them has waited */
};
void ingest_stats(struct ingest *ingest, struct ingest_stats *ret_stats);

/* For the keeper: what waits in the database. */
void ingest_note_queue(struct ingest *ingest, uint64_t count, int64_t oldest_us);

/* What is at work here, for the keeper. */
struct ingest_lease {
    char document_id[ID_SIZE];
    int64_t fence;
};
/* The caller frees. */
size_t ingest_leases(struct ingest *ingest, struct ingest_lease **ret_leases);

#endif
