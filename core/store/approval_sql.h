#ifndef RUNNEL_CORE_STORE_APPROVAL_SQL_H
#define RUNNEL_CORE_STORE_APPROVAL_SQL_H

#include "core/store/approvals.h"
#include "core/store/db.h"

/*
 * approval_sql.h -- what other files of core/store do about approvals in their own transactions.
 */

/* store_approvals_take(), as a part of something bigger: of none, nothing. */
enum err_code approvals_take(struct db *db, const char *project, const char *response_id,
                             struct approval_answer *answers, size_t count,
                             const struct approval_grants *grants, struct err *err) MUST_CHECK;

#endif
