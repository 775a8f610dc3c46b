#ifndef RUNNEL_SERVER_ENCODE_ENCODE_VECTOR_STORE_H
#define RUNNEL_SERVER_ENCODE_ENCODE_VECTOR_STORE_H

#include <jansson.h>

#include "core/ingest/search.h"
#include "core/store/tables/vector_stores/vector_stores.h"

/*
 * encode_vector_store.h -- vector stores, their files and batches, and what a search found, as objects of the API.
 *
 * Each function returns a new reference. Pure functions: any thread.
 */

json_t *encode_vector_store(const struct vector_store_row *row);
json_t *encode_store_file(const struct store_file_row *row);
json_t *encode_file_batch(const struct file_batch_row *row);

/* The whole page; takes `queries`, the list of what was searched. */
json_t *encode_search_page(json_t *queries, const struct search_result *result);

#endif
