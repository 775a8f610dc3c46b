#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_SEARCH_SET_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_SEARCH_SET_H

#include <stdbool.h>
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
 * The set is exact: of this project, in these stores, not expired, with a document that is ready, and past the filter.
 * Each search asks the database for it, or for the marks of its stores, which say whether a set that was read before
 * is still theirs.
 */

/* Where a store stands: as long as `text` is the same, so is its set. It has the version of the store, and what nodes
 * of the release before move, which do not know of versions. */
struct search_mark {
    char text[160];
    bool used; /* within the last minute, so a use of it need not be noted */
};

/* Of each store. ERR_NOT_FOUND, ERR_INVALID with REASON_STORE_EXPIRED: of the first that is missing or has expired. */
enum err_code store_search_marks(struct store *store, const struct tenant *tenant,
                                 const char *const *stores, size_t count,
                                 struct search_mark *ret_marks, struct err *err) MUST_CHECK;

/* A file in a store. Of a document that several of them name, the first counts. */
struct searched_file {
    char document_id[ID_SIZE];
    char file_id[ID_LIMIT + 1];
    char store_id[ID_LIMIT + 1];
    uint64_t usage_bytes; /* at least its segment's; 0: not known */
    size_t place;         /* for the caller */
};

/* All files of one store, in any order, and its mark at the same moment. No files and the mark "": it has gone or
 * expired meanwhile. The caller frees. */
enum err_code store_search_all(struct store *store, const struct tenant *tenant,
                               const char *store_id, struct search_mark *ret_mark,
                               struct searched_file **ret_files, size_t *ret_count,
                               struct err *err) MUST_CHECK;

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
