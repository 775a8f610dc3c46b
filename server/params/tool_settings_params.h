#ifndef RUNNEL_SERVER_PARAMS_TOOL_SETTINGS_PARAMS_H
#define RUNNEL_SERVER_PARAMS_TOOL_SETTINGS_PARAMS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/run_settings.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * tool_settings_params.h -- tool settings of a project or of a user within it: checked as a request body, and
 * loaded for a run (core/run/catalog/tool_settings.h).
 *
 *   {"tool_groups": {"basic": true}, "permissions": {"basic/text": {"execution": "ask-always"}}}
 */

/* Characters of a user's name, and of a safety identifier. */
#define USER_LIMIT              ((size_t)512)
#define SAFETY_IDENTIFIER_LIMIT ((size_t)64)

/* Checks the body of a change. An unknown group, tool, policy or key is refused: a typing error must not pass
 * for a setting. Pure: any thread. */
enum err_code tool_settings_check(const json_t *body, struct err *err) MUST_CHECK;

/* Checks `user` and `safety_identifier` of a request. Pure: any thread. */
enum err_code tool_settings_user_check(const json_t *body, struct err *err) MUST_CHECK;

/* The settings of the project with those of tenant->user over them. New reference; untouched if neither has
 * any. Blocks on the store. */
enum err_code tool_settings_load(struct store *store, const struct tenant *tenant,
                                 json_t **ret_settings, struct err *err) MUST_CHECK;

/* Adds the same to the settings of a run, for the user that its request names. Blocks on the store. */
enum err_code tool_settings_apply(struct store *store, const struct tenant *tenant,
                                  struct run_settings *settings, struct err *err) MUST_CHECK;

#endif
