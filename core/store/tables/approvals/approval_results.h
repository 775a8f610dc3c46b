#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_RESULTS_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_RESULTS_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"

/*
 * approval_results.h -- what the answer to a question about a result changes; for this folder.
 *
 * The item of the call lies in a response that has ended. It is delivered or refused where the answer is
 * stored, in the same transaction, so nobody ever reads an answered question beside an item that waits,
 * and a variable is there from the moment on from which the model may know of it.
 */

/* Of the questions with these ids, which are locked and have been answered: does what is still to do. */
enum err_code approval_results_apply(struct db *db, const struct tenant *tenant,
                                     const char *const *ids, size_t count,
                                     struct err *err) MUST_CHECK;

#endif
