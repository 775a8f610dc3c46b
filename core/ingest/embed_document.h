#ifndef RUNNEL_CORE_INGEST_EMBED_DOCUMENT_H
#define RUNNEL_CORE_INGEST_EMBED_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/tables/vector_stores/documents.h"

/*
 * embed_document.h -- the second step of a document: from chunks in the database to an index with vectors.
 *
 * It goes by windows of chunks. Between two of them the worker takes the document whose turn it is: a book that is
 * embedded for an hour does not hold up the page of another project. Vectors are stored as they come, so what was paid
 * for is not paid for again after a crash. Memory is that of a window, and at the end of the index with its vectors,
 * which has a third of their bytes.
 */

struct embeddings;
struct store;
struct vector_index;
struct vector_model;

struct document_embedder {
    struct store *store;
    struct embeddings *embeddings;
    struct vector_model *model;
    struct vector_index *index; /* of pgvector; NULL without it */
    double seconds;             /* for a batch of texts */
    double all_seconds;         /* as in embeddings.h, for the batches of a window */
};

/* Makes the vectors of a window of a cut document. *ret_ready: it has all of them now, and is ready. If it is not, its
 * owner puts it back, and it is continued when it is claimed. If the model is another one than it was to have, it is
 * ready without vectors: it can be found by words, and is made anew later. One of a newer model than this node knows,
 * which replaces another document, is given back instead. Errors as in embeddings.h; then *ret_pause_ns is how long the
 * model wants to be left alone. ERR_STORE; ERR_CANCELLED if it is no longer this node's, or the server goes down. */
enum err_code document_embed(const struct document_embedder *embedder,
                             struct document_work *work, uint64_t *ret_pause_ns,
                             bool *ret_ready, struct err *err) MUST_CHECK;

#endif
