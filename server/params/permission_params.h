#ifndef RUNNEL_SERVER_PARAMS_PERMISSION_PARAMS_H
#define RUNNEL_SERVER_PARAMS_PERMISSION_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * permission_params.h -- checks declared policies of tools, with today's keys or the older ones
 * (core/domain/permission.h).
 *
 * An unknown key or value is refused: a typing error must not leave a tool without its approval.
 *
 * `path` is the path of the value. The place that an error names begins with it. Pure functions: any thread.
 */

/* One declaration. ERR_INVALID for an unknown key or value, and for a key together with its synonym. */
enum err_code permission_check(const json_t *declared, const char *path,
                               struct err *err) MUST_CHECK;

/* A set of declarations, {"group/tool": {...}, "group": {...}}. Each is checked as above; whether the tools
 * exist is not. */
enum err_code permissions_check(const json_t *set, const char *path,
                                struct err *err) MUST_CHECK;

/* `require_approval` of a tool's entry: "always", "never", or {"always": {"tool_names": [...],
 * "read_only": true}, "never": {...}}. ERR_INVALID for anything else, and for a tool in both lists. */
enum err_code permission_require_check(const json_t *require, const char *path,
                                       struct err *err) MUST_CHECK;

#endif
