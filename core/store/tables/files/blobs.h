#ifndef RUNNEL_CORE_STORE_TABLES_FILES_BLOBS_H
#define RUNNEL_CORE_STORE_TABLES_FILES_BLOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * blobs.h -- the rows of blobs, and the pages of those that lie in the database.
 *
 * For core/blob, which says what a blob is. Its row is made before its first byte is kept and goes after
 * its last byte was removed. In between it is one of:
 *
 *   being written   `bytes` is NULL. No file may read or hold it.
 *   written         it may be read, and held by rows of other tables
 *   being removed   `holders` is -1. It can no longer be held.
 *
 * What nobody holds is removed a while after its last change: what a crash has left, what was let go, what was
 * written and never used. Times are the database's, because several nodes compare them.
 *
 * ERR_NOT_FOUND: there is no such blob, or not in the state that the function needs.
 */

/* Bytes of a page; the last of a blob may be shorter. */
#define BLOB_PAGE ((size_t)1 << 20)

/* A row that is being written: its id, place and home. */
enum err_code store_blob_begin(struct store *store, const struct tenant *tenant,
                               const struct blob_row *row, struct err *err) MUST_CHECK;
/* It is still being written. */
enum err_code store_blob_touch(struct store *store, const struct tenant *tenant, const char *id,
                               struct err *err) MUST_CHECK;
/* All bytes are kept: notes the row's `bytes` and `sha256`. ERR_NOT_FOUND if it was removed meanwhile. */
enum err_code store_blob_written(struct store *store, const struct tenant *tenant,
                                 const struct blob_row *row, struct err *err) MUST_CHECK;
/* One that is written, held or not. */
enum err_code store_blob_get(struct store *store, const struct tenant *tenant, const char *id,
                             struct blob_row *ret_row, struct err *err) MUST_CHECK;

/* From now on no row can hold it. ERR_NOT_FOUND also if one does. */
enum err_code store_blob_doom(struct store *store, const struct tenant *tenant, const char *id,
                              struct blob_row *ret_row, struct err *err) MUST_CHECK;
/* Its bytes are removed: so is its row. */
enum err_code store_blob_forget(struct store *store, const struct tenant *tenant,
                                const char *id, struct err *err) MUST_CHECK;

/* Page n of a blob that is being written, of at most BLOB_PAGE bytes. The row is locked meanwhile: no page is
 * added to a blob that the keeper has begun to remove. */
enum err_code store_blob_page_write(struct store *store, const struct tenant *tenant,
                                    const char *id, int64_t n, const void *bytes, size_t size,
                                    struct err *err) MUST_CHECK;
/* `size` bytes of page n from byte `at`. ERR_NOT_FOUND if they are not all there. */
enum err_code store_blob_page_read(struct store *store, const struct tenant *tenant,
                                   const char *id, int64_t n, size_t at, void *ret_bytes,
                                   size_t size, struct err *err) MUST_CHECK;
enum err_code store_blob_pages_remove(struct store *store, const struct tenant *tenant,
                                      const char *id, struct err *err) MUST_CHECK;

/* A blob that has to be removed. */
struct stale_blob {
    struct tenant tenant;
    char id[ID_SIZE];
};

/* For the keeper: what nobody has held for `age_us`, of all projects, longest first. Only what the caller can
 * remove: that in the database, in the directory whose id is `home`, and in the bucket whose id is
 * `bucket`. The caller frees. */
enum err_code store_blobs_stale(struct store *store, const char *home, const char *bucket,
                                int64_t age_us, size_t limit, struct stale_blob **ret_blobs,
                                size_t *ret_count, struct err *err) MUST_CHECK;

#endif
