#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_VARIABLE_SQL_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_VARIABLE_SQL_H

#include "core/domain/tenant.h"
#include "core/domain/variable.h"
#include "core/store/pg/batch.h"
#include "core/store/pg/db.h"
#include "core/store/tables/runs/upserts.h"

/*
 * variable_sql.h -- statements about variables that other files of core/store have in their own
 * transactions.
 */

/* Before the variables of scopes $2, of projects $1 (arrays), are changed. Comes after the locks of
 * threads, leases and runs. */
extern const struct db_statement variables_lock;
enum err_code variables_lock_scope(struct db *db, const struct tenant *tenant,
                                   const char *scope, struct err *err) MUST_CHECK;

/* What a run brings, or its tools gave, on the way with a write of the run: instead of whatever had the
 * name, and no name twice. */
extern const struct db_statement variables_upsert;
void variable_add(struct batch *batch, const struct row_owner *owner, const char *scope,
                  const struct variable *variable);

/* After it, or after any other change: what is beyond the limits of the scopes $2, of projects $1,
 * goes. Then $3 is VARIABLE_COUNT_LIMIT and $4 VARIABLE_BYTES_LIMIT. */
extern const struct db_statement variables_evict;
/* The same for one scope. */
enum err_code variables_evict_scope(struct db *db, const struct tenant *tenant,
                                    const char *scope, struct err *err) MUST_CHECK;

/* All three: locks the scope, puts them, evicts. */
enum err_code variables_add(struct db *db, const struct row_owner *owner, const char *scope,
                            const struct variable *variables, size_t count,
                            struct err *err) MUST_CHECK;

/* All that the scope itself has. Locks it. */
enum err_code variables_forget(struct db *db, const struct tenant *tenant, const char *scope,
                               struct err *err) MUST_CHECK;

/* Thread `to` gets those of thread `from`: instead of its own, or beside them. Locks the scope itself.
 * Of those that are kept, no more stay so than VARIABLE_KEEP_LIMIT. */
enum err_code variables_copy(struct db *db, const struct tenant *tenant, const char *to,
                             const char *from, struct err *err) MUST_CHECK;
enum err_code variables_merge(struct db *db, const struct tenant *tenant, const char *to,
                              const char *from, struct err *err) MUST_CHECK;

#endif
