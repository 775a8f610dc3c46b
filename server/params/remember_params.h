#ifndef RUNNEL_SERVER_PARAMS_REMEMBER_PARAMS_H
#define RUNNEL_SERVER_PARAMS_REMEMBER_PARAMS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * remember_params.h -- what an answer to an approval says about being remembered.
 */

/* The object `runnel` of an mcp_approval_response, which stands at `path`. */
enum err_code remember_params_check(const json_t *item, const char *path,
                                    struct err *err) MUST_CHECK;

#endif
