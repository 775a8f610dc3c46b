#ifndef RUNNEL_SERVER_API_FILES_FILE_PARAMS_H
#define RUNNEL_SERVER_API_FILES_FILE_PARAMS_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * file_params.h -- what a client says about a file, in a form or in JSON.
 *
 * Pure functions. ERR_INVALID with OpenAI's complaint (params.h).
 */

/* What may be sent; the other purposes are the server's own. Points into a table. */
enum err_code file_purpose(const json_t *body, const char **ret_purpose,
                           struct err *err) MUST_CHECK;

/* How long a file with this purpose lives: by `expires_after`, or by OpenAI's rule for batches. 0: until it is
 * deleted. */
enum err_code file_life(const json_t *body, const char *purpose, int64_t *ret_seconds,
                        struct err *err) MUST_CHECK;

#endif
