#ifndef RUNNEL_CORE_INGEST_VECTOR_INDEX_H
#define RUNNEL_CORE_INGEST_VECTOR_INDEX_H

#include <stdint.h>

#include "core/base/err.h"

/*
 * vector_index.h -- a thread that makes the index of pgvector.
 *
 * That may take hours (core/store/tables/vector_stores/pgvector.h). A worker of ingestion must not wait for it: it
 * holds a document, and others wait for its turn. So a worker only says which model has vectors, and goes on. Rows are
 * written and found without an index, too. What fails is tried again a minute later.
 */

struct store;
struct vector_index;

/* What is written to `stop_fd` ends the making; both are borrowed until vector_index_stop(). */
enum err_code vector_index_start(struct store *store, int stop_fd,
                                 struct vector_index **ret_index, struct err *err) MUST_CHECK;

/* The model has vectors, of so many dimensions. Any thread; never waits. Costs nothing when its index is there. NULL is
 * fine. */
void vector_index_want(struct vector_index *index, int model, uint32_t dimensions);

/* Ends the thread; `stop_fd` was written to. Frees. NULL is fine. */
void vector_index_stop(struct vector_index *index);

#endif
