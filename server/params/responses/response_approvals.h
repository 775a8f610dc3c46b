#ifndef RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_APPROVALS_H
#define RUNNEL_SERVER_PARAMS_RESPONSES_RESPONSE_APPROVALS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/run_settings.h"
#include "core/store/store.h"
#include "core/store/tables/approvals/approvals.h"
#include "core/store/tables/runs/runs.h"

/*
 * response_approvals.h -- the answers that a response brings to what was asked before.
 *
 * Every open question of the parent, or of the conversation, is answered by an mcp_approval_response of
 * the input, or was answered through /v1/runnel/approvals before, or is covered by what one of those allows
 * by its patterns; only then does anything go on. The
 * answers are stored, and go with the configuration of the new run, whose loop executes the calls.
 *
 * A client that keeps the story itself sends the question again, or names it, and the answer behind it.
 * Then only what is answered counts: who left a question of such a story open may have thought better of
 * it. What runs is what was asked, as it was stored, not what the client sends.
 *
 * A response that only keeps its input, or is nothing but a compaction, executes nothing: it takes no
 * answer up and needs none. What its input brings answers for the next one that does.
 *
 * Looking blocks on the store.
 */

/* What is open, and what was said about it. */
struct response_approvals {
    struct approval_row *rows;
    size_t count;
    struct approval_answer *answers; /* to each of the rows, once they are settled */
    struct approval_grants grants;   /* what is remembered of them */
    json_t *given;                   /* by the ids of questions: the bodies of their answers */
    json_t *earlier;                 /* those of responses that only kept them */
};

/* `load` is what the response would be: its row, and behind the past its own input items. `input` is what
 * these were read from. ERR_INVALID when an answer is there twice or answers nothing. The caller clears,
 * after a failure too. */
enum err_code response_approvals_look(struct store *store, const struct tenant *tenant,
                                      const struct run_load *load, const json_t *input,
                                      struct response_approvals *ret_approvals,
                                      struct err *err) MUST_CHECK;
void response_approvals_clear(struct response_approvals *approvals);

/* Of a response that goes on: ERR_INVALID when an answer is missing, or when the tool of an approved
 * call is not offered any more. */
enum err_code response_approvals_settle(const struct run_load *load,
                                        const struct run_settings *settings,
                                        struct response_approvals *approvals,
                                        struct err *err) MUST_CHECK;

/* Into the settings of its run, and into what it reads. */
void response_approvals_note(const struct response_approvals *approvals,
                             struct run_settings *settings, struct run_load *load);

#endif
