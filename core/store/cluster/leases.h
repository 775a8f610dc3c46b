#ifndef RUNNEL_CORE_STORE_CLUSTER_LEASES_H
#define RUNNEL_CORE_STORE_CLUSTER_LEASES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/store/store.h"
#include "core/store/tables/runs/runs.h"

/*
 * leases.h -- leases renewed, and the runs of dead nodes taken over.
 *
 * For the keeper of a node. All functions block on the store.
 */

enum lease_state {
    LEASE_HELD,
    LEASE_LOST,             /* fenced: another node has it, or it is gone */
    LEASE_CANCEL_REQUESTED, /* held, but the run is to stop */
};

/* From the next renewal on, this node's row says that it is going down: no run is made for it any more, and those that
 * wait for it are claimed by others. Any thread. */
void store_begin_draining(struct store *store);

/* Renews every lease in the list in one statement. ret_states[i] says what became of it. */
enum err_code store_leases_renew(struct store *store, const char *const *run_ids,
                                 const int64_t *fences, size_t count,
                                 enum lease_state *ret_states, struct err *err) MUST_CHECK;

/* Ends the sessions of servers that have stopped between the statements of a pipeline, with
 * rows locked, for `seconds` or longer. PostgreSQL's own limit counts only from the end of the
 * pipeline. */
enum err_code store_stalled_end(struct store *store, double seconds, size_t *ret_count,
                                struct err *err) MUST_CHECK;

/* After a successful renewal. `run_ids` are all runs in the memory of this node. A lease that
 * this boot holds for a run that is not among them, and that has expired, is released: its run
 * could not be taken up or ended. */
enum err_code store_leases_give_back(struct store *store, const char *const *run_ids,
                                     size_t count, size_t *ret_count,
                                     struct err *err) MUST_CHECK;

/* When the database was away, or stood still, every lease has expired. The nodes that are alive
 * renew theirs as soon as they can. Until then only CLAIM_LEFT may be claimed. */
enum claim_scope {
    CLAIM_LEFT, /* released, waited too long, or of an earlier boot of this node */
    CLAIM_ALL,  /* also the expired leases of other nodes */
};

/* Claims runs whose lease was released or has expired, and runs in requires_action whose time
 * is over (for their loop to expire). Orphans come first, then the order of their original
 * queue time; at most `limit`. Never one that this very boot owns, nor one that was made for another
 * node that lives. The caller frees the array.
 * ERR_STORE also when the database took longer than a third of a lease: then nothing was
 * claimed. */
enum err_code store_runs_claim(struct store *store, enum claim_scope scope, size_t limit,
                               size_t context_limit, struct run_load **ret_loads,
                               size_t *ret_count, struct err *err) MUST_CHECK;

/* Closes as failed every foreground response (not resumable) whose owner died; as above. */
enum err_code store_runs_fail_foreground(struct store *store, enum claim_scope scope,
                                         size_t *ret_count, struct err *err) MUST_CHECK;

/* ---- For core/store ---- */

struct db;

/* ERR_STORE if more than a third of a lease has passed since `begun_ns`: what is a claim may have waited for a database
 * that stood still, while owners had no chance to renew. */
enum err_code lease_refuse_late(const struct db *db, uint64_t begun_ns,
                                struct err *err) MUST_CHECK;

#endif
