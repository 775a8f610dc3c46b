#ifndef RUNNEL_CORE_INGEST_MAKE_DOCUMENT_H
#define RUNNEL_CORE_INGEST_MAKE_DOCUMENT_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/document/document.h"
#include "core/retrieval/chunker.h"
#include "core/store/tables/vector_stores/documents.h"

/*
 * make_document.h -- from the bytes of a file to all that a document consists of.
 *
 * In two steps, so that the owner can say how far it is between them: what takes long is reading the file, in a
 * confined child.
 */

struct blobs;

struct made_document {
    struct document document;
    struct chunks chunks;
    struct buf segment;
    /* For store_document_publish(): */
    struct document_text *texts;
    size_t text_count;
    struct document_chunk *shown;
};
void made_document_clear(struct made_document *made);

/* What the client is to read of a failure. */
struct unmade_document {
    const char *code;   /* NULL: the failure is not the file's */
    char message[1100]; /* longer than an err.text */
};

struct document_scans;

/* Reads the file, its scanned pages as `scans` says (document/document.h; or NULL), and cuts it, with `counter` or
 * NULL as chunks_make() wants it. After an error
 * *ret_why says what the client reads about the file. */
enum err_code document_cut(struct blobs *blobs, const char *spool_dir,
                           const struct document_scans *scans,
                           const struct token_counter *counter,
                           const struct document_work *work, struct made_document *made,
                           struct unmade_document *ret_why, struct err *err) MUST_CHECK;

/* Indexes what was cut. `filename` is indexed with each chunk. */
void document_index(const char *filename, struct made_document *made);

#endif
