#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_VECTOR_STORES_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_VECTOR_STORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/rows.h"
#include "core/domain/status/store_file_status.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/idempotency.h"
#include "core/store/tables/vector_stores/store_files.h"

/*
 * vector_stores.h -- sets of files that are searched together.
 *
 * A store that was not used for its days expires: its files leave it, and it is shown until it is
 * deleted. By the database's clock that holds from the moment on, whether the keeper was there or not. Uses are: making
 * it, attaching files, searching, and a run that has it.
 *
 * ERR_NOT_FOUND is "No vector store found with id 'X'.". ERR_INVALID with REASON_STORE_EXPIRED: the store has expired.
 */

/* Files of one store. */
#define VECTOR_STORE_FILES_LIMIT 10000

struct vector_store_row {
    char id[ID_LIMIT + 1];
    char *name;        /* "" without one */
    char *description; /* NULL without one */
    char *metadata;    /* JSON object */
    int expires_days;  /* 0: never */
    int64_t expires_at;
    int64_t last_active_at;
    int64_t created_at;
    bool expired;
    uint64_t usage_bytes;
    uint64_t counts[STORE_FILE_STATUS_COUNT]; /* files by status; all 0 once it has expired */
};
void vector_store_row_clear(struct vector_store_row *row);
void vector_store_rows_free(struct vector_store_row *rows, size_t count);

/* Makes the store with its files, or nothing. Needs id, name, description, metadata, expires_days and created_at
 * of the row; the rest is filled in. A request whose key was used before makes nothing: *row becomes what the
 * first one made. Errors of store_files_attach() too. */
enum err_code store_vector_store_create(struct store *store, const struct tenant *tenant,
                                        const struct idempotency *idempotency,
                                        const struct store_file_new *files, size_t count,
                                        struct vector_store_row *row,
                                        struct err *err) MUST_CHECK;

/* A store that is made in the transaction of what it is made for: an assistant or a thread and its store are there
 * together, or neither is. Borrowed; the row needs what store_vector_store_create() needs. */
struct store_filling {
    const struct vector_store_row *store; /* NULL: the files go into a store that is there */
    const char *store_id;                 /* its id */
    const struct store_file_new *files;
    size_t count;
};

/* The place of an ERR_CONFLICT: the thread has got another vector store since it was read, or its store is gone or has
 * expired meanwhile. Another transaction finds what holds now. */
#define THREAD_STORE_PLACE "thread_store"

enum err_code store_vector_store_get(struct store *store, const struct tenant *tenant,
                                     const char *id, struct vector_store_row *ret_row,
                                     struct err *err) MUST_CHECK;

enum err_code store_vector_store_list(struct store *store, const struct tenant *tenant,
                                      const struct page *page,
                                      struct vector_store_row **ret_rows, size_t *ret_count,
                                      bool *ret_more, struct err *err) MUST_CHECK;

/* What a request changes. NULL, and `expires_days` of VECTOR_STORE_KEEP: as it is. 0 days: it never expires. */
#define VECTOR_STORE_KEEP (-1)
struct vector_store_change {
    const char *name;
    const char *metadata;
    int expires_days;
};

/* An expired store is refused. */
enum err_code store_vector_store_modify(struct store *store, const struct tenant *tenant,
                                        const char *id,
                                        const struct vector_store_change *change,
                                        struct vector_store_row *ret_row,
                                        struct err *err) MUST_CHECK;

/* Its files stay; what was made of them for this store alone is swept. */
enum err_code store_vector_store_delete(struct store *store, const struct tenant *tenant,
                                        const char *id, struct err *err) MUST_CHECK;

/* For requests that name stores: are they all there, and not expired? *ret_bad, if not NULL, is the index of the first
 * that is not. */
enum err_code store_vector_stores_check(struct store *store, const struct tenant *tenant,
                                        const char *const *ids, size_t count, size_t *ret_bad,
                                        struct err *err) MUST_CHECK;

/* Which stores have files in progress, of any projects: pairs of a project and an id. One that is gone or has expired
 * has none. A file that ends, or leaves its store, is announced by WAKEUP_FILES. */
enum err_code store_vector_stores_busy(struct store *store, const char *const *projects,
                                       const char *const *ids, size_t count, bool *ret_busy,
                                       struct err *err) MUST_CHECK;

/* Notes a use of the stores, at most once a minute each. Those that are gone or expired are left alone. */
enum err_code store_vector_stores_touch(struct store *store, const struct tenant *tenant,
                                        const char *const *ids, size_t count,
                                        struct err *err) MUST_CHECK;

/* For the keeper: removes the files of up to `limit` stores that have expired, of all projects. */
enum err_code store_vector_stores_expire(struct store *store, size_t limit, size_t *ret_count,
                                         struct err *err) MUST_CHECK;

#endif
