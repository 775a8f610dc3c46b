#ifndef RUNNEL_CORE_STORE_PG_COMMIT_H
#define RUNNEL_CORE_STORE_PG_COMMIT_H

#include "core/store/pg/db.h"

/*
 * commit.h -- a COMMIT whose answer got lost, looked up.
 *
 * When the connection breaks at COMMIT nobody knows whether it happened. For what a client would
 * have to repeat, the row that was written is looked at on a new connection: a run that was made
 * must not be called an outage. It may also be under way still on the other side: then the look waits for
 * it, as long as the call may take.
 */

struct commit_proof {
    const struct tenant *tenant;
    const char *thread_id; /* locked or made by the transaction; NULL or "" for none */
    const char *run_id;
    /* With which this node has taken the lease, 1 when it has made the run; 0: a wish to stop was noted. */
    int64_t fence;
};

/* As db_commit(), and ERR_OK also when the proof is there. */
enum err_code commit_proven(struct db *db, const struct commit_proof *proof,
                            struct err *err) MUST_CHECK;

#endif
