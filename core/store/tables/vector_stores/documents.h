#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_DOCUMENTS_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * documents.h -- files being made searchable: work that any node may do, and that survives it.
 *
 *   queued --claim--> parsing --publish--> ready
 *     ^                  |------fail-----> failed
 *     +-----retry--------+------dropped, when no file in a store waits for it
 *
 * With an embedding model the work has two steps, and the first is kept: document_vectors.h. A document may also
 * replace another that was made by another model. Then it takes its place in all stores at once when it is ready, and
 * nothing else waits for it.
 *
 * A claimed document has this node as its owner, a lease and a fence, as a run has. Everything that is written about it
 * carries the fence: an owner that was too slow changes nothing and gets ERR_CANCELLED. Without vectors, what a
 * document consists of is written in the transaction that makes it ready, so there is nothing half made of a document
 * that is not.
 *
 * An owner that dies leaves the document to core/store/cluster/document_leases.h. That counts as an attempt; a document
 * that has been the end of DOCUMENT_ATTEMPTS owners is to be failed by the next.
 */

/* What chunks depend on besides their file. The version changes with the readers, the chunker, and the form of
 * segments. */
#define DOCUMENT_RECIPE_VERSION 1
#define DOCUMENT_RECIPE_SIZE    32
/* What counts the tokens of chunks from now on, as a number of its own; 0: an estimate. Once, at the start. */
void store_documents_counted_by(struct store *store, uint32_t tokenizer);
/* `model_id`: of the embedding model (embedding_models.h); 0 without one. */
void document_recipe(const struct store *store, int chunk_tokens, int overlap_tokens,
                     int model_id, char ret_recipe[DOCUMENT_RECIPE_SIZE]);

#define DOCUMENT_ATTEMPTS 3

/* Pieces of a segment, and of a text without pages. */
#define DOCUMENT_PIECE ((size_t)1 << 20)

struct document_work {
    char project[ID_SIZE];
    char id[ID_SIZE];
    int64_t fence;
    char file_id[ID_LIMIT + 1];
    char blob_id[ID_SIZE];
    char *filename;
    int chunk_tokens, overlap_tokens;
    int model_id;           /* whose vectors it is to have; 0: none */
    char replaces[ID_SIZE]; /* the document whose place it takes; "": none */
    bool cut;               /* the first of two steps is done */
    size_t pages, chunks;   /* then */
    size_t embedded;        /* chunks that have vectors */
    uint64_t usage_bytes;
    int attempts;      /* owners that died with it, since vectors were last stored */
    int tries;         /* that were given up by store_document_retry(), likewise */
    int faults;        /* those of them that ended for an unknown reason */
    int64_t queued_at; /* when the first began */
};
void document_work_clear(struct document_work *work);

/* Claims the oldest document of the project with the fewest at work. False: nothing is due. One that is no longer
 * waited for is dropped on the way. */
enum err_code store_document_claim(struct store *store, struct document_work *ret_work,
                                   bool *ret_found, struct err *err) MUST_CHECK;

/* How far it is, for clients that look. *ret_wanted: a file in a store still waits for it. */
enum err_code store_document_progress(struct store *store, const struct document_work *work,
                                      size_t pages, size_t chunks, bool *ret_wanted,
                                      struct err *err) MUST_CHECK;

/* Borrowed. `text` need not end with NUL. */
struct document_text {
    const char *text;
    size_t length;
};
struct document_chunk {
    size_t page;         /* 0: none */
    const char *heading; /* "" without one */
    const char *text;
};
struct document_made {
    const struct document_text *texts;
    size_t text_count;
    const struct document_chunk *chunks;
    size_t chunk_count;
    const void *segment;
    size_t segment_size;
    size_t pages;
    uint64_t usage_bytes;
};

/* Makes it ready without vectors, and completes the files that wait for it. ERR_CANCELLED: the lease was lost, or no
 * file waits. If it was to have vectors, it is a document of words alone now, to be made anew for the current model. */
enum err_code store_document_publish(struct store *store, const struct document_work *work,
                                     const struct document_made *made,
                                     struct err *err) MUST_CHECK;

/* Fails it, and the files that wait for it, with what clients read. */
enum err_code store_document_fail(struct store *store, const struct document_work *work,
                                  const char *code, const char *message,
                                  struct err *err) MUST_CHECK;

/* Puts it back, to be claimed after `delay_us`. */
enum document_retry {
    RETRY_UNCOUNTED, /* nothing has failed */
    RETRY_COUNTED,   /* adds to its tries: something has to be waited for */
    RETRY_FAULT,     /* adds to its faults, too */
};
enum err_code store_document_retry(struct store *store, const struct document_work *work,
                                   int64_t delay_us, enum document_retry retry,
                                   struct err *err) MUST_CHECK;

/* ---- For the keeper ---- */

/* Removes up to `limit` documents that no file in a store has named for `grace_us`. */
enum err_code store_documents_sweep(struct store *store, int64_t grace_us, size_t limit,
                                    size_t *ret_count, struct err *err) MUST_CHECK;

/* ---- Reading what is ready ---- */

/* The text of a document, by pieces: piece `n`. False behind the last. The caller frees. */
enum err_code store_document_text(struct store *store, const struct tenant *tenant,
                                  const char *document_id, size_t n, char **ret_text,
                                  bool *ret_found, struct err *err) MUST_CHECK;

/* A document of the file that is ready, and whose pieces are its pages: for its text the file need not be read. False:
 * it has none, or it has no pages. */
enum err_code store_document_paged(struct store *store, const struct tenant *tenant,
                                   const char *file_id, char ret_id[ID_SIZE], size_t *ret_pages,
                                   bool *ret_found, struct err *err) MUST_CHECK;

#endif
