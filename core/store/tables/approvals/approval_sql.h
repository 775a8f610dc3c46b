#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_SQL_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_SQL_H

#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/tables/approvals/approvals.h"

/*
 * approval_sql.h -- what other files of core/store do about approvals in their own transactions.
 */

/* store_approvals_take(), as a part of something bigger: of none, nothing. */
enum err_code approvals_take(struct db *db, const struct tenant *tenant,
                             const char *response_id, struct approval_answer *answers,
                             size_t count, const struct approval_grants *grants,
                             struct err *err) MUST_CHECK;

/* Answers to questions of a run of a thread, whose lease is locked, and what is remembered of them (or
 * NULL); those to anything else are passed over. *ret_first is how many were not given before, and how
 * many other questions of the run these have answered by what is remembered of them. ERR_TAKEN when one
 * was given otherwise, or too late to be remembered. */
enum err_code approvals_decide_of_run(struct db *db, const struct tenant *tenant,
                                      const char *run_id, const struct approval_answer *answers,
                                      size_t count, const struct approval_grants *grants,
                                      size_t *ret_first, struct err *err) MUST_CHECK;

/* Answers that are given again, each to another question. *ret_decided is false when one of these is no
 * question, or open; ERR_TAKEN when one was decided otherwise. */
enum err_code approvals_repeat(struct db *db, const struct tenant *tenant,
                               const struct approval_answer *answers, size_t count,
                               bool *ret_decided, struct err *err) MUST_CHECK;

#endif
