#ifndef RUNNEL_CORE_STORE_TABLES_FILES_UPLOADS_H
#define RUNNEL_CORE_STORE_TABLES_FILES_UPLOADS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"
#include "core/store/tables/idempotency.h"

/*
 * uploads.h -- files that come in parts, as rows.
 *
 * An upload is made for a number of bytes. Parts are added to it, by many requests at once, and each holds a blob. In
 * the end a file is made of some of them, in an order that the client says, or the upload is cancelled or expires.
 * However it ends, its parts let go of their blobs.
 *
 * The bytes of an upload count as used by its project from its beginning, so that a project cannot have more in parts
 * than it may have in files. A file takes them over; otherwise they are given back.
 *
 * Each change locks the upload's row, so an upload ends once, and no part comes behind its end. An upload whose time
 * has passed counts as expired from that moment, by the database's clock.
 *
 * ERR_NOT_FOUND is "No upload found with id 'X'.". ERR_CONFLICT with REASON_UPLOAD_ENDED: its status does not allow
 * that.
 */

#define UPLOAD_SECONDS 3600 /* the life of a pending upload */

/* A file that is being made of its parts when the time passes is still finished within this. */
#define UPLOAD_FINISH_SECONDS 900

/* How long an upload that has ended is known after its time has passed: a repeated request finds it. */
#define UPLOAD_KEPT_SECONDS 604800

#define UPLOAD_PARTS_LIMIT ((size_t)10000) /* parts of one upload */

/* A request whose key was used before makes nothing, and *row becomes what the first one made. ERR_INVALID with
 * REASON_STORAGE_QUOTA if the project would have more than `limit` bytes (0: no limit). */
enum err_code store_upload_create(struct store *store, const struct tenant *tenant,
                                  const struct idempotency *idempotency, uint64_t limit,
                                  struct upload_row *row, struct err *err) MUST_CHECK;

enum err_code store_upload_get(struct store *store, const struct tenant *tenant, const char *id,
                               struct upload_row *ret_row, struct err *err) MUST_CHECK;

/* May that happen to it now? *ret_status is what it becomes. The error is that of the functions below. Pure. */
enum err_code upload_check(const struct upload_row *row, enum upload_event event,
                           enum upload_status *ret_status, struct err *err) MUST_CHECK;

/* Its parts would have more than these bytes: the error for that. */
enum err_code upload_overflow(uint64_t bytes, struct err *err);

/* Adds a part, which holds its blob. A repeated key as above, with another blob_id. ERR_INVALID with
 * REASON_UPLOAD_TOO_LARGE: the parts would have more bytes than the upload; REASON_LIST_TOO_LONG: it has
 * UPLOAD_PARTS_LIMIT parts. */
enum err_code store_upload_part_add(struct store *store, const struct tenant *tenant,
                                    const struct idempotency *idempotency,
                                    struct part_row *part, struct err *err) MUST_CHECK;

/* All parts, in the order of their ids. The caller frees. None, if the upload has ended or does not exist. */
enum err_code store_upload_parts(struct store *store, const struct tenant *tenant,
                                 const char *id, struct part_row **ret_parts, size_t *ret_count,
                                 struct err *err) MUST_CHECK;

/* Makes the file, which has the upload's bytes in a blob of its own, and ends the upload. `part_ids` is JSON. An upload
 * that was completed with the same `part_ids` changes nothing: *file becomes the file of then, with another blob_id, or
 * has the id "" if that was deleted. */
enum err_code store_upload_complete(struct store *store, const struct tenant *tenant,
                                    const char *id, const char *part_ids, struct file_row *file,
                                    struct err *err) MUST_CHECK;

/* Of one that was cancelled before: ERR_OK, and nothing changes. */
enum err_code store_upload_cancel(struct store *store, const struct tenant *tenant,
                                  const char *id, struct upload_row *ret_row,
                                  struct err *err) MUST_CHECK;

/* For the keeper: ends up to `limit` pending uploads whose time has passed, of all projects, and then forgets as many
 * that ended long ago. *ret_count: the larger of both. */
enum err_code store_uploads_expire(struct store *store, size_t limit, size_t *ret_count,
                                   struct err *err) MUST_CHECK;

#endif
