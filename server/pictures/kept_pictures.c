#include "server/pictures/kept_pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/domain/item.h"
#include "core/domain/notes.h"
#include "core/store/tables/files/pictures.h"
#include "core/tool/registry.h"
#include "core/tool/tool_item.h"
#include "server/server.h"

/* No picture that was kept is larger: the image model's limit is below it. */
#define SHOWN_LIMIT ((size_t)256 << 20)

static enum err_code write_blob(const struct server *server, const struct tenant *tenant,
                                const char *bytes, size_t length, struct blob_row *ret_blob,
                                struct err *err)
{
    struct blob_write *write = NULL;
    enum err_code rc = blob_write_begin(server->blobs, tenant, &write, err);

    if (!rc)
        rc = blob_write_add(write, bytes, length, err);
    if (!rc)
        rc = blob_write_finish(write, ret_blob, err);
    blob_write_free(write);
    return rc;
}

enum err_code kept_picture_put(const struct server *server, const struct tenant *tenant,
                               const char *base64, char ret_blob_id[ID_SIZE], struct err *err)
{
    size_t length = 0;
    AUTO_FREE char *bytes = base64_decode(base64, strlen(base64), &length);
    struct blob_row blob = {0};
    enum err_code rc;

    if (!bytes)
        return err_set(err, ERR_UPSTREAM, "What the image model has sent is no picture.");
    rc = write_blob(server, tenant, bytes, length, &blob, err);
    if (rc)
        return rc;
    rc = store_picture_add(server->store, tenant, &blob, err);
    if (rc)
        blob_remove_unheld(server->blobs, tenant, blob.id);
    else
        (void)snprintf(ret_blob_id, ID_SIZE, "%s", blob.id);
    return rc;
}

static enum err_code read_all(struct blob_read *read, struct buf *ret_bytes, struct err *err)
{
    size_t size = (size_t)blob_read_row(read)->bytes;
    size_t at = 0;

    while (at < size) {
        size_t got = 0;
        enum err_code rc =
            blob_read_at(read, at, buf_reserve(ret_bytes, size - at), size - at, &got, err);

        if (!rc && !got)
            rc = err_set(err, ERR_INTERNAL, "Bytes of a picture are missing.");
        if (rc)
            return rc;
        buf_added(ret_bytes, got);
        at += got;
    }
    return ERR_OK;
}

enum err_code kept_picture_read(const struct server *server, const struct tenant *tenant,
                                const char *blob_id, size_t limit, struct buf *ret_bytes,
                                struct err *err)
{
    struct blob_read *read = NULL;
    enum err_code rc = blob_read_open(server->blobs, tenant, blob_id, &read, err);

    if (rc == ERR_NOT_FOUND)
        return err_set(err, ERR_INVALID, "The picture is gone.");
    if (rc)
        return rc;
    if (blob_read_row(read)->bytes > limit)
        rc = err_set(err, ERR_TOO_LARGE, "The picture has more than %zu bytes.", limit);
    else
        rc = read_all(read, ret_bytes, err);
    blob_read_free(read);
    return rc;
}

/* ---- Items that are shown ---- */

static enum err_code put_picture(const struct server *server, const struct tenant *tenant,
                                 const char *field, const char *blob_id, json_t *body,
                                 struct err *err)
{
    AUTO_BUF bytes = {0};
    AUTO_BUF text = {0};
    enum err_code rc = kept_picture_read(server, tenant, blob_id, SHOWN_LIMIT, &bytes, err);

    if (rc == ERR_INVALID)
        return ERR_OK;
    if (rc)
        return rc;
    base64_add(&text, bytes.data, bytes.length);
    json_set(body, field, json_stringn_nocheck(text.data, text.length));
    return ERR_OK;
}

/* Most items are of another type, and are not parsed. */
static enum err_code fill(const struct server *server, const struct tenant *tenant,
                          struct item_row *item, struct err *err)
{
    const struct tool_item *look = item_type_kind(item->type) == ITEM_KIND_HOSTED_CALL
                                       ? tool_registry_item(item_row_type_name(item))
                                       : NULL;
    json_auto_t *body = NULL;
    enum err_code rc;

    if (!look || !look->picture_field || !item->body ||
        !strstr(item->body, "\"" NOTE_PICTURE "\""))
        return ERR_OK;
    body = json_parse_own(item->body);
    if (!item_picture(body) || !json_absent(json_object_get(body, look->picture_field)))
        return ERR_OK;
    rc = put_picture(server, tenant, look->picture_field, item_picture(body), body, err);
    if (rc)
        return rc;
    free(item->body);
    item->body = json_text(body);
    return ERR_OK;
}

enum err_code kept_pictures_fill(const struct server *server, const struct tenant *tenant,
                                 struct item_row *items, size_t count, struct err *err)
{
    enum err_code rc = ERR_OK;

    for (size_t i = 0; !rc && i < count; i++)
        rc = fill(server, tenant, &items[i], err);
    return rc;
}
