#ifndef RUNNEL_SERVER_PICTURES_KEPT_PICTURES_H
#define RUNNEL_SERVER_PICTURES_KEPT_PICTURES_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"

struct server;

/*
 * kept_pictures.h -- pictures of responses, in blobs: kept, and read back.
 *
 * Stored items have only the id (core/store/tables/files/pictures.h). Who shows an item to a client has its picture put
 * into the row that was read. All functions block on the store and the place of blobs. Any thread but a loop.
 */

/* Keeps a picture, given in base64. ERR_INVALID with REASON_STORAGE_QUOTA: the project has as many bytes as it may.
 * ERR_UPSTREAM: it is no base64. Errors of core/blob. */
enum err_code kept_picture_put(const struct server *server, const struct tenant *tenant,
                               const char *base64, char ret_blob_id[ID_SIZE],
                               struct err *err) MUST_CHECK;

/* The bytes of a picture, of at most `limit`. ERR_INVALID: it is gone. ERR_TOO_LARGE. Errors of core/blob. */
enum err_code kept_picture_read(const struct server *server, const struct tenant *tenant,
                                const char *blob_id, size_t limit, struct buf *ret_bytes,
                                struct err *err) MUST_CHECK;

/* Puts the pictures into the bodies of items that were read. One that is gone stays null. */
enum err_code kept_pictures_fill(const struct server *server, const struct tenant *tenant,
                                 struct item_row *items, size_t count,
                                 struct err *err) MUST_CHECK;

#endif
