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
 * run_answers.h -- what a client says to the calls of its run: the tool_outputs of a submission.
 *
 * Some of the calls may be questions of ours (core/run/approval/run_approvals.h): what their outputs say, and
 * what of it is to be remembered, is settled before anything is stored, so that the question is decided,
 * remembered and gone on with in one transaction.
 */

struct run_answers {
    struct tool_answer *list; /* by call id */
    size_t count;
    unsigned char hash[32]; /* the same answers in another order are the same answers */
    struct approval_grants grants;

    /* Beside the list: what is said to questions, and what is stored for it where that is not what
     * was given. */
    struct approval_reply *replies;
    char **outputs;
};

/* From the body of the request, from which it borrows. Clear it in any case. */
enum err_code run_answers_read(const json_t *body, struct run_answers *answers,
                               struct err *err) MUST_CHECK;

/* What is wanted of an answer that cannot be remembered makes it a refusal. */
enum err_code run_answers_settle(struct store *store, const struct tenant *tenant,
                                 const char *run_id, struct run_answers *answers,
                                 struct err *err) MUST_CHECK;

void run_answers_clear(struct run_answers *answers);

#endif
