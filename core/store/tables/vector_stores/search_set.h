#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_SEARCH_SET_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_SEARCH_SET_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/filter.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * search_set.h -- what a search may see, and the texts of what it has found.
 *
 * The set is asked of the database for each search, so it is exact: of this project, in these stores, not
 * expired, with a document that is ready, and past the filter.
 */

/* A file in a store. Of a document that several of them name, the first counts. */
struct searched_file {
    char document_id[ID_SIZE];
    char file_id[ID_LIMIT + 1];
    char store_id[ID_LIMIT + 1];
    uint64_t usage_bytes; /* at least its segment's; 0: not known */
    size_t place;         /* for the caller */
};

/* In the order of `stores`, then of files. `filter` NULL: all files. The caller frees. */
enum err_code store_search_set(struct store *store, const struct tenant *tenant,
                               const char *const *stores, size_t store_count,
                               const struct filter *filter, struct searched_file **ret_files,
                               size_t *ret_count, struct err *err) MUST_CHECK;

/* Gets a segment that was read, whole and in malloc'ed memory; takes it. */
typedef void segment_take(void *arg, const char *document_id, char *bytes, size_t size);

/* Reads the segments of these documents. One that is gone is left out. */
enum err_code store_segments_read(struct store *store, const struct tenant *tenant,
                                  const char *const *document_ids, size_t count,
                                  segment_take *take, void *arg, struct err *err) MUST_CHECK;

struct found_chunk {
    const struct searched_file *file; /* borrowed */
    uint32_t n;
    /* Filled in, the caller's; NULL if it went meanwhile: */
    char *text, *heading, *filename, *attributes;
    size_t page;
};
void found_chunk_clear(struct found_chunk *chunk);

/* Fills in chunks by their file and `n`. */
enum err_code store_chunks_read(struct store *store, const struct tenant *tenant,
                                struct found_chunk *chunks, size_t count,
                                struct err *err) MUST_CHECK;

#endif
