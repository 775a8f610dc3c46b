#ifndef RUNNEL_SERVER_API_NAMED_PICTURES_H
#define RUNNEL_SERVER_API_NAMED_PICTURES_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "server/http/request.h"

/*
 * named_pictures.h -- pictures that requests name by the ids of their files: they must exist, and be pictures.
 *
 * What a file is, its first bytes say, and those may lie in a bucket that hangs. So a reader (server->readers) looks at
 * them, and never an HTTP worker. All pictures of a request cost one reader, one after another.
 *
 * ERR_NOT_FOUND is "No such File object: X": unknown, foreign, deleted or expired. ERR_INVALID with the code
 * invalid_image_format: the file is no picture that models read, or is too large for them.
 */

struct server;

/* On a reader: one picture. *ret_type is "image/png" and so on, a constant. `place` is the path of its id. */
enum err_code named_picture_check(const struct server *server, const struct tenant *tenant,
                                  const char *id, const char *place, const char **ret_type,
                                  struct err *err) MUST_CHECK;

/* For an endpoint of the Assistants API: has the message `object[key]`, or one of that list of messages, an
 * `image_file`? Then true: the request is suspended until all were looked at, and the endpoint is called again, or the
 * request fails. The endpoint returns ERR_OK at once. `path` is that of the object; `key` may be NULL: the object
 * itself is the message.
 *
 * What is malformed, and more than INPUT_PICTURES_LIMIT, is left to the endpoint's own checks. */
bool named_pictures_wait(struct request *request, const json_t *object, const char *path,
                         const char *key, endpoint_fn *endpoint);

#endif
