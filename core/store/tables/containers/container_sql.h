#ifndef RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINER_SQL_H
#define RUNNEL_CORE_STORE_TABLES_CONTAINERS_CONTAINER_SQL_H

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"

/*
 * container_sql.h -- steps of transactions that end containers.
 */

#define CONTAINER_NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

/* Of a row of `nodes n`: it has renewed that within a lease, as it does with those of its runs. */
#define CONTAINER_NODE_LIVES(lease) "n.seen_at >= " CONTAINER_NOW " - " lease "::bigint"

struct db;

/* The node of the running container `id`, or else of that of `owner_id`, if it is another node than this one, lives,
 * and is not going down; else "". */
enum err_code container_node_find(struct db *db, const struct tenant *tenant, const char *id,
                                  const char *owner_id, char ret_node[ID_SIZE],
                                  struct err *err) MUST_CHECK;

/* Locks a container that runs under this epoch. ERR_NOT_FOUND */
enum err_code container_lock(struct db *db, const struct tenant *tenant, const char *id,
                             int64_t epoch, struct err *err) MUST_CHECK;

/* The rows of its files go, and let go of their copies; so do its archive and its skills. */
enum err_code container_files_forget(struct db *db, const struct tenant *tenant,
                                     const char *container_id, struct err *err) MUST_CHECK;

/* The container of a thread that goes ends, too; its node removes the folder. */
enum err_code container_end_owned(struct db *db, const struct tenant *tenant,
                                  const char *owner_id, struct err *err) MUST_CHECK;

#endif
