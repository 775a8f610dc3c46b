#ifndef RUNNEL_SERVER_RESPONSE_APPROVALS_H
#define RUNNEL_SERVER_RESPONSE_APPROVALS_H

#include "core/base/err.h"
#include "core/store/runs.h"
#include "core/store/store.h"

/*
 * response_approvals.h -- the answers that a response brings to what the one before has asked.
 *
 * Every open question of the parent, or of the conversation, is answered by an mcp_approval_response of
 * the input, or was answered through /v1/runnel/approvals before; only then does anything go on. The
 * answers are stored, and go with the configuration of the new run, whose loop executes the calls.
 *
 * Blocks on the store.
 */

/* `load` is what the response would be: its row, and behind the past its own input items. Refused
 * (ERR_INVALID) when an answer is missing, is there twice or answers nothing, and when the tool of an
 * approved call is not offered any more; ERR_TAKEN when it was decided otherwise, or by another
 * response. When the response is not made after all, response_approvals_give_back(). */
enum err_code response_approvals_take(struct store *store, struct run_load *load,
                                      struct err *err) MUST_CHECK;
void response_approvals_give_back(struct store *store, const struct run_load *load);

#endif
