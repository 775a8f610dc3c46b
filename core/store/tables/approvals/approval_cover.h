#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_COVER_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_COVER_H

#include <stddef.h>

#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/approvals/approvals.h"

/*
 * approval_cover.h -- pending questions that a new grant answers.
 *
 * A pending question that the new grant fully covers is approved in the same transaction. A
 * call that also needs an approval by its policy stays pending. For a run of a thread this is
 * like an answer of the client: if nothing else is required, the run is queued with a lease
 * that any node may claim. It continues as soon as a keeper has claimed it. So there may be
 * many such runs, and a crash changes nothing. A response that holds its request open for the
 * answer is woken after the commit.
 *
 * A question may be stored at the same time as a grant that would have answered it, and then
 * neither transaction sees the other. So both sides look again after their commit: the grant
 * for questions, and the question for grants, see store_approvals_cover_run(). One of them is
 * second and finds the other, and neither has waited. A check that is lost, with its node or the
 * database, stays noted, and a keeper makes up for it: store_approvals_check_again().
 *
 * A question whose rows are locked is being decided, and is skipped. Nothing here waits for a
 * lock, because the locks come in an order of their own.
 */

/* Limits of one answer: runs that continue, and questions that it answers. Others stay pending. */
#define COVER_RUN_LIMIT      1000
#define COVER_QUESTION_LIMIT 4000

/* The grants are stored, and must exist until db_end(): after the commit it looks again. A
 * failure of that is logged, and the check is still owed. `run_id` is a run whose lease the caller has locked and which
 * the caller moves itself, or "". *ret_own is how many of its questions were answered. */
enum err_code approvals_cover(struct db *db, const struct tenant *tenant,
                              const struct approval_grants *grants, const char *run_id,
                              size_t *ret_own, struct err *err) MUST_CHECK;

/* The runs require only the calls that are still open, as clients see them. Their leases are
 * locked. */
enum err_code runs_require_rest(struct db *db, const struct tenant *tenant,
                                const char *const *run_ids, size_t count,
                                struct err *err) MUST_CHECK;

#endif
