/*
 * api/pass_files.c -- loads files into a chat, on a reader, between the two halves of its request (aside.h).
 *
 *   reader   measure(): may the files be loaded, and how much room do they need? (file_room.h)
 *   reader   load(), when there is room: the new body, which has the room until it is sent
 *
 * The tree of the body says whether there is anything to load, and which upstream gets it. The new body is made from
 * the client's text: copied, with other values in a few places.
 */

#include "server/api/pass_files.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/json/json_span.h"
#include "core/base/mem.h"
#include "server/api/aside.h"
#include "server/api/input_files.h"
#include "server/api/pass.h"
#include "server/complaint.h"
#include "server/files/file_loading.h"
#include "server/files/file_room.h"
#include "server/files/stored_file.h"
#include "server/params/params.h"
#include "server/server.h"

#define FILE_PREFIX "file-"

struct loading {
    struct aside aside;
    struct server *server;
    struct room_claim *room; /* for the files; NULL: not yet, and they are only measured */
    struct tenant tenant;
    const struct model_upstream *upstream;
    char *text; /* the body as the client sent it */
    size_t length;
    struct buf loaded;   /* the new body, as far as it goes */
    const char *copied;  /* so far of the text is in it */
    size_t count, bytes; /* of its files */
};

/* ---- One file ---- */

/* An id that only the upstream can know is passed on as it is. */
static enum err_code unknown(const char *id, const char *place, struct err *err)
{
    int64_t made;

    if (!id_time(id, FILE_PREFIX, &made))
        return ERR_OK;
    return err_refuse(err, ERR_NOT_FOUND, REASON_UNSET, place, "No such File object: %.64s",
                      id);
}

static enum err_code check_room(struct loading *loading, const struct stored_file *file,
                                const char *place, struct err *err)
{
    if (++loading->count > INPUT_FILES_LIMIT)
        return err_invalid(err, "invalid_value", "messages",
                           "Too many files: a request may have %zu.", INPUT_FILES_LIMIT);
    if (file->row.bytes > PASS_FILES_LIMIT - loading->bytes)
        return err_invalid(err, "invalid_value", place,
                           "Invalid '%s': the files of a request may have %zu bytes.", place,
                           PASS_FILES_LIMIT);
    loading->bytes += (size_t)file->row.bytes;
    return ERR_OK;
}

static enum err_code put_file(struct loading *loading, const struct stored_file *file,
                              struct json_span span, json_t *object, struct err *err)
{
    json_t *url = NULL;
    enum err_code rc;

    if (!loading->room)
        return ERR_OK;
    rc = stored_file_url(file, stored_file_media_type(file), &url, err);
    if (rc)
        return rc;
    json_object_del(object, "file_id");
    if (json_absent(json_object_get(object, "filename")))
        json_set_string(object, "filename", file->row.filename);
    json_set(object, "file_data", url);
    buf_add(&loading->loaded, loading->copied, (size_t)(span.at - loading->copied));
    json_add_text(&loading->loaded, object);
    loading->copied = span.at + span.length;
    return ERR_OK;
}

static enum err_code load_file(struct loading *loading, struct json_span span, const char *path,
                               struct err *err)
{
    struct param_path place = param_key(path, "file_id");
    CLEANUP(stored_file_close) struct stored_file file = {0};
    json_auto_t *object = NULL;
    const char *id;
    enum err_code rc = json_parse(span.at, span.length, &object, err);

    if (rc)
        return rc;
    id = json_get_string(object, "file_id", "");
    if (!id_has_prefix(id, FILE_PREFIX))
        return ERR_OK;
    rc = stored_file_open(loading->server, &loading->tenant, id, &file, err);
    if (rc == ERR_NOT_FOUND)
        return unknown(id, place.text, err);
    if (!rc)
        rc = check_room(loading, &file, place.text, err);
    return rc ? rc : put_file(loading, &file, span, object, err);
}

/* ---- All files ---- */

static enum err_code load_part(struct loading *loading, struct json_span part, const char *path,
                               struct err *err)
{
    struct param_path place = param_key(path, "file");
    struct json_span type = {0}, file = {0}, member = {0};

    if (!json_span_member(part, "type", &type) || !json_span_is(type, "file") ||
        !json_span_member(part, "file", &file) || !json_span_member(file, "file_id", &member) ||
        json_span_member(file, "file_data", &member))
        return ERR_OK;
    return load_file(loading, file, place.text, err);
}

static enum err_code load_message(struct loading *loading, struct json_span message,
                                  const char *path, struct err *err)
{
    struct param_path of = param_key(path, "content");
    struct json_span content = {0}, part = {0};

    if (!json_span_member(message, "content", &content))
        return ERR_OK;
    for (size_t i = 0; json_span_next(content, &part); i++) {
        struct param_path place = param_index(of.text, i);
        enum err_code rc = load_part(loading, part, place.text, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code load_all(struct loading *loading, struct err *err)
{
    const char *end = loading->text + loading->length;
    const char *begin = memchr(loading->text, '{', loading->length);
    struct json_span body = {begin, begin ? (size_t)(end - begin) : 0};
    struct json_span messages = {0}, message = {0};

    loading->copied = loading->text;
    loading->count = loading->bytes = 0;
    if (json_span_member(body, "messages", &messages)) {
        for (size_t i = 0; json_span_next(messages, &message); i++) {
            struct param_path place = param_index("messages", i);
            enum err_code rc = load_message(loading, message, place.text, err);

            if (rc)
                return rc;
        }
    }
    if (loading->room)
        buf_add(&loading->loaded, loading->copied, (size_t)(end - loading->copied));
    return ERR_OK;
}

/* ---- Beside the request ---- */

static void loading_free(struct aside *aside)
{
    struct loading *loading = CONTAINER_OF(aside, struct loading, aside);

    buf_clear(&loading->loaded);
    file_room_give_back(loading->room);
    free(loading->text);
    free(loading);
}

static enum err_code resume(struct request *request, struct aside *aside, struct err *err)
{
    struct loading *loading = CONTAINER_OF(aside, struct loading, aside);
    struct pass_body body = {.length = loading->loaded.length,
                             .sent = file_room_give_back,
                             .sent_arg = TAKE(loading->room)};

    body.bytes = buf_take(&loading->loaded);
    return pass_bytes(request, loading->upstream, &body, err);
}

static const struct aside_ops loading_ops = {.resume = resume, .free = loading_free};

/* On a reader. */
static void load(struct work *work)
{
    struct loading *loading = CONTAINER_OF(work, struct loading, aside.work);

    aside_done(&loading->aside, load_all(loading, &loading->aside.err));
}

static void granted(struct room_claim *claim, void *arg)
{
    struct loading *loading = arg;

    loading->room = claim;
    loading->aside.work.run = load;
    workers_put(loading->server->readers, &loading->aside.work);
}

/* On a reader, before that: what the files need, and whether they may be loaded. */
static void measure(struct work *work)
{
    struct loading *loading = CONTAINER_OF(work, struct loading, aside.work);
    struct file_room *room = file_loading_room(loading->server->file_loading);
    struct err *err = &loading->aside.err;
    enum err_code rc = load_all(loading, err);

    if (!rc)
        rc =
            file_room_claim(room, &loading->tenant, loading->bytes / 3 * 4 + 4 * loading->count,
                            granted, loading, err);
    if (rc)
        aside_done(&loading->aside, rc);
}

static bool names_file(const json_t *part)
{
    const json_t *file = json_object_get(part, "file");

    return strcmp(json_get_string(part, "type", ""), "file") == 0 &&
           id_has_prefix(json_get_string(file, "file_id", ""), FILE_PREFIX);
}

static bool names_files(const json_t *body)
{
    size_t i, j;
    json_t *message, *part;

    json_array_foreach (json_object_get(body, "messages"), i, message)
        json_array_foreach (json_object_get(message, "content"), j, part)
            if (names_file(part))
                return true;
    return false;
}

bool pass_files_wait(struct request *request, const struct model_upstream *upstream)
{
    struct server *server = request_server(request);
    struct loading *loading;
    const char *text;

    if (strcmp(request_path(request), "/v1/chat/completions") != 0 ||
        !names_files(request_json(request)))
        return false;
    loading = mem_new(struct loading);
    text = request_body(request, &loading->length);
    loading->aside.work.run = measure;
    loading->server = server;
    loading->tenant = tenant_kept(request_tenant(request));
    loading->upstream = upstream;
    loading->text = mem_strndup(text, loading->length);
    aside_begin(request, &loading->aside, &loading_ops);
    workers_put(server->readers, &loading->aside.work);
    return true;
}
