#ifndef RUNNEL_CORE_STORE_PG_COMMIT_H
#define RUNNEL_CORE_STORE_PG_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/store/pg/db.h"

/*
 * commit.h -- a COMMIT whose answer was lost, looked up.
 *
 * When the connection breaks at COMMIT, nothing says whether it happened. For a call that a
 * client would have to repeat, the row that was written is looked up on a new connection: a run
 * that was made must not be reported as an outage. The COMMIT may also be still under way in
 * the database. Then the look-up waits for it, for as long as the call may take.
 */

/* FROM run_leases. */
#define LEASE_UNTIL_US "(extract(epoch FROM lease_until) * 1000000)::bigint"

struct commit_proof {
    const struct tenant *tenant;
    const char *thread_id; /* locked or made by the transaction; NULL or "" for none */
    const char *run_id;
    /* The fence with which this node has taken the lease, 1 if it made the run. 0: the proof is
     * that a cancellation was noted. */
    int64_t fence;
    bool for_another; /* the run was made for another node: its row is the proof. fence: 1 */
    /* The end of that lease, LEASE_UNTIL_US of its row. 0 for a new run: only its maker knows its id. */
    int64_t lease_until;
};

/* As db_commit(). Also ERR_OK when the commit failed and the proof is in the database. */
enum err_code commit_proven(struct db *db, const struct commit_proof *proof,
                            struct err *err) MUST_CHECK;

#endif
