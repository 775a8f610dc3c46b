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
 * response_approvals.h -- pairs the open approval requests of a conversation with the answers that a new
 * response brings.
 *
 * A response may only continue when every open request of its parent, or of its conversation, is decided:
 *
 *   by an mcp_approval_response in the input,
 *   earlier, by way of /v1/runnel/approvals,
 *   or by a grant with patterns that another of these answers makes,
 *   or as rejected, if the request says so of those that it leaves pending.
 *
 * The answers are stored, and go into the settings of the new run, which executes the approved calls.
 *
 * A client that manages its context itself sends the request again, or refers to it, together with the
 * answer. A request of such a context that has no answer stays open, and is no error. A call is executed as
 * it was stored with its request, not as the client sends it.
 *
 * A response that only stores its input, or only makes a compaction, executes nothing. It takes no answers
 * up and needs none. Answers in its input count for the next response that does.
 *
 * In this order: load (blocks on the store), settle, apply, clear. One thread at a time.
 */

/* Open requests and their answers. */
struct response_approvals {
    struct approval_row *rows; /* the requests */
    size_t count;
    struct approval_answer *answers; /* one for each row, after settling */
    struct approval_grants grants;   /* that the answers make */
    json_t *given;   /* {approval request id: body of the answer in the input} */
    json_t *earlier; /* the same, of answers that earlier responses only stored */
};

/* `load` is what the response would be: its row, the past, and behind that its own input items. `input` is
 * the JSON of these. ERR_INVALID if a request is answered twice, or an answer has no request. The caller
 * clears, also after an error. */
enum err_code response_approvals_load(struct store *store, const struct tenant *tenant,
                                      const struct run_load *load, const json_t *input,
                                      struct response_approvals *ret_approvals,
                                      struct err *err) MUST_CHECK;
void response_approvals_clear(struct response_approvals *approvals);

/* For a response that will execute calls. ERR_INVALID if an answer is missing, or if the request no longer
 * offers the tool of an approved call. Pure. */
enum err_code response_approvals_settle(const struct run_load *load,
                                        const struct run_settings *settings,
                                        struct response_approvals *approvals,
                                        struct err *err) MUST_CHECK;

/* Puts the decisions into the settings and the row of the run, and decided results into the items of the
 * load. Pure. */
void response_approvals_apply(const struct response_approvals *approvals,
                              struct run_settings *settings, struct run_load *load);

#endif
