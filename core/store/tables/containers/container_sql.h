#ifndef RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINER_SQL_H
#define RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINER_SQL_H

#include "core/base/err.h"
#include "core/domain/tenant.h"

/*
 * container_sql.h -- steps of transactions that end containers.
 */

#define CONTAINER_NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

struct db;

/* The rows of its files go, and let go of their copies. */
enum err_code container_files_forget(struct db *db, const struct tenant *tenant,
                                     const char *container_id, struct err *err) MUST_CHECK;

/* The container of a thread that goes ends, too; its node removes the folder. */
enum err_code container_end_owned(struct db *db, const struct tenant *tenant,
                                  const char *owner_id, struct err *err) MUST_CHECK;

#endif
