#ifndef RUNNEL_CORE_INGEST_QUERY_VECTORS_H
#define RUNNEL_CORE_INGEST_QUERY_VECTORS_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/ingest/vector_model.h"

/*
 * query_vectors.h -- vectors of queries: of the last QUERY_VECTORS from memory, of others from the model.
 *
 * A model often searches twice for the same in one turn, and people ask what others of their project have asked. Each
 * project knows only its own: otherwise the time of a search would say whether another project has searched the same.
 *
 * Any thread that may wait.
 */

#define QUERY_VECTORS 1024

struct embeddings;
struct query_vectors;
struct tenant; /* core/domain/tenant.h */

struct query_vectors *query_vectors_new(struct embeddings *embeddings); /* borrowed */
void query_vectors_free(struct query_vectors *vectors);                 /* NULL is fine */

/* Fills the vectors of `count` texts, at most SEARCH_QUERIES_LIMIT, into *ret_vectors, one after the other. What this
 * project has not in memory is asked for in one request. The caller frees. Errors as in embeddings.h, and ERR_CONFLICT:
 * the model has failed, and rests (model_rest.h). */
enum err_code query_vectors_find(struct query_vectors *vectors, const struct tenant *tenant,
                                 const struct vector_space *space, const char *const *texts,
                                 size_t count, double seconds, float **ret_vectors,
                                 struct err *err) MUST_CHECK;

#endif
