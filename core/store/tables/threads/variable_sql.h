#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_VARIABLE_SQL_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_VARIABLE_SQL_H

#include "core/domain/tenant.h"
#include "core/domain/variable.h"
#include "core/store/pg/batch.h"
#include "core/store/pg/db.h"
#include "core/store/tables/runs/upserts.h"

/*
 * variable_sql.h -- statements about variables for transactions of other files in core/store.
 */

/* Locks the scopes $2 of projects $1 (arrays), before their variables are changed. After the
 * locks of threads, leases and runs. */
extern const struct db_statement variables_lock;
enum err_code variables_lock_scope(struct db *db, const struct tenant *tenant,
                                   const char *scope, struct err *err) MUST_CHECK;

/* Variables that come with a run, or results of its tools, as part of the run's write. They
 * replace variables of the same name. No name may come twice. */
extern const struct db_statement variables_upsert;
void variable_add(struct batch *batch, const struct row_owner *owner, const char *scope,
                  const struct variable *variable);

/* After that, or any other change: evicts variables that are beyond the limits of the scopes $2
 * of projects $1. $3 is VARIABLE_COUNT_LIMIT and $4 VARIABLE_BYTES_LIMIT. */
extern const struct db_statement variables_evict;
/* The same for one scope. */
enum err_code variables_evict_scope(struct db *db, const struct tenant *tenant,
                                    const char *scope, struct err *err) MUST_CHECK;

/* All three steps: locks the scope, stores the variables, evicts. */
enum err_code variables_add(struct db *db, const struct row_owner *owner, const char *scope,
                            const struct variable *variables, size_t count,
                            struct err *err) MUST_CHECK;

/* Deletes all variables of the scope itself. Locks it. */
enum err_code variables_forget(struct db *db, const struct tenant *tenant, const char *scope,
                               struct err *err) MUST_CHECK;

/* Copies the variables of thread `from` to thread `to`: instead of its own, or in addition.
 * Locks the scope itself. At most VARIABLE_KEEP_LIMIT of the copies stay marked as kept. */
enum err_code variables_copy(struct db *db, const struct tenant *tenant, const char *to,
                             const char *from, struct err *err) MUST_CHECK;
enum err_code variables_merge(struct db *db, const struct tenant *tenant, const char *to,
                              const char *from, struct err *err) MUST_CHECK;

#endif
