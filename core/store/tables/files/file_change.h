#ifndef RUNNEL_CORE_STORE_TABLES_FILES_FILE_CHANGE_H
#define RUNNEL_CORE_STORE_TABLES_FILES_FILE_CHANGE_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

struct store_file_new; /* core/store/tables/vector_stores/store_files.h */

/*
 * file_change.h -- files that a tool writes: made with their place in a vector store, or given other bytes.
 *
 * A file that gets other bytes keeps its id, so everything that names it stays right: messages, stores, citations. Its
 * row changes from one blob to another, and only if it still holds the blob that the caller has read. In the same
 * transaction the file is attached anew to all its stores. They search the old text until the new one is ready
 * (store_files.h).
 *
 * Each function is one transaction: after an error nothing has changed. The blob must be written before.
 */

/* Stores that a file may be in for its bytes to change: all of them are locked together. */
#define FILE_CHANGE_STORES 100

/* Makes the file, and attaches it to a store, if one is named, as `attached` says. Errors as store_file_create() and
 * store_files_attach(). */
enum err_code store_file_make(struct store *store, const struct tenant *tenant, uint64_t limit,
                              const struct file_row *row, const char *store_id,
                              const struct store_file_new *attached,
                              struct err *err) MUST_CHECK;

/* The file `row` gets the bytes of `blob`. ERR_CONFLICT: it no longer holds row->blob_id, or its stores changed
 * meanwhile. ERR_NOT_FOUND as store_file_get(). ERR_INVALID with REASON_STORAGE_QUOTA: the project would have more than
 * `limit` bytes (0: no limit), and the file more than before; or it is in a store, and store_set_storage_limit() is
 * reached. ERR_LIMIT: it is in more than FILE_CHANGE_STORES stores. */
enum err_code store_file_replace(struct store *store, const struct tenant *tenant,
                                 uint64_t limit, const struct file_row *row,
                                 const struct blob_row *blob, struct err *err) MUST_CHECK;

#endif
