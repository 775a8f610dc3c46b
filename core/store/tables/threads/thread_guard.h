#ifndef RUNNEL_CORE_STORE_TABLES_THREADS_THREAD_GUARD_H
#define RUNNEL_CORE_STORE_TABLES_THREADS_THREAD_GUARD_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"

/*
 * thread_guard.h -- what stands in the way of changing a thread. For core/store only.
 *
 * Inside a transaction: lock the thread, check that no run of it is active, change it, and
 * check that there was room.
 */

/* A message is an item that a list of messages shows. Items of the roles system and developer,
 * which came through the Responses API, are not. FROM items i. */
#define THREAD_MESSAGES                                                       \
    "i.type = 'message' AND i.role IN ('user', 'assistant') AND NOT i.hidden" \
    " AND i.left_position IS NULL"

/* The run of thread $2 of project $1 that is not final, if any. */
#define THREAD_ACTIVE_RUN                                                  \
    "SELECT r.id FROM runs r WHERE r.project_id = $1 AND r.thread_id = $2" \
    " AND r.status IN ('queued', 'in_progress', 'requires_action', 'cancelling')"

/* ERR_NOT_FOUND with the API's text. */
enum err_code thread_guard_unknown(const char *id, struct err *err);

/* ERR_NOT_FOUND if the thread does not exist. Inside a transaction, or as one of its own. */
enum err_code thread_guard_known(struct db *db, const struct tenant *tenant, const char *id,
                                 struct err *err) MUST_CHECK;
enum err_code thread_guard_known_once(struct store *store, const struct tenant *tenant,
                                      const char *id, struct err *err) MUST_CHECK;

/* Locks the thread: until the transaction ends nothing else is appended to it, and no run
 * starts in it. */
enum err_code thread_guard_lock(struct db *db, const struct tenant *tenant, const char *id,
                                struct err *err) MUST_CHECK;

/* The same for reading: others may read it, too. */
enum err_code thread_guard_share(struct db *db, const struct tenant *tenant, const char *id,
                                 struct err *err) MUST_CHECK;

/* ERR_CONFLICT with the active run, if there is one. */
enum err_code thread_guard_idle(struct db *db, const struct tenant *tenant, const char *id,
                                struct err *err) MUST_CHECK;

/* ERR_CONFLICT if the thread has too many messages now that `end` is behind its last position.
 * Counts only if that is possible: positions are never fewer than messages. */
enum err_code thread_guard_room(struct db *db, const struct tenant *tenant, const char *id,
                                int64_t end, struct err *err) MUST_CHECK;

#endif
