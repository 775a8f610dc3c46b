#ifndef RUNNEL_SERVER_PARAMS_REMEMBER_PARAMS_H
#define RUNNEL_SERVER_PARAMS_REMEMBER_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * remember_params.h -- checks how an answer to an approval request asks to be remembered.
 *
 *   {"type": "mcp_approval_response", "approve": true, "runnel": {"remember": {"scope": "thread"}}}
 *
 * A pure function: any thread.
 */

/* `item` is an mcp_approval_response at `path`. Checks its object `runnel`, if it has one: keys and values
 * (core/run/approval/grant.h). Whether this request can be remembered so is decided when the answer is
 * taken up. */
enum err_code remember_params_check(const json_t *item, const char *path,
                                    struct err *err) MUST_CHECK;

#endif
