#ifndef RUNNEL_CORE_STORE_TABLES_FILES_FILE_SQL_H
#define RUNNEL_CORE_STORE_TABLES_FILES_FILE_SQL_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"

/*
 * file_sql.h -- steps of transactions that make files or keep bytes.
 */

struct db;

#define FILES_NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

/* It has not expired. `row`: the name of the files in the statement. */
#define FILE_ALIVE(row) "(" row ".expires_at IS NULL OR " row ".expires_at > " FILES_NOW ")"

enum err_code file_not_found(const char *id, struct err *err);

/* ERR_STORE if the blob is gone. */
enum err_code blob_hold(struct db *db, const struct tenant *tenant, const char *blob_id,
                        struct err *err) MUST_CHECK;

/* The row, and its hold on the blob; not its bytes. */
enum err_code file_insert(struct db *db, const struct tenant *tenant,
                          const struct file_row *row, struct err *err) MUST_CHECK;

#endif
