#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_PGVECTOR_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_PGVECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * pgvector.h -- vectors of chunks in a table of the extension pgvector, instead of in the indexes of documents.
 *
 * A row is a chunk: its document, its model and a halfvec. Each model has a partial HNSW index, which is made as soon
 * as the model is known. The words of a document stay in its index (document_segments).
 *
 * The table is no step of migrations/, because a database without the extension has to work, too. It is made when the
 * setting asks for it. Rows go with their documents, also after the setting has changed.
 *
 * All functions block on the database.
 */

/* Smaller sets are compared row by row: a graph behind a strict filter is slower than that. */
#define PGVECTOR_EXACT ((size_t)20000)

/* Beyond these an index is not possible, and all is compared row by row. */
#define PGVECTOR_INDEXED_DIMENSIONS ((uint32_t)4000)

enum pgvector_use {
    PGVECTOR_LEFT, /* not used; looks whether an earlier setting has left a table */
    PGVECTOR_USED, /* makes the extension and the table, if they are missing */
};

/* At the start, once. ERR_INVALID, with a sentence for the operator: the database has no pgvector 0.8 or newer, or its
 * user may not create the extension. */
enum err_code store_pgvector_open(struct store *store, enum pgvector_use use,
                                  struct err *err) MUST_CHECK;

/* Vectors of new documents go into the table, and searches find them there. Any thread. */
bool store_pgvector_is_used(struct store *store);

/* The HNSW index of a model, if it is missing. Costs nothing once it is there. Rows are written and searched without it
 * as well, only slowly. So of all callers, on all nodes, one makes it, and the others go on.
 *
 * The caller may wait for hours: all rows of all models are read. What is written to the descriptor `stop_fd` ends that
 * (-1: nothing), with ERR_CANCELLED. After another failure, which the log has, it is tried again a minute later. */
enum err_code store_pgvector_index(struct store *store, int model, uint32_t dimensions,
                                   int stop_fd, struct err *err) MUST_CHECK;

/* This node knows that it is there. */
bool store_pgvector_is_indexed(struct store *store, int model);

/* ---- Searching ---- */

struct pgvector_query {
    const float *vector; /* `dimensions` numbers, not all of them 0 */
    uint32_t dimensions;
    int model;
    const char *const *documents; /* ids of those that are searched */
    size_t count;
    size_t chunks; /* of these documents together */
};

struct pgvector_hit {
    char document_id[ID_SIZE];
    uint32_t chunk;
    float cosine;
};

/* Whether one of the documents has vectors of the model. The vector of the query is not used. */
enum err_code store_pgvector_has(struct store *store, const struct tenant *tenant,
                                 const struct pgvector_query *query, bool *ret_has,
                                 struct err *err) MUST_CHECK;

/* The nearest chunks, falling by cosine, at most `limit`. A filter never empties the list: what the index does not find
 * is compared row by row. */
enum err_code store_pgvector_near(struct store *store, const struct tenant *tenant,
                                  const struct pgvector_query *query, size_t limit,
                                  struct pgvector_hit *ret_hits, size_t *ret_count,
                                  struct err *err) MUST_CHECK;

/* Fills in the cosine of each hit. One without a vector of the model gets a NAN. `documents`, `count` and `chunks` of
 * the query are not used. */
enum err_code store_pgvector_compare(struct store *store, const struct tenant *tenant,
                                     const struct pgvector_query *query,
                                     struct pgvector_hit *hits, size_t count,
                                     struct err *err) MUST_CHECK;

#endif
