#include "server/files/file_loading.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/pictures.h"
#include "core/run/turn/named_files.h"
#include "core/store/tables/files/files.h"
#include "server/files/file_room.h"
#include "server/files/stored_file.h"
#include "server/masking.h"
#include "server/server.h"
#include "server/workers.h"

#define LOADING_THREADS 2

struct file_loading {
    struct before_send hook;
    struct server *server;
    struct workers *workers;
    struct file_room *room;
    atomic_bool stopping;
};

/* One request on its way. Freed before done(), which may end the run that it belongs to. */
struct job {
    struct work work;
    struct file_loading *loading;
    struct outgoing *outgoing;
    size_t left;  /* bytes of files that may still be loaded */
    size_t files; /* bytes of memory for files and their texts: measured first, then loaded */
    size_t pages; /* the same for pictures of pages: at most, then drawn */
};

/* Bytes as they are sent, in base64. */
static size_t in_base64(size_t bytes)
{
    return bytes / 3 * 4 + 4;
}

/* ---- One part ---- */

static void become_text(json_t *part, json_t *text)
{
    json_object_clear(part);
    json_set_string(part, "type", "text");
    json_set(part, "text", text);
}

static void become_note(json_t *part, const char *id, const char *what)
{
    AUTO_FREE char *note = mem_printf("[file %s %s]", id, what);

    become_text(part, json_string(note));
}

static enum err_code load_picture(const struct stored_file *file, json_t *image,
                                  struct err *err)
{
    const char *type = NULL;
    json_t *url = NULL;
    enum err_code rc = stored_file_picture(file, &type, err);

    if (!rc)
        rc = stored_file_url(file, type, &url, err);
    if (rc)
        return rc;
    json_object_del(image, "file_id");
    json_set(image, "url", url);
    return ERR_OK;
}

static enum err_code load_file(const struct job *job, const struct stored_file *file,
                               json_t *part, json_t *named, struct err *err)
{
    json_t *loaded = NULL;
    enum err_code rc;

    if (!job->outgoing->upstream->reads_files) {
        rc = stored_file_text(file, &loaded, err);
        if (!rc)
            become_text(part, loaded);
        return rc;
    }
    rc = stored_file_url(file, stored_file_media_type(file), &loaded, err);
    if (rc)
        return rc;
    json_object_del(named, "file_id");
    if (!json_object_get(named, "filename"))
        json_set_string(named, "filename", file->row.filename);
    json_set(named, "file_data", loaded);
    return ERR_OK;
}

/* The memory for a file, or for its text. */
static size_t need_of(const struct job *job, const struct file_row *row, bool picture)
{
    return picture || job->outgoing->upstream->reads_files ? in_base64((size_t)row->bytes)
                                                           : MODEL_FILE_TEXT_LIMIT;
}

/* What is wrong with the file itself is no failure of the request: the model is sent that it is missing. */
static enum err_code load_named(struct job *job, json_t *part, json_t *named, bool picture,
                                struct err *err)
{
    AUTO_FREE char *id = mem_strdup(json_get_string(named, "file_id", ""));
    CLEANUP(stored_file_close) struct stored_file file = {0};
    enum err_code rc =
        stored_file_open(job->loading->server, &job->outgoing->tenant, id, &file, err);

    if (rc == ERR_NOT_FOUND) {
        become_note(part, id, "is gone");
        return ERR_OK;
    }
    if (rc)
        return rc;
    if (file.row.bytes > job->left) {
        become_note(part, id, "was left out: the files of this request are too large");
        return ERR_OK;
    }
    job->left -= (size_t)file.row.bytes;
    job->files += need_of(job, &file.row, picture);
    rc = picture ? load_picture(&file, named, err) : load_file(job, &file, part, named, err);
    if (rc == ERR_INVALID || rc == ERR_TOO_LARGE) {
        become_note(part, id, "cannot be read");
        return ERR_OK;
    }
    return rc;
}

/* ---- Pages ---- */

static json_t *picture_part(const char *bytes, size_t length)
{
    AUTO_BUF url = {0};

    buf_add_text(&url, "data:image/png;base64,");
    base64_add(&url, bytes, length);
    return json_build("{s:s, s:{s:s, s:o}}", "type", "image_url", "image_url", "detail", "high",
                      "url", json_stringn_nocheck(url.data, url.length));
}

/* Puts pictures into `content` instead of the part at `at`. ERR_TOO_LARGE: more than `limit` bytes. */
static enum err_code put_pages(const struct document_pictures *pictures, size_t limit,
                               json_t *content, size_t at, struct err *err)
{
    if (pictures->bytes.length > limit)
        return err_set(err, ERR_TOO_LARGE,
                       "The pictures of the pages have more than %zu bytes.", limit);
    json_array_remove(content, at);
    for (size_t i = 0, begin = 0; i < pictures->count; begin = pictures->ends[i++])
        json_array_insert_new(
            content, at + i,
            picture_part(pictures->bytes.data + begin, pictures->ends[i] - begin));
    return ERR_OK;
}

/* Of a PDF that stands in the part. */
static enum err_code draw_data(const char *data, struct document_pictures *ret_pictures,
                               struct err *err)
{
    static const char mark[] = ";base64,";
    const char *comma = strncmp(data, "data:", 5) == 0 ? strstr(data, mark) : NULL;
    const char *digits = comma ? comma + strlen(mark) : data;
    size_t length = 0;
    AUTO_FREE char *bytes = base64_decode(digits, strlen(digits), &length);
    int fd = -1;
    enum err_code rc = bytes ? file_copy(bytes, length, &fd, err)
                             : err_set(err, ERR_INVALID, "the file is no base64");

    if (rc)
        return rc;
    rc = document_pictures(fd, ret_pictures, err);
    close(fd);
    return rc;
}

static enum err_code draw(const struct job *job, const json_t *named,
                          struct document_pictures *ret_pictures, struct err *err)
{
    const char *data = json_get_string(named, "file_data", NULL);
    CLEANUP(stored_file_close) struct stored_file file = {0};
    enum err_code rc;

    if (data)
        return draw_data(data, ret_pictures, err);
    rc = stored_file_open(job->loading->server, &job->outgoing->tenant,
                          json_get_string(named, "file_id", ""), &file, err);
    return rc ? rc : stored_file_pictures(&file, ret_pictures, err);
}

/* Pictures that cannot be had are left out: the text of the pages stands before them. */
static enum err_code load_pages(struct job *job, json_t *content, size_t at,
                                const json_t *named, struct err *err)
{
    CLEANUP(document_pictures_clear) struct document_pictures pictures = {0};
    enum err_code rc;

    if (job->outgoing->upstream->text_only || masking_hook(job->loading->server->masking)) {
        json_array_remove(content, at);
        return ERR_OK;
    }
    rc = draw(job, named, &pictures, err);
    if (!rc)
        rc = put_pages(&pictures, job->left, content, at, err);
    if (!rc) {
        job->left -= pictures.bytes.length;
        job->pages += in_base64(pictures.bytes.length);
    }
    if (rc != ERR_NOT_FOUND && rc != ERR_INVALID && rc != ERR_TOO_LARGE)
        return rc;
    become_text(json_array_get(content, at),
                json_string("[the pictures of the pages were left out]"));
    return ERR_OK;
}

static enum err_code load_part(struct job *job, json_t *content, size_t at, struct err *err)
{
    json_t *part = json_array_get(content, at);
    bool picture;
    json_t *named = named_file_of(part, &picture);

    if (!named)
        return ERR_OK;
    if (named_pages(named))
        return load_pages(job, content, at, named, err);
    if (picture && job->outgoing->upstream->text_only) {
        become_text(part, json_string("[a picture was left out: this model reads text only]"));
        return ERR_OK;
    }
    return json_object_get(named, "file_id") ? load_named(job, part, named, picture, err)
                                             : ERR_OK;
}

/* Adds what a part will need: the file in base64, or its text. */
static enum err_code measure_part(struct job *job, json_t *content, size_t at, struct err *err)
{
    const json_t *part = json_array_get(content, at);
    CLEANUP(file_row_clear) struct file_row row = {0};
    const struct model_upstream *upstream = job->outgoing->upstream;
    bool picture;
    const json_t *named = named_file_of(part, &picture);
    const char *id = named ? json_get_string(named, "file_id", NULL) : NULL;
    enum err_code rc;

    if (named && named_pages(named)) {
        job->pages += in_base64(named_pages(named) * DOCUMENT_PICTURE_BYTES_MAX);
        return ERR_OK;
    }
    if (!id || (picture && upstream->text_only))
        return ERR_OK;
    rc = store_file_get(job->loading->server->store, &job->outgoing->tenant, id, &row, err);
    if (rc == ERR_NOT_FOUND)
        return ERR_OK;
    if (rc || row.bytes > job->left)
        return rc;
    job->left -= (size_t)row.bytes;
    job->files += need_of(job, &row, picture);
    return ERR_OK;
}

/* ---- All messages ---- */

/* A content of texts alone is one string, as context.c makes it: not every server reads a list. */
static void join_texts(json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    AUTO_BUF text = {0};
    size_t i;
    json_t *part;

    json_array_foreach (content, i, part) {
        if (!json_object_get(part, "text"))
            return;
        buf_addf(&text, "%s%s", i ? "\n\n" : "", json_get_string(part, "text", ""));
    }
    json_set(message, "content", json_stringn_nocheck(text.data ? text.data : "", text.length));
}

/* Looks at a part, and may put others in its place. */
typedef enum err_code part_fn(struct job *job, json_t *content, size_t at, struct err *err);

/* From the newest message to the oldest, and within one from the last part to the first. */
static enum err_code each_part(struct job *job, part_fn *look_at, struct err *err)
{
    json_t *messages = job->outgoing->messages;

    job->left = FILE_LOADING_LIMIT;
    job->files = job->pages = 0;
    for (size_t i = json_array_size(messages); i--;) {
        json_t *message = json_array_get(messages, i);
        json_t *content = json_object_get(message, "content");

        for (size_t j = json_is_array(content) ? json_array_size(content) : 0; j--;) {
            enum err_code rc = look_at(job, content, j, err);

            if (rc)
                return rc;
        }
    }
    return ERR_OK;
}

static void end(struct job *job, enum err_code rc)
{
    struct outgoing *outgoing = job->outgoing;

    outgoing->rc = rc;
    free(job);
    outgoing->done(outgoing);
}

static void load(struct work *work)
{
    struct job *job = CONTAINER_OF(work, struct job, work);
    const json_t *messages = job->outgoing->messages;
    enum err_code rc = atomic_load(&job->loading->stopping)
                           ? ERR_CANCELLED
                           : each_part(job, load_part, &job->outgoing->why);

    for (size_t i = 0; !rc && i < json_array_size(messages); i++) {
        json_t *message = json_array_get(messages, i);

        if (json_is_array(json_object_get(message, "content")))
            join_texts(message);
    }
    file_room_shrink(job->outgoing->sent_arg, job->files + job->pages);
    end(job, rc);
}

/* ---- The room for them ---- */

/* The messages have it until they are sent, so it outlives the job. */
static void granted(struct room_claim *claim, void *arg)
{
    struct job *job = arg;

    job->outgoing->sent = file_room_give_back;
    job->outgoing->sent_arg = claim;
    job->work.run = load;
    workers_put(job->loading->workers, &job->work);
}

/* The first of two rounds. In the second a file may be gone, or have other bytes, but all together have no more than
 * FILE_LOADING_LIMIT. What was claimed and is not needed is given back at once: few pages are as large as they may
 * be. */
static void measure(struct work *work)
{
    struct job *job = CONTAINER_OF(work, struct job, work);
    struct outgoing *outgoing = job->outgoing;
    enum err_code rc = each_part(job, measure_part, &outgoing->why);
    size_t pages =
        job->pages < in_base64(FILE_LOADING_LIMIT) ? job->pages : in_base64(FILE_LOADING_LIMIT);

    if (!rc)
        rc = file_room_claim(job->loading->room, &outgoing->tenant, job->files + pages, granted,
                             job, &outgoing->why);
    if (rc)
        end(job, rc);
}

static void look(struct before_send *hook, struct outgoing *outgoing)
{
    struct file_loading *loading = CONTAINER_OF(hook, struct file_loading, hook);
    struct job *job = mem_new(struct job);

    job->loading = loading;
    job->outgoing = outgoing;
    job->work.run = measure;
    job->work.tenant = tenant_kept(&outgoing->tenant);
    workers_put(loading->workers, &job->work);
}

struct file_loading *file_loading_start(struct server *server)
{
    struct file_loading *loading = mem_new(struct file_loading);

    loading->workers = workers_new(server->crew, LOADING_THREADS);
    loading->hook.look = look;
    loading->server = server;
    loading->room =
        file_room_new(server->config->loaded_files, server->config->max_waiting_files);
    return loading;
}

struct file_room *file_loading_room(struct file_loading *loading)
{
    return loading->room;
}

void file_loading_hurry(struct file_loading *loading)
{
    if (!loading)
        return;
    atomic_store(&loading->stopping, true);
    file_room_open(loading->room);
}

void file_loading_stop(struct file_loading *loading)
{
    if (!loading)
        return;
    file_loading_hurry(loading);
    workers_stop(loading->workers);
    file_room_close(loading->room);
    free(loading);
}

void file_loading_stats(struct file_loading *loading, size_t *ret_held, size_t *ret_waiting)
{
    file_room_stats(loading->room, ret_held, ret_waiting);
}

struct before_send *file_loading_hook(struct file_loading *loading)
{
    return &loading->hook;
}
