#ifndef RUNNEL_SERVER_HTTP_ENVELOPE_H
#define RUNNEL_SERVER_HTTP_ENVELOPE_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * envelope.h -- what a client is told about an error: {message, type, param, code}.
 *
 * What failed inside us is logged here, under the request's id, and not told. New reference.
 */

json_t *envelope_error(const char *request_id, const struct err *err);

#endif
