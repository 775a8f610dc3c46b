#ifndef RUNNEL_CORE_STORE_TABLES_FILES_PICTURES_H
#define RUNNEL_CORE_STORE_TABLES_FILES_PICTURES_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * pictures.h -- pictures that responses have drawn.
 *
 * The bytes of such a picture lie in a blob. An item of a call has its id as a note (NOTE_PICTURE in notes.h), and the
 * picture itself only while it is shown. The same picture may be in several items: copies of a conversation, and calls
 * that a later request names by their ids.
 *
 *   a tool has drawn ─▶ store_picture_add(): the row holds the blob, and counts for the project's limit
 *   the item is stored ─▶ item_pictures names both (picture_sql.h)
 *   an item is deleted ─▶ check_at ─▶ store_pictures_check(): no item has it any more, so it goes with its blob
 *
 * A crash between the first two leaves a picture without an item: it is checked later, too.
 */

/* After so long each picture has its item, or will never have one. Longer than a response may take. */
#define PICTURE_GRACE_SECONDS 86400

/* ERR_INVALID with REASON_STORAGE_QUOTA: the project has as many bytes as it may. */
enum err_code store_picture_add(struct store *store, const struct tenant *tenant,
                                const struct blob_row *blob, struct err *err) MUST_CHECK;

/* For the keeper: looks at up to `limit` pictures that are due, of all projects, and lets go those that no item has.
 * *ret_count is how many it looked at: fewer than `limit` when none is left. */
enum err_code store_pictures_check(struct store *store, size_t limit, size_t *ret_count,
                                   struct err *err) MUST_CHECK;

#endif
