#ifndef RUNNEL_SERVER_API_INPUT_FILES_H
#define RUNNEL_SERVER_API_INPUT_FILES_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "server/http/request.h"

/*
 * input_files.h -- files in a request's items, read for models that read text only.
 *
 * A part of type input_file with file_data is read once, before the endpoint sees the request: its text becomes a note in
 * the part, `runnel.text`, and core/run/context sends that instead of the file. The part itself stays as the client has
 * sent it, and clients do not see the note. What cannot be read is refused as OpenAI's API refuses it.
 *
 * A file is left to the upstream, and passed to it as it is, if the upstream's `inputs` in the configuration have
 * `file`. Files named by URL are always left to it.
 */

/* Files of one request, and bytes of one file: more is refused. */
#define INPUT_FILES_LIMIT      ((size_t)32)
#define INPUT_FILE_BYTES_LIMIT ((size_t)50 << 20)

/* Bytes of all files that wait for a reader, in base64. A request beyond is answered with 429. */
#define INPUT_FILES_WAITING_LIMIT ((size_t)512 << 20)

/* Bytes of a file's text that a model is sent; behind them stands how much was left out. About 60,000 tokens. */
#define INPUT_FILE_TEXT_LIMIT ((size_t)240000)

/* For an endpoint, as its first step: has the request a file to read in this member of its body, which is a list of items?
 * Then true: the request is suspended until its files are read, and the endpoint is called again, or the request fails.
 * The endpoint returns ERR_OK at once. */
bool input_files_wait(struct request *request, const char *member, endpoint_fn *endpoint);

/* The same for a thread that may wait: reads the files and writes the notes into `items`. */
enum err_code input_files_read(json_t *items, const char *member, struct err *err) MUST_CHECK;

/* Does this server read the files of requests to that model? */
bool input_files_are_read(const struct server *server, const json_t *body);

#endif
