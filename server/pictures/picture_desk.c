/*
 * picture_desk.c -- from a tool call to a picture.
 *
 *   draw()  limits ─▶ pictures to begin with: files, data URLs, URLs ─▶ picture_model_draw() ─▶ type, file
 *
 * What a context names may have gone, or may be no picture. The model that called reads which.
 */

#include "server/pictures/picture_desk.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/http_ask.h"
#include "core/picture/picture_model.h"
#include "core/tool/executor.h"
#include "core/tool/registry.h"
#include "core/tool/tool_container.h"
#include "server/config/config.h"
#include "server/files/file_writes.h"
#include "server/files/stored_file.h"
#include "server/outgoing.h"
#include "server/pictures/kept_pictures.h"
#include "server/server.h"

/* A call may wait for room in its channel, and keep its picture: its handler has so much more time than the image
 * model. */
#define AROUND_SECONDS 60.0

/* All pictures that an edit begins with have at most so many times the bytes of one. */
#define SOURCES_TOGETHER ((size_t)4)

/* Pictures of one edit that are fetched side by side, and the mask. */
#define FETCHES_AT_ONCE ((size_t)4)

/* ---- Pictures to begin with ---- */

struct sources {
    struct picture_source list[PICTURE_SOURCE_LIMIT + 1]; /* the last one is the mask */
    size_t count;
    struct picture_source *mask;
    size_t left; /* bytes that they may still have together */
    /* Those of the list that are on their way; taken by who waits for them */
    struct http_ask *asked[PICTURE_SOURCE_LIMIT + 1];
    size_t begun; /* of the list */
};

static void sources_clear(struct sources *sources)
{
    for (size_t i = 0; i < COUNT_OF(sources->list); i++) {
        http_ask_drop(sources->asked[i]);
        buf_clear(&sources->list[i].bytes);
    }
}

static size_t limit_of(const struct server *server)
{
    return server->config->images.max_bytes;
}

static enum err_code too_large(const struct server *server, struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "A picture to begin with has more than %zu bytes.",
                   limit_of(server));
}

static enum err_code load_file(const struct server *server, const struct tenant *tenant,
                               const char *id, struct buf *ret_bytes, struct err *err)
{
    CLEANUP(stored_file_close) struct stored_file file = {0};
    enum err_code rc = stored_file_open(server, tenant, id, &file, err);

    if (rc == ERR_NOT_FOUND)
        return err_set(err, ERR_INVALID, "The picture %s is gone.", id);
    if (rc)
        return rc;
    if (file.row.bytes > limit_of(server))
        return too_large(server, err);
    rc = stored_file_bytes(&file, buf_reserve(ret_bytes, (size_t)file.row.bytes), err);
    if (!rc)
        buf_added(ret_bytes, (size_t)file.row.bytes);
    return rc;
}

static enum err_code load_base64(const struct server *server, const char *base64,
                                 struct buf *ret_bytes, struct err *err)
{
    size_t length = 0;
    AUTO_FREE char *bytes = base64_decode(base64, strlen(base64), &length);

    if (!bytes)
        return err_set(err, ERR_INVALID, "A picture to begin with is no base64.");
    if (length > limit_of(server))
        return too_large(server, err);
    buf_add(ret_bytes, bytes, length);
    return ERR_OK;
}

/* Where it is to be fetched; NULL: it is a file, or its bytes are here. */
static const char *url_of(const json_t *named)
{
    const char *url = json_get_string(named, "image_url", "");
    bool here = json_get_string(named, "file_id", NULL) ||
                json_get_string(named, "blob_id", NULL) ||
                json_get_string(named, "base64", NULL) || strncmp(url, "data:", 5) == 0;

    return here ? NULL : url;
}

/* `asked` is taken: the picture on its way, if it has a URL. */
static enum err_code load_named(const struct server *server, const struct tool_call *call,
                                const json_t *named, struct http_ask *asked,
                                struct buf *ret_bytes, struct err *err)
{
    const char *id = json_get_string(named, "file_id", NULL);
    const char *blob = json_get_string(named, "blob_id", NULL);
    const char *base64 = json_get_string(named, "base64", NULL);
    const char *url = json_get_string(named, "image_url", "");

    if (id)
        return load_file(server, tool_call_tenant(call), id, ret_bytes, err);
    if (blob)
        return kept_picture_read(server, tool_call_tenant(call), blob, limit_of(server),
                                 ret_bytes, err);
    if (!base64 && strncmp(url, "data:", 5) == 0) {
        const char *comma = strchr(url, ',');

        base64 = comma ? comma + 1 : url; /* the whole URL is no base64 */
    }
    if (base64)
        return load_base64(server, base64, ret_bytes, err);
    return picture_model_fetched(asked, url, tool_call_cancel_fd(call), ret_bytes, err);
}

static enum err_code load_source(const struct server *server, const struct tool_call *call,
                                 const json_t *named, struct sources *sources,
                                 struct picture_source *source, struct err *err)
{
    struct http_ask *asked = TAKE(sources->asked[source - sources->list]);
    enum err_code rc = load_named(server, call, named, asked, &source->bytes, err);

    if (rc)
        return rc;
    if (source->bytes.length > sources->left)
        return err_set(err, ERR_TOO_LARGE,
                       "The pictures to begin with have more than %zu bytes together.",
                       SOURCES_TOGETHER * limit_of(server));
    sources->left -= source->bytes.length;
    source->type =
        file_picture_type(source->bytes.data ? source->bytes.data : "", source->bytes.length);
    if (!source->type)
        return err_set(err, ERR_INVALID,
                       "A picture to begin with is of no supported type: PNG, JPEG, WebP or "
                       "GIF.");
    return ERR_OK;
}

/* Those that come next are on their way while one is awaited. */
static void fetch_ahead(const struct server *server, const json_t *pictures, size_t first,
                        struct sources *sources)
{
    size_t end = sources->count + FETCHES_AT_ONCE;

    for (; sources->begun < end && first + sources->begun < json_array_size(pictures);
         sources->begun++) {
        const char *url = url_of(json_array_get(pictures, first + sources->begun));

        if (url)
            sources->asked[sources->begun] = picture_model_fetch(server->picture_model, url);
    }
}

/* The newest ones, if there are too many. */
static enum err_code load_sources(const struct server *server, const struct tool_call *call,
                                  const json_t *mask, struct sources *sources, struct err *err)
{
    const json_t *pictures = tool_call_pictures(call);
    size_t all = json_array_size(pictures);
    size_t first = all > PICTURE_SOURCE_LIMIT ? all - PICTURE_SOURCE_LIMIT : 0;
    const char *mask_url = json_absent(mask) ? NULL : url_of(mask);

    sources->left = SOURCES_TOGETHER * limit_of(server);
    if (!all)
        return err_set(err, ERR_INVALID, "There is no picture to edit: draw one first.");
    if (mask_url)
        sources->asked[PICTURE_SOURCE_LIMIT] =
            picture_model_fetch(server->picture_model, mask_url);
    for (size_t i = first; i < all; i++) {
        enum err_code rc;

        fetch_ahead(server, pictures, first, sources);
        rc = load_source(server, call, json_array_get(pictures, i), sources,
                         &sources->list[sources->count++], err);
        if (rc)
            return rc;
    }
    if (json_absent(mask))
        return ERR_OK;
    sources->mask = &sources->list[PICTURE_SOURCE_LIMIT];
    return load_source(server, call, mask, sources, sources->mask, err);
}

/* ---- What becomes of the picture ---- */

static const char *type_of(const struct picture *picture)
{
    AUTO_FREE char *bytes = NULL;
    size_t length = picture->base64.length < 32 ? picture->base64.length : 32;
    const char *type;

    bytes = base64_decode(picture->base64.data, length / 4 * 4, &length);
    type = bytes ? file_picture_type(bytes, length) : NULL;
    if (!type && strcmp(json_get_string(picture->facts, "output_format", ""), "svg") == 0)
        return "image/svg+xml";
    return type;
}

/* In a stored response: the item names the blob (core/store/tables/files/pictures.h). */
static enum err_code keep_blob(const struct server *server, const struct tool_call *call,
                               struct tool_drawn *drawn, struct err *err)
{
    return kept_picture_put(server, tool_call_tenant(call), drawn->base64, drawn->blob_id, err);
}

/* In a thread's run: the next message shows the file. */
static enum err_code keep(const struct server *server, const struct tool_call *call,
                          struct tool_drawn *drawn, struct err *err)
{
    const char *ending = strchr(drawn->type, '/') + 1;
    AUTO_FREE char *name = mem_printf("picture.%.*s", (int)strcspn(ending, "+"), ending);
    AUTO_FREE char *base64 = TAKE(drawn->base64);
    size_t length = 0;
    AUTO_FREE char *bytes = base64_decode(base64, strlen(base64), &length);
    CLEANUP(tool_file_clear) struct tool_file file = {0};
    enum err_code rc = file_writes_make((void *)(uintptr_t)server, tool_call_tenant(call), name,
                                        NULL, bytes, length, &file, err);

    if (!rc)
        drawn->file_id = TAKE(file.id);
    return rc;
}

static enum err_code take_picture(const struct server *server, const struct tool_call *call,
                                  struct picture *picture, struct tool_drawn *drawn,
                                  struct err *err)
{
    const char *type = type_of(picture);

    if (!type)
        return err_set(err, ERR_UPSTREAM, "What the image model has sent is no picture.");
    drawn->type = mem_strdup(type);
    drawn->bytes = picture->bytes;
    drawn->base64 = buf_take(&picture->base64);
    drawn->facts = json_incref(picture->facts);
    if (tool_call_keeps_files(call))
        return keep(server, call, drawn, err);
    return tool_call_is_stored(call) ? keep_blob(server, call, drawn, err) : ERR_OK;
}

/* ---- The drawing ---- */

struct previewing {
    struct tool_call *call;
    const struct tool_drawing *drawing;
};

static enum err_code show_preview(void *arg, const json_t *event)
{
    const struct previewing *previewing = arg;

    return previewing->drawing->preview(previewing->call, event);
}

static enum err_code draw_from(const struct server *server, struct tool_call *call,
                               const struct tool_drawing *drawing,
                               const struct sources *sources, struct tool_drawn *ret_drawn,
                               struct err *err)
{
    struct previewing previewing = {call, drawing};
    const struct picture_order order = {
        .prompt = drawing->prompt,
        .members = drawing->members,
        .previews = drawing->previews,
        .sources = sources->list,
        .source_count = sources->count,
        .mask = sources->mask,
        .cancel_fd = tool_call_cancel_fd(call),
        .preview = show_preview,
        .arg = &previewing,
    };
    CLEANUP(picture_clear) struct picture picture = {0};
    enum err_code rc = picture_model_draw(server->picture_model, &order, &picture, err);

    if (!rc)
        return take_picture(server, call, &picture, ret_drawn, err);
    ret_drawn->error = json_incref(picture.error);
    return rc;
}

static enum err_code draw(void *arg, struct tool_call *call, const struct tool_drawing *drawing,
                          struct tool_drawn *ret_drawn, struct err *err)
{
    const struct server *server = arg;
    CLEANUP(sources_clear) struct sources sources = {0};
    enum err_code rc = ERR_OK;

    if (!server->picture_model)
        return err_set(err, ERR_INVALID, "This server draws no pictures.");
    if (tool_call_drawn(call) > server->config->images.max_pictures)
        return err_set(err, ERR_LIMIT, "One request may draw %u pictures.",
                       server->config->images.max_pictures);
    if (drawing->edit)
        rc = load_sources(server, call, drawing->mask, &sources, err);
    return rc ? rc : draw_from(server, call, drawing, &sources, ret_drawn, err);
}

struct tool_painter picture_desk(struct server *server)
{
    return (struct tool_painter){.draw = draw, .arg = server};
}

/* ---- Start and stop ---- */

enum err_code pictures_start(struct server *server, struct err *err)
{
    const struct config *config = server->config;
    const struct config_images *images = &config->images;

    if (!images->upstream)
        return ERR_OK;
    server->picture_model = picture_model_new(&(struct picture_model_options){
        .url = images->upstream->url,
        .api_key = images->upstream->api_key,
        .model = images->model,
        .legacy = images->legacy,
        .picture_limit = images->max_bytes,
        .timeout_seconds = images->timeout_seconds,
        .egress = &config->egress,
        .mask = config->masks ? outgoing_mask : NULL,
        .mask_arg = config->masks,
        .any_loop = outgoing_loop,
        .loop_arg = server,
    });
    server->picture_executor =
        tool_executor_new(images->calls, images->timeout_seconds + AROUND_SECONDS);
    tool_executor_share(server->picture_executor); /* a drawing takes minutes */
    return tool_executor_start(server->picture_executor, err);
}

void pictures_declare(const struct server *server)
{
    tool_registry_lack(TOOL_DRAWS, server->config->images.upstream
                                       ? NULL
                                       : "its configuration names no image model");
}

void pictures_stop(struct server *server, uint64_t patience_ns)
{
    if (server->picture_executor)
        tool_executor_stop(server->picture_executor, patience_ns);
}

void pictures_free(struct server *server)
{
    if (server->picture_executor)
        tool_executor_free(server->picture_executor);
    picture_model_free(server->picture_model);
}
