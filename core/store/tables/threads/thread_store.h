#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_THREAD_STORE_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_THREAD_STORE_H

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/vector_stores/vector_stores.h"

/*
 * thread_store.h -- the vector store of a thread that is there. For core/store only.
 *
 * It is the one that `tool_resources` names, and takes the files that messages attach. One that was deleted or has
 * expired is replaced.
 */

/* Inside a transaction that has locked the thread, so two at once do not make two stores: attaches the files of
 * `filling` to the thread's store. Without one that lives, its store is made and named by the thread. `ret_id` is the
 * store in which the files are. ERR_CONFLICT with the place THREAD_STORE_PLACE: the store ended between the look at it
 * and its use. Another transaction makes a new one. */
enum err_code thread_store_fill(struct db *db, const struct tenant *tenant,
                                const char *thread_id, const struct store_filling *filling,
                                char ret_id[ID_LIMIT + 1], struct err *err) MUST_CHECK;

/* For a thread `to` that names the store of `from`, whose copy it is: a store of its own, with the same files, if that
 * one was made for `from`. Any other is shared. Inside a transaction that has made `to`, and has locked no store. */
enum err_code thread_store_fork(struct db *db, const struct tenant *tenant, const char *from,
                                const char *to, struct err *err) MUST_CHECK;

#endif
