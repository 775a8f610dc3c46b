#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_STORE_FILES_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_STORE_FILES_H

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

/*
 * store_files.h -- files in vector stores, and the batches that they were attached in.
 *
 * A file is attached at once, and ready later: a document (documents.h) is queued for it, or one that is
 * there already is used. What it has become of stands in its status.
 *
 * ERR_NOT_FOUND: "No vector store found with id 'X'.", and alike for a batch or a file of the store. A file that does
 * not exist at all is "No such File object: X". ERR_INVALID with REASON_STORE_EXPIRED, to attach.
 */

struct store_file_row {
    char file_id[ID_LIMIT + 1];
    char store_id[ID_LIMIT + 1];
    char document_id[ID_SIZE];
    enum store_file_status status;
    char *attributes; /* JSON object, "{}" without any */
    int chunk_tokens, overlap_tokens;
    char *error_code, *error_message; /* of a failed one, else NULL */
    uint64_t usage_bytes;             /* 0 unless it is completed */
    int64_t created_at;
    size_t pages, chunks; /* as far as they are known */
    char *filename;       /* NULL: the file is gone */
    uint64_t file_bytes;
};
void store_file_row_clear(struct store_file_row *row);
void store_file_rows_free(struct store_file_row *rows, size_t count);

struct file_batch_row {
    char id[ID_LIMIT + 1];
    char store_id[ID_LIMIT + 1];
    bool cancelled;
    int64_t created_at;
    uint64_t counts[STORE_FILE_STATUS_COUNT]; /* of the files that were last attached by it */
};

/* A file to be attached. Borrowed. */
struct store_file_new {
    const char *file_id;
    const char *attributes; /* JSON object; NULL: none, or those that it has */
    int chunk_tokens, overlap_tokens;
};

/* Attaches the files, or none. Each file once. One that is attached already keeps its place in lists, and is tried anew
 * if it failed or was cancelled; with another chunking it is searched as before until the new one is ready. */
enum err_code store_files_attach(struct store *store, const struct tenant *tenant,
                                 const char *store_id, const struct store_file_new *files,
                                 size_t count, struct err *err) MUST_CHECK;

/* The same as a batch. Needs id and store_id of the row; the rest is filled in. A request whose key was used before
 * makes nothing: *row becomes what the first one made. */
enum err_code store_file_batch_create(struct store *store, const struct tenant *tenant,
                                      const struct idempotency *idempotency,
                                      const struct store_file_new *files, size_t count,
                                      struct file_batch_row *row, struct err *err) MUST_CHECK;

enum err_code store_file_batch_get(struct store *store, const struct tenant *tenant,
                                   const char *store_id, const char *id,
                                   struct file_batch_row *ret_row, struct err *err) MUST_CHECK;

/* What is in progress is cancelled from now on. A batch that has ended is left as it is. */
enum err_code store_file_batch_cancel(struct store *store, const struct tenant *tenant,
                                      const char *store_id, const char *id,
                                      struct file_batch_row *ret_row,
                                      struct err *err) MUST_CHECK;

enum err_code store_store_file_get(struct store *store, const struct tenant *tenant,
                                   const char *store_id, const char *file_id,
                                   struct store_file_row *ret_row, struct err *err) MUST_CHECK;

/* By the time at which they were attached. */
struct store_file_filter {
    const char *store_id;
    const char *batch_id; /* NULL: all of the store */
    const char *status;   /* NULL: all */
};
enum err_code store_store_file_list(struct store *store, const struct tenant *tenant,
                                    const struct store_file_filter *filter,
                                    const struct page *page, struct store_file_row **ret_rows,
                                    size_t *ret_count, bool *ret_more,
                                    struct err *err) MUST_CHECK;

/* Replaces the attributes, JSON. The next search sees them. */
enum err_code store_store_file_modify(struct store *store, const struct tenant *tenant,
                                      const char *store_id, const char *file_id,
                                      const char *attributes, struct store_file_row *ret_row,
                                      struct err *err) MUST_CHECK;

/* Takes the file out of the store. One that is in progress is no longer waited for. */
enum err_code store_store_file_delete(struct store *store, const struct tenant *tenant,
                                      const char *store_id, const char *file_id,
                                      struct err *err) MUST_CHECK;

#endif
