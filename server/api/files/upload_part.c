/*
 * A part of an upload: a form with a file and no fields. Many may come at once.
 *
 * The upload is read before the body: one that has ended, or has no room left, is refused at once. The store decides,
 * when the part is complete.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/tables/files/uploads.h"
#include "server/api/api.h"
#include "server/api/files/file_form.h"
#include "server/api/files/keep.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/server.h"

static const char *const names[] = {"data", NULL};

struct new_part {
    struct keep keep;
    struct part_row row;
};

static struct new_part *new_part_of(struct keep *keep)
{
    return CONTAINER_OF(keep, struct new_part, keep);
}

static enum err_code store(struct keep *keep, const struct blob_row *blob,
                           char ret_held[ID_SIZE], struct err *err)
{
    struct part_row *row = &new_part_of(keep)->row;
    enum err_code rc;

    memcpy(row->blob_id, blob->id, sizeof(blob->id));
    rc =
        store_upload_part_add(keep->server->store, &keep->tenant, &keep->idempotency, row, err);
    if (!rc)
        memcpy(ret_held, row->blob_id, ID_SIZE);
    return rc;
}

static json_t *answer(struct keep *keep)
{
    return encode_upload_part(&new_part_of(keep)->row);
}

static void new_part_free(struct keep *keep)
{
    free(new_part_of(keep));
}

static const struct keep_ops keep_ops = {
    .store = store, .answer = answer, .free = new_part_free, .is_piece = true};

static enum err_code end(struct request *request, struct file_form *form, struct err *err)
{
    struct new_part *part;

    if (!form->bytes)
        return err_invalid(err, "invalid_value", "data",
                           "Invalid 'data': a part has at least one byte.");
    part = mem_new(struct new_part);
    part->row = (struct part_row){.bytes = form->bytes, .created_at = clock_wall_us()};
    id_make(part->row.id, "part_");
    snprintf(part->row.upload_id, sizeof(part->row.upload_id), "%s",
             request_param(request, "upload"));
    return keep_begin(request, form, "", &part->keep, &keep_ops, err);
}

/* Which limit it was: that of a part, or what was left of the upload. */
static enum err_code too_large(const struct file_form *form, struct err *err)
{
    size_t limit = form->server->config->max_upload_part;

    if (form->limit == limit)
        return err_set_api(err, ERR_TOO_LARGE, "file_too_large", "data",
                           "The file is larger than %zu bytes.", limit);
    return upload_overflow(form->total, err);
}

static const struct file_form_kind kind = {.names = names, .too_large = too_large, .end = end};

enum err_code api_upload_part(struct request *request, struct err *err)
{
    CLEANUP(upload_row_clear) struct upload_row row = {0};
    const struct server *server = request_server(request);
    uint64_t limit = server->config->max_upload_part;
    enum upload_status status;
    enum err_code rc = store_upload_get(server->store, request_tenant(request),
                                        request_param(request, "upload"), &row, err);

    if (!rc)
        rc = upload_check(&row, UPLOAD_EV_PART, &status, err);
    if (rc)
        return rc;
    /* A part that comes again under its key needs no room. */
    if (!request_header(request, "Idempotency-Key") && row.bytes - row.in_parts < limit)
        limit = row.bytes - row.in_parts;
    return file_form_take(request, &kind, limit, row.bytes, err);
}
