/*
 * A file in one request: its form as it arrives, then its row.
 */

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/files/files.h"
#include "server/api/api.h"
#include "server/api/files/file_form.h"
#include "server/api/files/file_params.h"
#include "server/api/files/keep.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/server.h"

enum field { FIELD_PURPOSE, FIELD_ANCHOR, FIELD_SECONDS };

static const char *const names[] = {
    [FIELD_PURPOSE] = "purpose",
    [FIELD_ANCHOR] = "expires_after[anchor]",
    [FIELD_SECONDS] = "expires_after[seconds]",
    "file",
    NULL,
};

struct new_file {
    struct keep keep;
    struct file_row row;
};

static struct new_file *new_file_of(struct keep *keep)
{
    return CONTAINER_OF(keep, struct new_file, keep);
}

/* ---- The row ---- */

static enum err_code store(struct keep *keep, const struct blob_row *blob,
                           char ret_held[ID_SIZE], struct err *err)
{
    struct file_row *row = &new_file_of(keep)->row;
    enum err_code rc;

    id_make(row->id, "file-");
    memcpy(row->blob_id, blob->id, sizeof(blob->id));
    rc = store_file_create(keep->server->store, &keep->tenant, &keep->idempotency,
                           keep->server->config->max_project_bytes, row, err);
    if (!rc)
        memcpy(ret_held, row->blob_id, ID_SIZE);
    return rc;
}

static json_t *answer(struct keep *keep)
{
    return encode_file(&new_file_of(keep)->row);
}

static void new_file_free(struct keep *keep)
{
    struct new_file *file = new_file_of(keep);

    file_row_clear(&file->row);
    free(file);
}

static const struct keep_ops keep_ops = {
    .store = store, .answer = answer, .free = new_file_free};

/* ---- The form ---- */

/* The fields as an object, so that they are read as those of any body. Digits are a number. */
static json_t *body_of(const struct file_form *form)
{
    AUTO_FREE char *purpose = file_form_field(form, FIELD_PURPOSE);
    AUTO_FREE char *anchor = file_form_field(form, FIELD_ANCHOR);
    AUTO_FREE char *seconds = file_form_field(form, FIELD_SECONDS);
    json_t *body = json_build("{ss*}", "purpose", purpose);
    json_t *expiry = json_build("{ss*}", "anchor", anchor);

    if (seconds && *seconds && strlen(seconds) <= 18 &&
        !seconds[strspn(seconds, "0123456789-")])
        json_set_int(expiry, "seconds", strtoll(seconds, NULL, 10));
    else if (seconds)
        json_set_string(expiry, "seconds", seconds);
    if (json_object_size(expiry))
        json_object_set(body, "expires_after", expiry);
    json_decref(expiry);
    return body;
}

static enum err_code read_row(struct file_form *form, const json_t *body, struct file_row *row,
                              struct err *err)
{
    const char *purpose;
    int64_t seconds = 0;
    enum err_code rc = file_purpose(body, &purpose, err);

    if (!rc)
        rc = file_life(body, purpose, &seconds, err);
    if (rc)
        return rc;
    *row = (struct file_row){.filename = TAKE(form->filename),
                             .purpose = mem_strdup(purpose),
                             .bytes = form->bytes,
                             .created_at = clock_wall_us()};
    if (seconds)
        row->expires_at = row->created_at + seconds * US_PER_SECOND;
    return ERR_OK;
}

static enum err_code end(struct request *request, struct file_form *form, struct err *err)
{
    json_auto_t *body = body_of(form);
    AUTO_FREE char *text = json_text(body);
    AUTO_FREE char *fields = mem_printf("%s\n%s", text, form->filename);
    struct new_file *file;
    struct file_row row;
    enum err_code rc = read_row(form, body, &row, err);

    if (rc)
        return rc;
    file = mem_new(struct new_file);
    file->row = row;
    return keep_begin(request, form, fields, &file->keep, &keep_ops, err);
}

static enum err_code too_large(const struct file_form *form, struct err *err)
{
    return err_set_api(err, ERR_TOO_LARGE, "file_too_large", "file",
                       "The file is larger than %llu bytes.", (unsigned long long)form->limit);
}

static const struct file_form_kind kind = {.names = names, .too_large = too_large, .end = end};

enum err_code api_file_create(struct request *request, struct err *err)
{
    return file_form_take(request, &kind, request_server(request)->config->max_file, 0, err);
}
