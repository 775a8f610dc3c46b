#ifndef RUNNEL_SERVER_SCRIPTS_SCRIPT_PARAMS_H
#define RUNNEL_SERVER_SCRIPTS_SCRIPT_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * script_params.h -- the scripts that `tools` of a request name: {"type": "mcp", "server_url": "script:<id>"}.
 */

#define REQUEST_SCRIPTS_LIMIT 8 /* of a run */

/* Looks up the scripts of `body`, a checked request or the snapshot of a run. *ret_body is a copy with the member
 * "scripts": {"<id>": {"hash", "source", "rules", "functions"}}; the caller owns it. Without scripts it stays
 * untouched. ERR_INVALID, naming the entry, if the project has no such script. Blocks on the store. */
enum err_code script_params_resolve(struct store *store, const struct tenant *tenant,
                                    const json_t *body, json_t **ret_body,
                                    struct err *err) MUST_CHECK;

#endif
