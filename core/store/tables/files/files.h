#ifndef RUNNEL_CORE_STORE_TABLES_FILES_FILES_H
#define RUNNEL_CORE_STORE_TABLES_FILES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/idempotency.h"

/*
 * files.h -- files as rows. A file holds a blob; tools may give it another one (file_change.h). It is deleted or
 * expires.
 *
 * ERR_NOT_FOUND is "No such File object: X", param "id". A file that has expired counts as gone
 * from that moment, by the database's clock.
 */

/* Makes the file and holds its blob, which must be written. A request whose key was used before makes nothing:
 * *row becomes the file that the first one made, with another blob_id. ERR_INVALID with
 * REASON_STORAGE_QUOTA if the project's files, with what was indexed of them, would have more than `limit` bytes (0: no
 * limit). */
enum err_code store_file_create(struct store *store, const struct tenant *tenant,
                                const struct idempotency *idempotency, uint64_t limit,
                                struct file_row *row, struct err *err) MUST_CHECK;

/* From now on files are attached to vector stores only while their project has fewer bytes; 0: no limit. An index may
 * bring it beyond. Any thread. */
void store_set_storage_limit(struct store *store, uint64_t bytes);

enum err_code store_file_get(struct store *store, const struct tenant *tenant, const char *id,
                             struct file_row *ret_row, struct err *err) MUST_CHECK;

/* For requests that name many files: the index of the first that is missing. False: all are there. */
enum err_code store_files_missing(struct store *store, const struct tenant *tenant,
                                  const char *const *ids, size_t count, bool *ret_missing,
                                  size_t *ret_index, struct err *err) MUST_CHECK;

/* Those of the ids that are there, in the order of `ids`; the caller frees with file_rows_free(). */
enum err_code store_files_named(struct store *store, const struct tenant *tenant,
                                const char *const *ids, size_t count,
                                struct file_row **ret_rows, size_t *ret_count,
                                struct err *err) MUST_CHECK;

/* In the order of their ids. `purpose` NULL: all. */
enum err_code store_file_list(struct store *store, const struct tenant *tenant,
                              const char *purpose, const struct page *page,
                              struct file_row **ret_rows, size_t *ret_count, bool *ret_more,
                              struct err *err) MUST_CHECK;

/* Lets go of the blob, which the keeper removes later, so that a download under way comes to its end. */
enum err_code store_file_delete(struct store *store, const struct tenant *tenant,
                                const char *id, struct err *err) MUST_CHECK;

/* For the keeper: deletes up to `limit` files that have expired, of all projects. */
enum err_code store_files_expire(struct store *store, size_t limit, size_t *ret_count,
                                 struct err *err) MUST_CHECK;

#endif
