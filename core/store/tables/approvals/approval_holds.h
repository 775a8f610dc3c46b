#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_HOLDS_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_HOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * approval_holds.h -- questions whose run waits for the answers itself
 * (run/approval/run_hold.h).
 *
 * The run takes such a question up when it asks it, before there is an answer: used_by is the
 * run's own id. So no other run continues with it, while it is listed and answered like any
 * other. When the run no longer waits, it leaves the question to the next response, with the
 * answer that it may have by then.
 */

enum hold_action {
    HOLD_READ,  /* only reads */
    HOLD_LEAVE, /* unless all are answered, all are left to the next response */
};

/* The questions with these ids, which the run has asked; and whether the run may continue: all
 * of them are answered, and still its own. */
enum err_code store_approvals_held(struct store *store, const struct tenant *tenant,
                                   const char *run_id, const char *const *ids, size_t count,
                                   enum hold_action action, struct approval_row **ret_rows,
                                   size_t *ret_count, bool *ret_continues,
                                   struct err *err) MUST_CHECK;

/* Which of these runs that wait have an answer. It may have come through another node. */
enum err_code store_approvals_answered(struct store *store, const char *const *projects,
                                       const char *const *run_ids, size_t count,
                                       bool *ret_answered, struct err *err) MUST_CHECK;

#endif
