#ifndef RUNNEL_CORE_STORE_TABLES_FILES_FILE_SQL_H
#define RUNNEL_CORE_STORE_TABLES_FILES_FILE_SQL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"

/*
 * file_sql.h -- steps of transactions that make files or keep bytes.
 */

struct db;
struct db_rows;
struct db_statement;
struct store;

#define FILES_NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

/* It has not expired. `row`: the name of the files in the statement. */
#define FILE_ALIVE(row) "(" row ".expires_at IS NULL OR " row ".expires_at > " FILES_NOW ")"

enum err_code file_not_found(const char *id, struct err *err);

/* ERR_STORE if the blob is gone. */
enum err_code blob_hold(struct db *db, const struct tenant *tenant, const char *blob_id,
                        struct err *err) MUST_CHECK;

/* Locks the file's row until the end, so that a deletion waits, and then finds what was made of the file. False: it is
 * gone, or has other bytes meanwhile. */
enum err_code file_share(struct db *db, const struct tenant *tenant,
                         const struct file_row *file, bool *ret_found,
                         struct err *err) MUST_CHECK;

/* What is kept of a file's bytes by a version of the program: `select` binds project, file, blob and version. One row,
 * or ERR_NOT_FOUND. */
enum err_code file_find_kept(struct store *store, const struct db_statement *select,
                             const struct tenant *tenant, const struct file_row *file,
                             int version, struct db_rows **ret_rows,
                             struct err *err) MUST_CHECK;

/* Forgets what was kept of a file: `delete` binds project and file, and returns the bytes of what it has deleted. 0:
 * nothing was kept. */
enum err_code file_forget_kept(struct db *db, const struct db_statement *delete,
                               const struct tenant *tenant, const char *file_id,
                               int64_t *ret_bytes, struct err *err) MUST_CHECK;

/* In the transaction that has deleted a file, or given it other bytes: forgets its pictures. *ret_bytes: how many they
 * had, for storage_count_documents(). */
enum err_code file_pictures_forget_in(struct db *db, const struct tenant *tenant,
                                      const char *file_id, int64_t *ret_bytes,
                                      struct err *err) MUST_CHECK;

/* The row, and its hold on the blob; not its bytes. */
enum err_code file_insert(struct db *db, const struct tenant *tenant,
                          const struct file_row *row, struct err *err) MUST_CHECK;

#endif
