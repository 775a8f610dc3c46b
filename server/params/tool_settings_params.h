#ifndef RUNNEL_SERVER_PARAMS_TOOL_SETTINGS_PARAMS_H
#define RUNNEL_SERVER_PARAMS_TOOL_SETTINGS_PARAMS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/run_settings.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * tool_settings_params.h -- what a project, or a user within it, says of tools
 * (core/run/catalog/tool_settings.h), as it comes in; and what of it counts for a request.
 *
 *   {"tool_groups": {"basic": true}, "permissions": {"basic/text": {"execution": "ask-always"}}}
 */

/* Characters of a user's name, and of a safety identifier. */
#define USER_LIMIT              ((size_t)512)
#define SAFETY_IDENTIFIER_LIMIT ((size_t)64)

/* A group, a tool, a policy or a key that there is not is refused: a typing error must not pass for
 * having turned something off. Pure. */
enum err_code tool_settings_check(const json_t *body, struct err *err) MUST_CHECK;

/* `user` and `safety_identifier` of a request. Pure. */
enum err_code tool_settings_user_check(const json_t *body, struct err *err) MUST_CHECK;

/* What counts for the tenant and its user. *ret_settings stays untouched when there is nothing. Blocks for
 * as long as the database takes. */
enum err_code tool_settings_load(struct store *store, const struct tenant *tenant,
                                 json_t **ret_settings, struct err *err) MUST_CHECK;

/* The same into the settings of a run, for the user that they name. */
enum err_code tool_settings_apply(struct store *store, const struct tenant *tenant,
                                  struct run_settings *settings, struct err *err) MUST_CHECK;

#endif
