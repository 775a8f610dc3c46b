#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_DOCUMENT_VECTORS_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_DOCUMENT_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/store.h"
#include "core/store/tables/vector_stores/documents.h"

/*
 * document_vectors.h -- the two steps of a document that gets vectors.
 *
 *   parsing --cut--> parsing, its texts, chunks and words stored --vectors--> ... --publish--> ready
 *
 * The model may take hours, and costs money. So the first step is kept, and vectors are stored as they come: who
 * claims the document after a crash, or when the model is back, begins at the first chunk without a vector.
 * Nothing is searched before it is ready. Everything carries the fence, and ERR_CANCELLED is as in documents.h.
 */

/* Stores the first step, and says so in `work`. A cut document is claimed with `work->cut`. */
enum err_code store_document_cut(struct store *store, struct document_work *work,
                                 const struct document_made *made, struct err *err) MUST_CHECK;

/* The chunks of a cut document from `first` on, at most `limit`, in their order; the pages are left out. The caller
 * frees with document_chunks_free(). */
enum err_code store_document_chunks(struct store *store, const struct document_work *work,
                                    size_t first, size_t limit,
                                    struct document_chunk **ret_chunks, size_t *ret_count,
                                    struct err *err) MUST_CHECK;
void document_chunks_free(struct document_chunk *chunks, size_t count);

/* Stores the vectors of the next `count` chunks, in the table of pgvector.h if that is used, and counts them in `work`.
 * Its attempts and tries begin anew. */
enum err_code store_document_embedded(struct store *store, struct document_work *work,
                                      const float *vectors, size_t count, uint32_t dimensions,
                                      struct err *err) MUST_CHECK;

/* The next vectors of a document whose chunks all have one: those of the chunks from `first` on, as many as were stored
 * in DOCUMENT_VECTORS calls. The caller frees. ERR_INTERNAL: they do not fit the dimensions, or a chunk has none. */
#define DOCUMENT_VECTORS ((size_t)4)
enum err_code store_document_vectors(struct store *store, const struct document_work *work,
                                     uint32_t dimensions, size_t first, float **ret_vectors,
                                     size_t *ret_count, struct err *err) MUST_CHECK;

/* Begins the vectors of a document anew: what is stored does not fit. */
enum err_code store_document_unembed(struct store *store, struct document_work *work,
                                     struct err *err) MUST_CHECK;

/* As store_document_publish(), of a cut document. `segment` are the bytes that come behind its words; NULL: it has no
 * vectors, and is a document of words alone. */
enum err_code store_document_publish_cut(struct store *store, const struct document_work *work,
                                         const void *segment, size_t size,
                                         struct err *err) MUST_CHECK;
/* The same of one whose vectors are rows of a table (pgvector.h), so many bytes. */
enum err_code store_document_publish_rows(struct store *store, const struct document_work *work,
                                          uint64_t bytes, struct err *err) MUST_CHECK;

#endif
