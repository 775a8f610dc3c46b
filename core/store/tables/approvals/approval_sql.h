#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_SQL_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_SQL_H

#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/approvals/approvals.h"

/*
 * approval_sql.h -- functions on approvals for transactions of other files in core/store.
 */

/* store_approvals_take() as a part of a larger transaction. No answers: does nothing. */
enum err_code approvals_take(struct db *db, const struct tenant *tenant,
                             const char *response_id, struct approval_answer *answers,
                             size_t count, const struct approval_grants *grants,
                             struct err *err) MUST_CHECK;

/* Stores answers to questions of a run of a thread, whose lease is locked, and the grants made
 * with them (or NULL). Answers to anything else are skipped. *ret_first is the number of
 * answers that are new, and of other questions of the run that the grants have answered.
 * ERR_TAKEN if one was answered differently, or too late for its grant. */
enum err_code approvals_decide_of_run(struct db *db, const struct tenant *tenant,
                                      const char *run_id, const struct approval_answer *answers,
                                      size_t count, const struct approval_grants *grants,
                                      size_t *ret_first, struct err *err) MUST_CHECK;

/* Compares repeated answers, each to another question. *ret_decided is false if one of them is
 * not a question, or is pending; ERR_TAKEN if one was decided differently. */
enum err_code approvals_repeat(struct db *db, const struct tenant *tenant,
                               const struct approval_answer *answers, size_t count,
                               bool *ret_decided, struct err *err) MUST_CHECK;

#endif
