/*
 * A file as it arrives.
 *
 * The form is read piece by piece (multipart.h), and the file goes into a blob. Node's SDK sends the file before
 * the fields, chunked and without a length, so nothing can be decided before the end but sizes. What is too
 * large, or does not fit on the disk, is refused as early as it is known: by Content-Length, before anything
 * is read.
 *
 * Whatever ends the upload before the row is made drops the blob (blob_write_free()).
 */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/store/tables/files/files.h"
#include "server/api/api.h"
#include "server/api/files/file_name.h"
#include "server/api/request_key.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/http/parse/multipart.h"
#include "server/params/params.h"
#include "server/server.h"

#define FIELD_LIMIT   ((size_t)1024)        /* bytes of a field's value */
#define FORM_OVERHEAD ((uint64_t)256 << 10) /* heads and fields of a form, beside its file */
#define EXPIRY_MIN    3600
#define EXPIRY_MAX    2592000 /* 30 days; also of a batch's file that names none */

enum field {
    FIELD_PURPOSE,
    FIELD_ANCHOR,
    FIELD_SECONDS,
    FIELD_COUNT,
    FIELD_NONE = FIELD_COUNT
};

static const char *const field_names[] = {
    [FIELD_PURPOSE] = "purpose",
    [FIELD_ANCHOR] = "expires_after[anchor]",
    [FIELD_SECONDS] = "expires_after[seconds]",
    "file", /* for param_unknown_name() */
    NULL,
};

struct upload {
    struct request *request; /* while a function of the taker runs */
    char *boundary;
    struct multipart *reader;
    bool in_file;     /* what the present part is */
    enum field field; /* FIELD_NONE: none of them */
    struct buf fields[FIELD_COUNT];
    bool given[FIELD_COUNT];
    char *filename; /* NULL: no file has come */
    struct blob_write *write;
    uint64_t bytes;
};

static enum err_code too_large(const struct request *request, struct err *err)
{
    return err_set_api(err, ERR_TOO_LARGE, "file_too_large", "file",
                       "The file is larger than %zu bytes.",
                       request_server(request)->config->max_file);
}

/* ---- Parts ---- */

static enum err_code begin_file(struct upload *upload, struct part_head *head, struct err *err)
{
    struct request *request = upload->request;

    if (strcmp(head->name, "file") != 0)
        return err_invalid(err, "unknown_parameter", head->name, "Unknown parameter: '%.64s'.",
                           head->name);
    if (upload->filename)
        return err_invalid(err, "invalid_value", "file",
                           "Invalid 'file': expected one file, but got more.");
    upload->filename = file_name_kept(head->filename);
    upload->in_file = true;
    return blob_write_begin(request_server(request)->blobs, request_tenant(request),
                            &upload->write, err);
}

static enum err_code begin_field(struct upload *upload, const struct part_head *head,
                                 struct err *err)
{
    enum err_code rc = param_unknown_name(head->name, field_names, err);

    if (rc)
        return rc;
    upload->field = FIELD_NONE;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (strcmp(head->name, field_names[i]) == 0)
            upload->field = (enum field)i;
    if (upload->field == FIELD_NONE)
        return ERR_OK; /* a file without a filename: it is missing */
    upload->given[upload->field] = true;
    buf_reset(&upload->fields[upload->field]);
    return ERR_OK;
}

static enum err_code begin_part(void *arg, struct part_head *head, struct err *err)
{
    struct upload *upload = arg;

    upload->in_file = false;
    return head->filename ? begin_file(upload, head, err) : begin_field(upload, head, err);
}

static enum err_code take_data(void *arg, const char *bytes, size_t size, struct err *err)
{
    struct upload *upload = arg;
    struct buf *field;

    if (upload->in_file) {
        upload->bytes += size;
        if (upload->bytes > request_server(upload->request)->config->max_file)
            return too_large(upload->request, err);
        return blob_write_add(upload->write, bytes, size, err);
    }
    if (upload->field == FIELD_NONE)
        return ERR_OK;
    field = &upload->fields[upload->field];
    if (field->length + size > FIELD_LIMIT)
        return err_invalid(err, "string_above_max_length", field_names[upload->field],
                           "Invalid '%s': string too long. Expected a string with maximum "
                           "length %zu.",
                           field_names[upload->field], FIELD_LIMIT);
    buf_add(field, bytes, size);
    return ERR_OK;
}

static const struct multipart_taker parts = {.begin = begin_part, .data = take_data};

/* ---- The whole form ---- */

/* The fields as an object, so that they are read as those of any body. Digits are a number. */
static json_t *body_of(const struct upload *upload)
{
    json_t *body = json_object();
    json_t *expiry = json_object();
    const struct buf *seconds = &upload->fields[FIELD_SECONDS];

    if (upload->given[FIELD_PURPOSE])
        json_object_set_new(body, "purpose",
                            json_stringn(upload->fields[FIELD_PURPOSE].data,
                                         upload->fields[FIELD_PURPOSE].length));
    if (upload->given[FIELD_ANCHOR])
        json_object_set_new(expiry, "anchor",
                            json_stringn(upload->fields[FIELD_ANCHOR].data,
                                         upload->fields[FIELD_ANCHOR].length));
    if (seconds->length && seconds->length <= 18 &&
        strspn(seconds->data, "0123456789-") == seconds->length)
        json_object_set_new(expiry, "seconds", json_integer(strtoll(seconds->data, NULL, 10)));
    else if (upload->given[FIELD_SECONDS])
        json_object_set_new(expiry, "seconds", json_stringn(seconds->data, seconds->length));
    if (json_object_size(expiry))
        json_object_set(body, "expires_after", expiry);
    json_decref(expiry);
    return body;
}

static enum err_code read_expiry(const json_t *body, struct file_row *row, struct err *err)
{
    static const char *const anchors[] = {"created_at", NULL};
    const json_t *expiry = json_object_get(body, "expires_after");
    const char *anchor;
    json_int_t seconds = 0;
    enum err_code rc;

    if (!expiry) {
        if (strcmp(row->purpose, "batch") == 0)
            row->expires_at = row->created_at + EXPIRY_MAX * US_PER_SECOND;
        return ERR_OK;
    }
    rc = param_enum(expiry, "expires_after", "anchor", PARAM_REQUIRED, anchors, &anchor, err);
    if (!rc)
        rc = param_int(expiry, "expires_after", "seconds", EXPIRY_MIN, EXPIRY_MAX, &seconds,
                       err);
    if (!rc && !seconds)
        rc = param_missing(err, "expires_after.seconds");
    if (!rc)
        row->expires_at = row->created_at + seconds * US_PER_SECOND;
    return rc;
}

/* What may be sent; the other purposes are the server's own. */
static enum err_code read_row(const struct upload *upload, const json_t *body,
                              struct file_row *row, struct err *err)
{
    static const char *const purposes[] = {"assistants", "batch", "fine-tune", "vision",
                                           "user_data",  "evals", NULL};
    const char *purpose;
    enum err_code rc;

    if (!upload->filename)
        return param_missing(err, "file");
    rc = param_enum(body, "", "purpose", PARAM_REQUIRED, purposes, &purpose, err);
    if (rc)
        return rc;
    row->filename = mem_strdup(upload->filename);
    row->purpose = mem_strdup(purpose);
    row->bytes = upload->bytes;
    return read_expiry(body, row, err);
}

/* What makes two uploads the same request. */
static char *digest_of(const struct file_row *row, const json_t *body,
                       const struct blob_row *blob)
{
    AUTO_FREE char *fields = json_text(body);
    struct buf text = {0};

    buf_addf(&text, "%s\n%s\n", fields, row->filename);
    for (size_t i = 0; i < sizeof(blob->sha256); i++)
        buf_addf(&text, "%02x", blob->sha256[i]);
    return buf_take(&text);
}

/* Of a file that was refused, or of a request that was carried out before. After a COMMIT without an answer
 * a row may hold them, and then they stay. */
static void remove_unheld(const struct request *request, const char *blob_id)
{
    struct err err = {0};

    if (blob_remove(request_server(request)->blobs, request_tenant(request), blob_id, &err) &&
        err.code != ERR_NOT_FOUND)
        log_info("%s is removed later: %s", blob_id, err.text);
}

/* The bytes are safe before the row is made, and the row before the answer. */
static enum err_code make_file(struct upload *upload, const json_t *body, struct file_row *row,
                               struct err *err)
{
    struct request *request = upload->request;
    const struct server *server = request_server(request);
    AUTO_FREE char *digest = NULL;
    struct idempotency idempotency;
    struct blob_row blob;
    enum err_code rc = blob_write_finish(upload->write, &blob, err);

    if (rc)
        return rc;
    id_make(row->id, "file-");
    memcpy(row->blob_id, blob.id, sizeof(blob.id));
    digest = digest_of(row, body, &blob);
    rc = request_key_streamed(request, digest, &idempotency, err);
    if (!rc)
        rc = store_file_create(server->store, request_tenant(request), &idempotency,
                               server->config->max_project_bytes, row, err);
    if (rc || strcmp(row->blob_id, blob.id) != 0)
        remove_unheld(request, blob.id);
    return rc;
}

/* ---- The taker ---- */

static enum err_code take(struct request *request, void *arg, const char *bytes, size_t size,
                          struct err *err)
{
    struct upload *upload = arg;

    upload->request = request;
    return multipart_take(upload->reader, bytes, size, err);
}

static enum err_code finish(struct request *request, void *arg, struct err *err)
{
    CLEANUP(file_row_clear) struct file_row row = {.created_at = clock_wall_us()};
    struct upload *upload = arg;
    json_auto_t *body = NULL;
    enum err_code rc = multipart_end(upload->reader, err);

    upload->request = request;
    if (rc)
        return rc;
    body = body_of(upload);
    rc = read_row(upload, body, &row, err);
    if (!rc)
        rc = make_file(upload, body, &row, err);
    if (!rc)
        request_answer(request, 200, encode_file(&row));
    return rc;
}

static void drop(void *arg)
{
    struct upload *upload = arg;

    multipart_free(upload->reader);
    blob_write_free(upload->write);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        buf_clear(&upload->fields[i]);
    free(upload->boundary);
    free(upload->filename);
    free(upload);
}

/* By the head alone; 0: it does not say. */
static uint64_t announced(const struct request *request)
{
    const char *length = request_header(request, "content-length");

    return length ? strtoull(length, NULL, 10) : 0;
}

enum err_code api_file_create(struct request *request, struct err *err)
{
    const struct server *server = request_server(request);
    uint64_t limit = server->config->max_file + FORM_OVERHEAD;
    struct body_taker taker = {.limit = limit, .take = take, .end = finish, .drop = drop};
    struct upload *upload;
    char *boundary;
    enum err_code rc = request_boundary(request, &boundary, err);

    if (rc)
        return rc;
    if (announced(request) > limit)
        rc = too_large(request, err);
    if (!rc)
        rc = blobs_have_room(server->blobs, announced(request), err);
    if (rc) {
        free(boundary);
        return rc;
    }
    upload = mem_new(struct upload);
    upload->boundary = boundary;
    upload->reader = multipart_new(boundary, &parts, upload);
    taker.arg = upload;
    request_take_streamed(request, &taker);
    return ERR_OK;
}
