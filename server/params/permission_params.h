#ifndef RUNNEL_SERVER_PARAMS_PERMISSION_PARAMS_H
#define RUNNEL_SERVER_PARAMS_PERMISSION_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * permission_params.h -- policies of tools as they come in, in today's words and in the older ones
 * (core/domain/permission.h).
 *
 * An unknown key or value is refused: a typing error must not leave a tool without a question.
 *
 * Pure functions.
 */

/* One declaration. ERR_INVALID (param `path`...) for a key or a value that there is not, and for an
 * object that says the same thing twice. */
enum err_code permission_check(const json_t *declared, const char *path,
                               struct err *err) MUST_CHECK;

/* A set of declarations, {"group/tool": {...}, "group": {...}}. Each is checked as above. */
enum err_code permissions_check(const json_t *set, const char *path,
                                struct err *err) MUST_CHECK;

/* `require_approval` of a tool's entry: "always", "never", or {"always": {"tool_names": [...],
 * "read_only": true}, "never": {...}}. ERR_INVALID for anything else, and for a tool that both name. */
enum err_code permission_require_check(const json_t *require, const char *path,
                                       struct err *err) MUST_CHECK;

#endif
