#ifndef RUNNEL_SERVER_API_FILE_REFS_H
#define RUNNEL_SERVER_API_FILE_REFS_H

#include <jansson.h>

#include "core/base/err.h"
#include "server/http/request.h"

/*
 * file_refs.h -- files and vector stores that requests of the Assistants API name: they must exist.
 *
 * For bodies whose form was checked before. `path` is that of the object, "" for the body. What is absent is fine. The
 * row of each file is read from the store, shortly: for HTTP workers. So their number has a limit. Pictures are only
 * counted, by the limit of input_files.h: named_pictures.h looks at them. ERR_INVALID with the code invalid_value:
 * there are more.
 *
 * ERR_NOT_FOUND is "No such File object: X", with the path of the id: unknown, foreign, deleted or expired.
 */

/* Files that the messages of a request name, or its resources. */
#define FILE_REFS_LIMIT ((size_t)2000)

/* The attachments of a message. */
enum err_code file_refs_check_message(const struct request *request, const json_t *message,
                                      const char *path, struct err *err) MUST_CHECK;

/* The same of a list of messages, object[key]. */
enum err_code file_refs_check_messages(const struct request *request, const json_t *object,
                                       const char *path, const char *key,
                                       struct err *err) MUST_CHECK;

/* Files and stores of object["tool_resources"]. ERR_NOT_FOUND for a store is "Vector store with id 'X' not found.";
 * ERR_INVALID with the code vector_store_expired: it has expired. */
enum err_code file_refs_check_resources(const struct request *request, const json_t *object,
                                        const char *path, struct err *err) MUST_CHECK;

/* The resources and the messages of a new thread. */
enum err_code file_refs_check_thread(const struct request *request, const json_t *thread,
                                     const char *path, struct err *err) MUST_CHECK;

#endif
