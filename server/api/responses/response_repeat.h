#ifndef RUNNEL_SERVER_API_RESPONSES_RESPONSE_REPEAT_H
#define RUNNEL_SERVER_API_RESPONSES_RESPONSE_REPEAT_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "server/http/request.h"

/*
 * response_repeat.h -- a create request that repeats an earlier one under its Idempotency-Key.
 */

/* Whether the earlier response gives way to a new one under its key: its client got no object, because it
 * failed or was cancelled, and no tool of this server was called for it. */
bool response_gives_way(const struct run_row *run);

/* Answers with the stream of the earlier response from its first event, or with its object: in the
 * background as it is now, otherwise when it has ended, on any node. `run` is borrowed for the call. */
enum err_code response_repeat(struct request *request, struct run_row *run,
                              struct err *err) MUST_CHECK;

#endif
