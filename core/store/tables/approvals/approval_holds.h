#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_HOLDS_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_APPROVAL_HOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * approval_holds.h -- questions whose run waits for the answers itself (run/run_hold.h).
 *
 * Such a question is taken up by the run that asks it before anybody has answered: used_by is the run's
 * own id. So nobody else goes on with it, while it is listed and answered like any other. Once the run
 * waits no more it is left to whoever comes next, with the answer that it may have by then.
 */

enum hold_look {
    HOLD_LOOK,  /* only reads */
    HOLD_LEAVE, /* unless all are answered, all are left to others */
};

/* The questions with these ids, which the run has asked; and whether the run may go on: all of them are
 * answered, and still its own. */
enum err_code store_approvals_look(struct store *store, const struct tenant *tenant,
                                   const char *run_id, const char *const *ids, size_t count,
                                   enum hold_look look, struct approval_row **ret_rows,
                                   size_t *ret_count, bool *ret_goes_on,
                                   struct err *err) MUST_CHECK;

/* Which of these runs, of which one waits, have an answer that came by way of another node. */
enum err_code store_approvals_answered(struct store *store, const char *const *projects,
                                       const char *const *run_ids, size_t count,
                                       bool *ret_answered, struct err *err) MUST_CHECK;

#endif
