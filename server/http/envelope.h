#ifndef RUNNEL_SERVER_HTTP_ENVELOPE_H
#define RUNNEL_SERVER_HTTP_ENVELOPE_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * envelope.h -- errors as clients see them: {message, type, param, code}.
 *
 * An internal error is logged here under the request's id, and not shown. New reference.
 */

json_t *envelope_error(const char *request_id, const struct err *err);

#endif
