/*
 * input_files.c -- reads files on a thread of their own, between the two halves of a request (aside.h).
 *
 * Reading a PDF takes seconds, so neither an HTTP worker nor a loop may do it. The body is taken out of the request
 * meanwhile, and put back before the endpoint is called again. The endpoint then finds nothing to read.
 */

#include "server/api/input_files.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/pictures.h"
#include "core/domain/notes.h"
#include "core/run/engine/engine.h"
#include "server/api/aside.h"
#include "server/api/file_urls.h"
#include "server/api/named_pictures.h"
#include "server/complaint.h"
#include "server/files/stored_file.h"
#include "server/masking.h"
#include "server/params/params.h"
#include "server/server.h"

/* What reads the files of a request. */
struct reader {
    const struct server *server;
    const struct tenant *tenant;
    const struct model_upstream *upstream; /* of its model; NULL: it names none */
    const char *model;
    bool draws;             /* pages of a PDF, for a model that sees */
    struct file_urls *urls; /* what was fetched, in the order of its parts; or NULL */
    size_t *kept;           /* bytes of those that their items keep */
};

static struct reader reader_of(const struct server *server, const struct tenant *tenant,
                               const json_t *body)
{
    const struct config *config = server->config;
    const char *model = json_get_string(body, "model", "");
    const struct model_upstream *upstream =
        model_upstream_find(config->upstreams, config->upstream_count, model);

    /* Masks cannot see what a picture shows. So where there are masks, a file is text and nothing else. */
    return (struct reader){.server = server,
                           .tenant = tenant,
                           .upstream = upstream,
                           .model = model,
                           .draws = !(upstream && upstream->text_only) &&
                                    !masking_hook(server->masking)};
}

/* ---- Which parts ---- */

enum unread {
    UNREAD_NOTHING,
    UNREAD_DATA,       /* a file in the request, to be read as text */
    UNREAD_FILE,       /* a file by its id */
    UNREAD_URL,        /* a file by its URL, to be fetched and read as text */
    UNREAD_PICTURE,    /* a picture by the id of its file */
    UNREAD_IMPOSSIBLE, /* a picture, for a model that reads text only */
};

static bool has(const json_t *part, const char *key)
{
    return json_get_string(part, key, NULL) != NULL;
}

static enum unread unread_picture(const struct reader *reader, const json_t *part)
{
    if (*reader->model && reader->upstream && reader->upstream->text_only)
        return UNREAD_IMPOSSIBLE;
    return has(part, "file_id") && !has(part, "image_url") ? UNREAD_PICTURE : UNREAD_NOTHING;
}

/* Malformed parts, and those with several sources, are left to the endpoint's checks. */
static enum unread unread(const struct reader *reader, const json_t *part)
{
    const char *type = json_get_string(part, "type", "");
    bool id = has(part, "file_id"), data = has(part, "file_data"), url = has(part, "file_url");

    if (notes_of(part))
        return UNREAD_NOTHING;
    if (strcmp(type, "input_image") == 0)
        return unread_picture(reader, part);
    if (strcmp(type, "input_file") != 0 || id + data + url != 1)
        return UNREAD_NOTHING;
    if (id)
        return UNREAD_FILE;
    if (reader->upstream && reader->upstream->reads_files)
        return UNREAD_NOTHING;
    return url ? UNREAD_URL : UNREAD_DATA;
}

/* The lists of parts in an item: a message has one, and so has the output of a call. */
static const char *const part_lists[] = {"content", "output"};

void input_files_drop_notes(json_t *body, const char *member)
{
    size_t i, j;
    json_t *item, *part;

    json_array_foreach (json_object_get(body, member), i, item) {
        for (size_t list = 0; list < COUNT_OF(part_lists); list++) {
            json_array_foreach (json_object_get(item, part_lists[list]), j, part)
                notes_drop(part);
        }
    }
}

/* What there is to do in a request. */
struct count {
    size_t files, pictures;
    size_t urls;  /* of the files */
    size_t bytes; /* of the files' data as it came */
};

/* The URLs are added to `urls`, which may be NULL. */
static struct count count_unread(const struct reader *reader, const json_t *items,
                                 struct file_urls *urls)
{
    struct count count = {0};
    size_t i, j;
    json_t *item, *part;

    json_array_foreach (items, i, item) {
        for (size_t list = 0; list < COUNT_OF(part_lists); list++) {
            json_array_foreach (json_object_get(item, part_lists[list]), j, part) {
                enum unread kind = unread(reader, part);

                count.files += kind == UNREAD_DATA || kind == UNREAD_FILE || kind == UNREAD_URL;
                count.urls += kind == UNREAD_URL;
                count.pictures += kind == UNREAD_PICTURE || kind == UNREAD_IMPOSSIBLE;
                if (kind == UNREAD_DATA)
                    count.bytes += strlen(json_get_string(part, "file_data", ""));
                if (kind == UNREAD_URL && urls)
                    file_urls_add(urls, json_get_string(part, "file_url", ""));
            }
        }
    }
    return count;
}

/* ---- One file ---- */

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

/* What stands for the text of a file whose pages have none. */
static struct shown_file scan_shown(const char *name)
{
    AUTO_FREE char *text = mem_printf("[file %s has no text: its pages follow as pictures]",
                                      name ? name : "without a name");

    return (struct shown_file){json_string(text), DOCUMENT_PICTURES_MAX};
}

/* The notes of a file that was read. `rc` is how that went, with `err` if it failed. */
static enum err_code note_shown(const struct reader *reader, json_t *part, const char *name,
                                const char *place, enum err_code rc,
                                const struct shown_file *shown, struct err *err)
{
    bool scan = rc == ERR_INVALID && err->reason == REASON_SCANNED && reader->draws;
    struct shown_file seen;

    if (rc && !scan)
        return refused(place, rc, err);
    seen = scan ? scan_shown(name) : *shown;
    json_set(notes_make(part), "text", seen.text);
    if (scan || (reader->draws && seen.pages &&
                 strcmp(json_get_string(part, "detail", ""), "high") == 0))
        json_set_int(notes_of(part), "pages", (json_int_t)seen.pages);
    return ERR_OK;
}

static enum err_code read_data(const struct reader *reader, json_t *part, const char *path,
                               struct err *err)
{
    static const char mark[] = ";base64,";
    struct param_path at = param_key(path, "file_data");
    const char *place = at.text;
    const char *data = json_get_string(part, "file_data", "");
    const char *comma = strncmp(data, "data:", 5) == 0 ? strstr(data, mark) : NULL;
    const char *digits = comma ? comma + strlen(mark) : data;
    size_t length = 0;
    AUTO_FREE char *bytes = base64_decode(digits, strlen(digits), &length);
    const char *name = json_get_string(part, "filename", NULL);
    struct shown_file shown = {0};
    enum err_code rc;

    if (!bytes)
        return param_no_base64(err, place);
    if (length > INPUT_FILE_BYTES_LIMIT)
        return err_invalid(err, "invalid_value", place,
                           "Invalid '%s': the file has %zu bytes, and the limit is %zu.", place,
                           length, INPUT_FILE_BYTES_LIMIT);
    rc = file_shown(reader->server, bytes, length, name, &shown, err);
    return note_shown(reader, part, name, place, rc, &shown, err);
}

/* The bytes of a fetched file that the model sees stay with its part. */
static void keep_fetched(const struct reader *reader, json_t *part,
                         const struct file_fetch *file)
{
    AUTO_BUF text = {0};

    if (!json_object_get(notes_of(part), "pages"))
        return;
    *reader->kept += file->bytes.length;
    base64_add(&text, file->bytes.data, file->bytes.length);
    json_set(notes_of(part), "file_data", json_stringn_nocheck(text.data, text.length));
}

/* The fetched bytes are let go with their text: a request may have many. */
static enum err_code read_fetched(const struct reader *reader, json_t *part, const char *path,
                                  struct err *err)
{
    struct param_path place = param_key(path, "file_url");
    struct file_fetch *file = file_urls_take(reader->urls);
    const char *name = json_get_string(part, "filename", file->name);
    struct reader here = *reader;
    struct shown_file shown = {0};
    enum err_code rc = file->rc;

    if (rc == ERR_INVALID)
        return err_invalid(err, "invalid_value", place.text,
                           "Invalid '%s': the file could not be fetched: %s", place.text,
                           file->err.text);
    if (rc) {
        *err = file->err;
        return rc;
    }
    rc = file_shown(reader->server, file->bytes.data ? file->bytes.data : "",
                    file->bytes.length, name, &shown, err);
    here.draws = reader->draws && file->bytes.length <= INPUT_FILES_KEPT_LIMIT - *reader->kept;
    rc = note_shown(&here, part, name, place.text, rc, &shown, err);
    if (!rc)
        keep_fetched(reader, part, file);
    file_urls_drop(file);
    return rc;
}

static enum err_code read_picture(const struct reader *reader, json_t *part, const char *path,
                                  struct err *err)
{
    struct param_path place = param_key(path, "file_id");
    const char *type = NULL;
    enum err_code rc =
        named_picture_check(reader->server, reader->tenant,
                            json_get_string(part, "file_id", ""), place.text, &type, err);

    if (!rc)
        json_set_string(notes_make(part), "type", type);
    return rc;
}

/* An upstream that reads files gets this one with each request: here it must only be small enough. */
static enum err_code read_stored(const struct reader *reader, const struct stored_file *file,
                                 json_t *part, const char *place, struct err *err)
{
    struct shown_file shown = {0};
    enum err_code rc;

    if (!reader->upstream || !reader->upstream->reads_files) {
        rc = stored_file_shown(file, &shown, err);
        return note_shown(reader, part, file->row.filename, place, rc, &shown, err);
    }
    if (file->row.bytes > MODEL_FILE_LIMIT)
        return err_invalid(err, "invalid_file", place,
                           "The file has %llu bytes, and the limit is %zu.",
                           (unsigned long long)file->row.bytes, MODEL_FILE_LIMIT);
    json_set_int(notes_make(part), "bytes", (json_int_t)file->row.bytes);
    return ERR_OK;
}

static enum err_code read_named(const struct reader *reader, json_t *part, const char *path,
                                struct err *err)
{
    struct param_path place = param_key(path, "file_id");
    const char *id = json_get_string(part, "file_id", "");
    CLEANUP(stored_file_close) struct stored_file file = {0};
    enum err_code rc = stored_file_open(reader->server, reader->tenant, id, &file, err);

    if (rc == ERR_NOT_FOUND)
        return err_refuse(err, rc, REASON_UNSET, place.text, "No such File object: %.64s", id);
    return rc ? rc : read_stored(reader, &file, part, place.text, err);
}

static enum err_code read_part(const struct reader *reader, json_t *part, const char *path,
                               struct err *err)
{
    switch (unread(reader, part)) {
    case UNREAD_NOTHING: return ERR_OK;
    case UNREAD_DATA: return read_data(reader, part, path, err);
    case UNREAD_FILE: return read_named(reader, part, path, err);
    case UNREAD_URL: return read_fetched(reader, part, path, err);
    case UNREAD_PICTURE: return read_picture(reader, part, path, err);
    case UNREAD_IMPOSSIBLE: break;
    }
    return err_invalid(err, "unsupported_value", path,
                       "The model '%.64s' does not read pictures.", reader->model);
}

/* ---- All files of a request ---- */

static enum err_code check_count(const struct count *count, const char *member, struct err *err)
{
    if (count->files > INPUT_FILES_LIMIT)
        return err_invalid(err, "invalid_value", member,
                           "Too many files: a request may have %zu.", INPUT_FILES_LIMIT);
    if (count->pictures > INPUT_PICTURES_LIMIT)
        return err_invalid(err, "invalid_value", member,
                           "Too many pictures: a request may have %zu.", INPUT_PICTURES_LIMIT);
    return ERR_OK;
}

static enum err_code read_all(const struct reader *reader, json_t *items, const char *member,
                              struct err *err)
{
    size_t i, j;
    json_t *item, *part;

    json_array_foreach (items, i, item) {
        struct param_path at = param_index(member, i);

        for (size_t list = 0; list < COUNT_OF(part_lists); list++) {
            struct param_path of = param_key(at.text, part_lists[list]);

            json_array_foreach (json_object_get(item, part_lists[list]), j, part) {
                struct param_path path = param_index(of.text, j);
                enum err_code rc = read_part(reader, part, path.text, err);

                if (rc)
                    return rc;
            }
        }
    }
    return ERR_OK;
}

/* With what was fetched, in reader->urls. */
static enum err_code read_items(struct reader *reader, json_t *items, const char *member,
                                struct err *err)
{
    struct count count = count_unread(reader, items, NULL);
    size_t kept = 0;
    enum err_code rc = check_count(&count, member, err);

    reader->kept = &kept;
    return rc ? rc : read_all(reader, items, member, err);
}

/* What there is to fetch, or NULL. */
static struct file_urls *urls_of(const struct reader *reader, const json_t *items,
                                 const struct count *count, struct loop *loop)
{
    struct file_urls *urls;

    if (!count->urls || check_count(count, "", NULL))
        return NULL;
    urls = file_urls_new(reader->server, loop);
    (void)count_unread(reader, items, urls);
    return urls;
}

/* ---- For what is no HTTP request ---- */

struct input_files {
    const struct server *server;
    struct tenant tenant;
    const char *member;
    size_t bytes;           /* of the data in the request itself */
    struct file_urls *urls; /* or NULL */
};

struct input_files *input_files_find(const struct server *server, const struct tenant *tenant,
                                     const json_t *body, const char *member, struct loop *loop)
{
    struct reader reader = reader_of(server, tenant, body);
    const json_t *items = json_object_get(body, member);
    struct count count = count_unread(&reader, items, NULL);
    struct input_files *files;

    if (!count.files && !count.pictures)
        return NULL;
    files = mem_new(struct input_files);
    *files = (struct input_files){.server = server,
                                  .tenant = tenant_kept(tenant),
                                  .member = member,
                                  .bytes = count.bytes,
                                  .urls = urls_of(&reader, items, &count, loop)};
    return files;
}

void input_files_free(struct input_files *files)
{
    if (files)
        file_urls_free(files->urls);
    free(files);
}

bool input_files_fetch(struct input_files *files, void (*done)(void *arg), void *arg)
{
    if (files->urls)
        file_urls_start(files->urls, done, arg);
    return files->urls;
}

void input_files_cancel(struct input_files *files)
{
    if (files->urls)
        file_urls_cancel(files->urls);
}

enum err_code input_files_read(struct input_files *files, json_t *body, struct err *err)
{
    struct reader reader = reader_of(files->server, &files->tenant, body);

    reader.urls = files->urls;
    return read_items(&reader, json_object_get(body, files->member), files->member, err);
}

/* ---- Beside the request ---- */

struct reading {
    struct aside aside;
    struct input_files *files;
    endpoint_fn *endpoint;
    json_t *body;
    size_t counted; /* bytes of its files, in waiting_bytes until the reading is freed */
};

/* Of the files of all requests that wait or are read. A client that leaves does not take its files along. */
static atomic_size_t waiting_bytes;

static void reading_free(struct aside *aside)
{
    struct reading *reading = CONTAINER_OF(aside, struct reading, aside);

    atomic_fetch_sub(&waiting_bytes, reading->counted);
    json_decref(reading->body);
    input_files_free(reading->files);
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
               input_files_read(reading->files, reading->body, &reading->aside.err));
}

static void begin_reading(struct request *request, struct reading *reading)
{
    size_t bytes = reading->counted = reading->files->bytes;

    aside_begin(request, &reading->aside, &reading_ops);
    if (atomic_fetch_add(&waiting_bytes, bytes) + bytes > INPUT_FILES_WAITING_LIMIT ||
        FAULT("input_files.waiting"))
        aside_done(&reading->aside,
                   err_refuse(&reading->aside.err, ERR_LIMIT, REASON_BUSY, NULL,
                              "Too many files are being read. Please retry your request."));
    else
        workers_put(request_server(request)->readers, &reading->aside.work);
}

/* Before that, a request whose files have URLs waits for them, and no thread does. The readers are not put to work by
 * the loop that has fetched the last one: they may have been stopped by then. */
struct fetching {
    struct aside aside;
    struct reading *reading; /* not begun; NULL once it was */
};

static void fetching_free(struct aside *aside)
{
    struct fetching *fetching = CONTAINER_OF(aside, struct fetching, aside);

    if (fetching->reading)
        reading_free(&fetching->reading->aside);
    free(fetching);
}

static enum err_code resume_fetched(struct request *request, struct aside *aside,
                                    struct err *err)
{
    struct fetching *fetching = CONTAINER_OF(aside, struct fetching, aside);

    (void)err;
    begin_reading(request, TAKE(fetching->reading));
    return ERR_OK;
}

static const struct aside_ops fetching_ops = {.resume = resume_fetched, .free = fetching_free};

static void fetched(void *arg)
{
    struct fetching *fetching = arg;

    aside_done(&fetching->aside, ERR_OK);
}

static void begin_fetching(struct request *request, struct reading *reading)
{
    struct fetching *fetching = mem_new(struct fetching);

    fetching->reading = reading;
    aside_begin(request, &fetching->aside, &fetching_ops);
    (void)input_files_fetch(reading->files, fetched, fetching);
}

bool input_files_wait(struct request *request, const char *member, endpoint_fn *endpoint)
{
    struct server *server = request_server(request);
    struct input_files *files;
    struct reading *reading;

    if (request_came_back(request))
        return false;
    input_files_drop_notes(request_json(request), member);
    files = input_files_find(server, request_tenant(request), request_json(request), member,
                             engine_any_loop(server->engine));
    if (!files)
        return false;
    reading = mem_new(struct reading);
    *reading = (struct reading){
        .aside.work.run = read_files,
        .files = files,
        .endpoint = endpoint,
        .body = request_take_json(request),
    };
    if (files->urls)
        begin_fetching(request, reading);
    else
        begin_reading(request, reading);
    return true;
}
