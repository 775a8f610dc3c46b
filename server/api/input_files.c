/*
 * input_files.c -- reads files on a thread of their own, between the two halves of a request (aside.h).
 *
 * Reading a PDF takes seconds, so neither an HTTP worker nor a loop may do it. The body is taken out of the request
 * meanwhile, and put back before the endpoint is called again. The endpoint then finds nothing to read.
 */

#include "server/api/input_files.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/document/document.h"
#include "core/domain/notes.h"
#include "server/api/aside.h"
#include "server/complaint.h"
#include "server/params/params.h"
#include "server/server.h"

/* ---- Which parts ---- */

/* The data of a part that is to be read; NULL of any other part. Malformed ones are left to the endpoint's checks. */
static const char *unread_data(const json_t *part)
{
    if (strcmp(json_get_string(part, "type", ""), "input_file") != 0 || notes_of(part))
        return NULL;
    return json_get_string(part, "file_data", NULL);
}

/* The lists of parts in an item: a message has one, and so has the output of a call. */
static const char *const part_lists[] = {"content", "output"};

/* How many files are to be read, and the bytes of their data as it came. */
static size_t count_unread(const json_t *items, size_t *ret_bytes)
{
    size_t count = 0, i, j;
    json_t *item, *part;

    *ret_bytes = 0;
    json_array_foreach (items, i, item) {
        for (size_t list = 0; list < COUNT_OF(part_lists); list++) {
            json_array_foreach (json_object_get(item, part_lists[list]), j, part) {
                const char *data = unread_data(part);

                count += data != NULL;
                *ret_bytes += data ? strlen(data) : 0;
            }
        }
    }
    return count;
}

bool input_files_are_read(const struct server *server, const json_t *body)
{
    const struct config *config = server->config;
    const struct model_upstream *upstream = model_upstream_find(
        config->upstreams, config->upstream_count, json_get_string(body, "model", ""));

    return !upstream || !upstream->reads_files;
}

/* ---- One file ---- */

/* The text as the model gets it: each page behind a line that names it. Cut at the limit. */
static json_t *shown_text(const struct document *document, const char *name)
{
    AUTO_BUF text = {0};
    const char *page = document->text.data ? document->text.data : "";
    size_t number = 1;

    if (!document->pages)
        buf_addf(&text, "[file %s]\n", name);
    for (;;) {
        size_t length = strcspn(page, "\f");

        if (document->pages)
            buf_addf(&text, "%s[file %s, page %zu of %zu]\n", number > 1 ? "\n\n" : "", name,
                     number, document->pages);
        if (text.length + length > INPUT_FILE_TEXT_LIMIT) {
            size_t room =
                text.length < INPUT_FILE_TEXT_LIMIT ? INPUT_FILE_TEXT_LIMIT - text.length : 0;

            buf_add(&text, page, utf8_fit(page, room));
            buf_addf(&text, "\n[The rest of %s was left out: it has %zu bytes of text.]", name,
                     document->text.length);
            break;
        }
        buf_add(&text, page, length);
        page += length;
        if (!*page++)
            break;
        number++;
    }
    return json_stringn(text.data, text.length);
}

static enum err_code file_from(const char *data, const char *place, int *ret_fd,
                               struct err *err)
{
    static const char mark[] = ";base64,";
    const char *comma = strncmp(data, "data:", 5) == 0 ? strstr(data, mark) : NULL;
    const char *digits = comma ? comma + strlen(mark) : data;
    size_t length = 0;
    AUTO_FREE char *bytes = base64_decode(digits, strlen(digits), &length);
    int fd;

    if (!bytes)
        return err_invalid(
            err, "invalid_value", place,
            "Invalid '%s'. Expected base64-encoded content, or a base64-encoded "
            "data URL (e.g. 'data:application/pdf;base64,cGRmIGJ5dGVzIGhlcmU=').",
            place);
    if (length > INPUT_FILE_BYTES_LIMIT)
        return err_invalid(err, "invalid_value", place,
                           "Invalid '%s': the file has %zu bytes, and the limit is %zu.", place,
                           length, INPUT_FILE_BYTES_LIMIT);
    fd = memfd_create("input_file", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length) {
        enum err_code rc =
            err_set(err, ERR_INTERNAL, "cannot keep a file in memory: %s", strerror(errno));

        if (fd >= 0)
            close(fd);
        return rc;
    }
    *ret_fd = fd;
    return ERR_OK;
}

/* The reader's sentence under the API's code. Its other errors are not the client's. */
static enum err_code refused(const char *place, enum err_code rc, struct err *err)
{
    struct err why = *err;

    if (rc != ERR_INVALID && rc != ERR_TOO_LARGE)
        return rc;
    if (why.reason == REASON_UNSUPPORTED)
        return err_invalid(err, "unsupported_file", place,
                           "The file type you uploaded is not supported. %s", why.text);
    return err_invalid(err, "invalid_file", place, "%s", why.text);
}

static enum err_code read_part(json_t *part, const char *data, const char *path,
                               struct err *err)
{
    struct param_path place = param_key(path, "file_data");
    const char *name = json_get_string(part, "filename", NULL);
    struct document document = {0};
    int fd = -1;
    enum err_code rc = file_from(data, place.text, &fd, err);

    if (rc)
        return rc;
    rc = document_read(fd, name, &document, err);
    close(fd);
    if (rc)
        return refused(place.text, rc, err);
    json_set(notes_make(part), "text", shown_text(&document, name ? name : "without a name"));
    document_clear(&document);
    return ERR_OK;
}

/* ---- All files of a request ---- */

enum err_code input_files_read(json_t *items, const char *member, struct err *err)
{
    size_t i, j, bytes;
    json_t *item, *part;

    if (count_unread(items, &bytes) > INPUT_FILES_LIMIT)
        return err_invalid(err, "invalid_value", member,
                           "Too many files: a request may have %zu.", INPUT_FILES_LIMIT);
    json_array_foreach (items, i, item) {
        struct param_path at = param_index(member, i);

        for (size_t list = 0; list < COUNT_OF(part_lists); list++) {
            struct param_path of = param_key(at.text, part_lists[list]);

            json_array_foreach (json_object_get(item, part_lists[list]), j, part) {
                const char *data = unread_data(part);
                struct param_path path = param_index(of.text, j);
                enum err_code rc = data ? read_part(part, data, path.text, err) : ERR_OK;

                if (rc)
                    return rc;
            }
        }
    }
    return ERR_OK;
}

/* ---- Beside the request ---- */

struct reading {
    struct aside aside;
    const char *member;
    endpoint_fn *endpoint;
    json_t *body;
    size_t bytes; /* of its files, in waiting_bytes until the reading is freed */
};

/* Of the files of all requests that wait or are read. A client that leaves does not take its files along. */
static atomic_size_t waiting_bytes;

static void reading_free(struct aside *aside)
{
    struct reading *reading = CONTAINER_OF(aside, struct reading, aside);

    atomic_fetch_sub(&waiting_bytes, reading->bytes);
    json_decref(reading->body);
    free(reading);
}

static enum err_code resume(struct request *request, struct aside *aside, struct err *err)
{
    struct reading *reading = CONTAINER_OF(aside, struct reading, aside);

    request_put_json(request, TAKE(reading->body));
    return reading->endpoint(request, err);
}

static const struct aside_ops reading_ops = {.resume = resume, .free = reading_free};

/* On a reader. */
static void read_files(struct work *work)
{
    struct reading *reading = CONTAINER_OF(work, struct reading, aside.work);

    aside_done(&reading->aside,
               input_files_read(json_object_get(reading->body, reading->member),
                                reading->member, &reading->aside.err));
}

bool input_files_wait(struct request *request, const char *member, endpoint_fn *endpoint)
{
    struct server *server = request_server(request);
    const json_t *body = request_json(request);
    struct reading *reading;
    size_t bytes;

    if (!count_unread(json_object_get(body, member), &bytes) ||
        !input_files_are_read(server, body))
        return false;
    reading = mem_new(struct reading);
    *reading = (struct reading){
        .aside.work.run = read_files,
        .member = member,
        .endpoint = endpoint,
        .body = request_take_json(request),
        .bytes = bytes,
    };
    aside_begin(request, &reading->aside, &reading_ops);
    if (atomic_fetch_add(&waiting_bytes, bytes) + bytes > INPUT_FILES_WAITING_LIMIT ||
        FAULT("input_files.waiting"))
        aside_done(&reading->aside,
                   err_refuse(&reading->aside.err, ERR_LIMIT, REASON_BUSY, NULL,
                              "Too many files are being read. Please retry your request."));
    else
        workers_put(server->readers, &reading->aside.work);
    return true;
}
