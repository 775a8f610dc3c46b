#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_COVER_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_COVER_H

#include <stddef.h>

#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/approvals/approvals.h"

/*
 * approval_cover.h -- questions that need not be asked any more, because of what is allowed from now on.
 *
 * What waits for nothing but that is approved in the transaction that remembers it; a call that its policy
 * asks about waits for more. Of a run of a thread it is as if the client had answered it through the list:
 * when nothing else is required, the run is queued with a lease that anybody may take, and goes on as soon
 * as a keeper has claimed it. So there may be many, and a crash changes nothing. A response that holds its
 * request open for the answer is woken after the commit.
 *
 * A question may be stored while somebody remembers what would have answered it, and then neither sees
 * the other. So both look once more when they are committed: whoever remembers for questions, and whoever
 * has stored a question for grants, see store_approvals_cover_run(). One of them comes second, and nobody
 * has waited.
 *
 * What somebody else has locked is being decided, and left to him. Nobody is waited for: here the locks
 * come in an order of their own.
 */

/* Runs that one answer lets go on, and questions that it answers; others stay open, as they were. */
#define COVER_RUN_LIMIT      1000
#define COVER_QUESTION_LIMIT 4000

/* The grants are in the store, and stay where they are until db_end(): after the commit there is another
 * look, of which a failure is logged only. `run_id` is a run whose lease the caller has locked and which
 * he moves himself, or ""; *ret_own is how many of its questions were answered. */
enum err_code approvals_cover(struct db *db, const struct tenant *tenant,
                              const struct approval_grants *grants, const char *run_id,
                              size_t *ret_own, struct err *err) MUST_CHECK;

/* The runs as they are shown require those calls only that are still open. Their leases are locked. */
enum err_code runs_require_rest(struct db *db, const struct tenant *tenant,
                                const char *const *run_ids, size_t count,
                                struct err *err) MUST_CHECK;

#endif
