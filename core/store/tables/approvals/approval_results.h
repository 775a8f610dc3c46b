#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_RESULTS_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_RESULTS_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"

/*
 * approval_results.h -- what the answer to a question about a result changes. For this folder
 * only.
 *
 * The item of the call belongs to a response that has ended. It is delivered or refused in the
 * transaction that stores the answer. So no one ever reads an answered question beside an item
 * that still waits. The variable exists from the moment on from which the model may know of it.
 */

/* Applies the answers to the questions with these ids, which are locked. */
enum err_code approval_results_apply(struct db *db, const struct tenant *tenant,
                                     const char *const *ids, size_t count,
                                     struct err *err) MUST_CHECK;

#endif
