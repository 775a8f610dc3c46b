#ifndef RUNNEL_SERVER_FILES_FILE_FINDER_H
#define RUNNEL_SERVER_FILES_FILE_FINDER_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/tool/executor.h"

struct server;

/*
 * file_finder.h -- how a tool searches the files of vector stores, and the check of the stores that a request names
 * for it.
 */

/* For the engine's options. The server must have its store and its retrieval when the first tool runs. */
struct tool_finder file_finder(struct server *server);

/* The stores of a list of ids, whose path is `path`: "Vector store with id 'vs_...' not found." with `param` the path
 * of the id, or that it has expired. `list` may be NULL. Blocks on the store. */
enum err_code file_finder_check_stores(const struct server *server, const struct tenant *tenant,
                                       const json_t *list, const char *path,
                                       struct err *err) MUST_CHECK;

/* Is the store there, and not expired? */
enum err_code file_finder_lives(const struct server *server, const struct tenant *tenant,
                                const char *id, bool *ret_lives, struct err *err) MUST_CHECK;

/* The first store of the list that has expired, borrowed from it, or NULL. One that is gone is no error. */
enum err_code file_finder_expired(const struct server *server, const struct tenant *tenant,
                                  const json_t *list, const char **ret_id,
                                  struct err *err) MUST_CHECK;

/* The check of the request's `tools`. */
enum err_code file_finder_check(const struct server *server, const struct tenant *tenant,
                                const json_t *tools, struct err *err) MUST_CHECK;

#endif
