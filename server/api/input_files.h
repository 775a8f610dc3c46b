#ifndef RUNNEL_SERVER_API_INPUT_FILES_H
#define RUNNEL_SERVER_API_INPUT_FILES_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "server/http/request.h"

/*
 * input_files.h -- files in a request's items: found, checked, and read for models that read text only.
 *
 * A part that has a file, or names one by its id, is looked at once, before the endpoint sees the request. What was
 * found stands in a note of the part, `runnel`, which clients do not see. A note that a client sends is dropped: it
 * would be taken for a check that was made. The part itself stays as the client has sent it.
 *
 *   input_file   its text: `runnel.text`, which core/run/context sends instead of the file. Not for an upstream
 *                whose `inputs` in the configuration have `file`: it gets the file. For a model that sees, a PDF
 *                with `detail: high`, or without any text, also has `runnel.pages`: so many of its pages go into
 *                each request as pictures (server/files/file_loading.h), unless there are masks. Of a fetched one
 *                `runnel.file_data` has the bytes
 *   input_image  of a file: that it is a picture. Its bytes are put into each request to a model
 *                (server/files/file_loading.h)
 *
 * A file that is unknown, foreign or gone is refused, and so is what cannot be read, and a picture for a model whose
 * upstream reads text only. A file named by its URL is fetched (file_urls.h), and then read as if it had come with the
 * request; an upstream that reads files gets the URL.
 */

/* Files and pictures of one request, and bytes of one file: more is refused. Pictures are only looked at. */
#define INPUT_FILES_LIMIT      ((size_t)32)
#define INPUT_PICTURES_LIMIT   ((size_t)500)
#define INPUT_FILE_BYTES_LIMIT ((size_t)50 << 20)

/* Bytes of fetched files that the items of a request keep, because pages of them are shown. A file that no longer
 * fits is text alone. */
#define INPUT_FILES_KEPT_LIMIT ((size_t)10 << 20)

/* Bytes of all files that wait for a reader, in base64. A request beyond is answered with 429. */
#define INPUT_FILES_WAITING_LIMIT ((size_t)512 << 20)

struct loop;
struct server;
struct tenant;

/* For an endpoint, as its first step: has the request a file to look at in this member of its body, which is a list of
 * items? Then true: the request is suspended until all are, and the endpoint is called again, or the request fails.
 * The endpoint returns ERR_OK at once. */
bool input_files_wait(struct request *request, const char *member, endpoint_fn *endpoint);

/* Drops the notes of all parts, as the client has sent them. For a body that nothing above has looked at. */
void input_files_drop_notes(json_t *body, const char *member);

/* The same for what is no HTTP request. `body` is the caller's throughout, and has no notes of a client. */
struct input_files;

/* On any thread: has `body` a file to look at? NULL: none. `loop` fetches those that have URLs. */
struct input_files *input_files_find(const struct server *server, const struct tenant *tenant,
                                     const json_t *body, const char *member, struct loop *loop);
void input_files_free(struct input_files *files); /* NULL is fine */

/* False: there is nothing to fetch. Else done() is called once, on the loop, or never, if the server stops before. */
bool input_files_fetch(struct input_files *files, void (*done)(void *arg), void *arg);
/* On the loop: the fetches are given up, and done() is called at once or soon. After done() nothing happens. */
void input_files_cancel(struct input_files *files);

/* On a thread that may take its time (server->readers), when all is fetched: looks at the files, and writes the
 * notes. */
enum err_code input_files_read(struct input_files *files, json_t *body,
                               struct err *err) MUST_CHECK;

#endif
