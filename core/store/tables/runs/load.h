#ifndef RUNNEL_CORE_STORE_TABLES_RUNS_LOAD_H
#define RUNNEL_CORE_STORE_TABLES_RUNS_LOAD_H

#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/conversations.h"

/*
 * load.h -- a run with everything that its loop needs, read inside a caller's transaction.
 */

/* A lease's row, locked until the transaction ends. */
struct lease_row {
    bool exists;
    char owner[2 * ID_SIZE]; /* "" for none */
    bool expired;            /* it has expired, or its owner was an earlier boot of this node */
};

/* The node of "node_x/boot_y". The caller frees. */
char *node_of(const char *node_id);

enum err_code lease_lock(struct db *db, const struct tenant *tenant, const char *run_id,
                         struct lease_row *ret_lease, struct err *err) MUST_CHECK;

/* The number of the last event that the run of `run_leases l` has in the log. A write of frames
 * alone does not update the lease, which would cost as much again. So the log is read as well.
 * Its rows exist for as long as the lease. */
#define LEASE_LAST_SEQ                                           \
    "greatest(l.last_seq, (SELECT e.last_seq FROM run_events e"  \
    " WHERE e.project_id = l.project_id AND e.run_id = l.run_id" \
    " AND e.run_created_at = l.queued_at ORDER BY e.first_seq DESC LIMIT 1))"

/* Sets load->next_seq and log_open. The statement must follow the one that locked the lease:
 * only then does it see everything that the last owner wrote. */
enum err_code lease_read_log(struct db *db, const struct tenant *tenant, const char *run_id,
                             struct run_load *load, struct err *err) MUST_CHECK;

/* Makes this node the owner, with a new fence. Sets load->fence, lease_until and the numbers after
 * them. The lease is locked. */
enum err_code lease_take(struct db *db, const struct tenant *tenant, const char *run_id,
                         struct run_load *load, struct err *err) MUST_CHECK;

/* Whether a row of `runs r` is what a path names. With the thread $3: a run of Assistants.
 * Without: a response that was not deleted. */
#define RUN_MATCHES                                                                 \
    "CASE WHEN $3::text IS NULL THEN r.face = 'responses' AND r.deleted_at IS NULL" \
    " ELSE r.face = 'assistants' AND r.thread_id = $3 END"

/* Reads one run. ERR_NOT_FOUND as store_run_get(). */
enum err_code run_find(struct db *db, const struct tenant *tenant, const char *thread_id,
                       const char *run_id, struct run_row *ret_run, struct err *err) MUST_CHECK;
enum err_code fail_no_run(const char *thread_id, const char *run_id, struct err *err);

enum err_code thread_insert(struct db *db, const struct tenant *tenant,
                            const struct thread_row *thread, struct err *err) MUST_CHECK;

/* Locks the thread: until the transaction ends nothing else is appended to it, and no run
 * starts in it. The next item has the position *ret_position. ERR_NOT_FOUND and ERR_CONFLICT as
 * store_run_create(). */
enum err_code thread_lock_idle(struct db *db, const struct tenant *tenant,
                               const char *thread_id, int64_t *ret_position,
                               struct err *err) MUST_CHECK;

/* Loads the items, steps and calls of load->run, whose row is loaded already. */
enum err_code load_rest(struct db *db, const struct tenant *tenant,
                        const struct load_span *span, struct run_load *load,
                        struct err *err) MUST_CHECK;

/* The newest items of a thread, or of the chain of a response; oldest first. The items of the run
 * `own`, or "", are the newest and do not count. *ret_cut: there are more items than the limit. Of those
 * only the rules, which are system and developer messages, were loaded. */
enum err_code load_thread_items(struct db *db, const struct tenant *tenant,
                                const char *thread_id, const char *own,
                                const struct load_span *span, struct item_row **ret_items,
                                size_t *ret_count, bool *ret_cut, struct err *err) MUST_CHECK;
enum err_code load_chain_items(struct db *db, const struct tenant *tenant, const char *run_id,
                               const char *own, size_t limit, struct item_row **ret_items,
                               size_t *ret_count, bool *ret_cut, struct err *err) MUST_CHECK;

/* The calls of a run's last turn. */
enum err_code load_calls(struct db *db, const struct tenant *tenant, const char *run_id,
                         struct call_row **ret_calls, size_t *ret_count,
                         struct err *err) MUST_CHECK;

#endif
