#ifndef RUNNEL_SERVER_PARAMS_ASSISTANTS_RUN_ANSWERS_H
#define RUNNEL_SERVER_PARAMS_ASSISTANTS_RUN_ANSWERS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/run/approval/approval_answer.h"
#include "core/store/tables/approvals/approvals.h"
#include "core/store/tables/runs/runs.h"

/*
 * run_answers.h -- the tool_outputs that a client submits to its run.
 *
 * Some of the calls may be approval requests (core/run/approval/run_approvals.h). Their answers, and the
 * grants that follow from them, are worked out before anything is stored. The store then decides the
 * request, keeps the grants and continues the run in one transaction.
 *
 * Read, settle, submit, clear: in this order, on one thread, while the body lives.
 */

struct run_answers {
    struct tool_answer *list; /* by call id */
    size_t count;
    unsigned char hash[32]; /* the same answers in another order are the same answers */
    struct approval_grants grants;

    /* Parallel to `list`: the parsed answer to an approval request, and the output that is stored if it
     * differs from the client's. */
    struct approval_reply *replies;
    char **outputs;
};

/* Reads the body, from which *answers borrows. ERR_INVALID with OpenAI's complaints. The caller clears,
 * also after an error. Pure. */
enum err_code run_answers_read(const json_t *body, struct run_answers *answers,
                               struct err *err) MUST_CHECK;

/* Makes the grants of the answers to approval requests. An answer that cannot be remembered as it asks
 * becomes a refusal. Blocks on the store. */
enum err_code run_answers_settle(struct store *store, const struct tenant *tenant,
                                 const char *run_id, struct run_answers *answers,
                                 struct err *err) MUST_CHECK;

void run_answers_clear(struct run_answers *answers);

#endif
