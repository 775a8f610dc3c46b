#ifndef RUNNEL_SERVER_API_REQUEST_KEY_H
#define RUNNEL_SERVER_API_REQUEST_KEY_H

#include "core/base/err.h"
#include "core/store/tables/idempotency.h"
#include "server/http/request.h"

/*
 * request_key.h -- the header Idempotency-Key.
 *
 * Two requests are the same if their methods, targets and bodies are equal. White space between the
 * values of a body does not count. idempotency.h says what the store does with key and hash.
 */

/* Fills in the key, borrowed from the request, and the hash of the request. If the header is
 * missing, the key is "" and the hash is not filled in. ERR_INVALID (400) for a key that is empty,
 * longer than IDEMPOTENCY_KEY_LIMIT, or not printable ASCII. */
enum err_code request_key(const struct request *request, struct idempotency *ret_idempotency,
                          struct err *err) MUST_CHECK;

/* The same for a request whose body was taken as it arrived: `digest` is a text that is equal for equal
 * bodies. */
enum err_code request_key_streamed(const struct request *request, const char *digest,
                                   struct idempotency *ret_idempotency,
                                   struct err *err) MUST_CHECK;

#endif
