#ifndef RUNNEL_SERVER_API_REQUEST_KEY_H
#define RUNNEL_SERVER_API_REQUEST_KEY_H

#include "core/base/err.h"
#include "core/store/tables/idempotency.h"
#include "server/http/request.h"

/*
 * request_key.h -- the header Idempotency-Key.
 *
 * Two requests are the same when method, target and body are, blanks between the values of the body
 * apart: a client that tries again sends what it has sent before.
 */

/* The key and the hash of the request; an empty key when there is none. ERR_INVALID for one that is
 * too long, or not printable ASCII. The key is borrowed from the request. */
enum err_code request_key(const struct request *request, struct idempotency *ret_idempotency,
                          struct err *err) MUST_CHECK;

#endif
