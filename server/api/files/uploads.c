/*
 * Uploads: begun and cancelled. upload_part.c adds to them, upload_complete.c makes a file of them.
 */

#include "core/store/tables/files/uploads.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/domain/file_name.h"
#include "server/api/api.h"
#include "server/api/files/file_params.h"
#include "server/api/request_key.h"
#include "server/encode/encode.h"
#include "server/params/params.h"
#include "server/server.h"

#define TEXT_LIMIT 255 /* characters of a filename or a MIME type */

static enum err_code read_bytes(const json_t *body, const struct config *config,
                                json_int_t *ret_bytes, struct err *err)
{
    json_int_t bytes = 0;
    enum err_code rc =
        param_int(body, "", "bytes", 1, (json_int_t)config->max_upload, &bytes, err);

    if (!rc && !bytes)
        rc = param_missing(err, "bytes");
    if (!rc)
        *ret_bytes = bytes;
    return rc;
}

static enum err_code read_row(const json_t *body, const struct config *config,
                              struct upload_row *ret_row, struct err *err)
{
    static const char *const keys[] = {"filename",  "purpose",       "bytes",
                                       "mime_type", "expires_after", NULL};
    const char *filename, *purpose, *mime;
    int64_t life = 0, now = clock_wall_us();
    json_int_t bytes;
    enum err_code rc = param_unknown(body, "", keys, err);

    if (!rc)
        rc = param_string(body, "", "filename", PARAM_REQUIRED, TEXT_LIMIT, &filename, err);
    if (!rc)
        rc = file_purpose(body, &purpose, err);
    if (!rc)
        rc = read_bytes(body, config, &bytes, err);
    if (!rc)
        rc = param_string(body, "", "mime_type", PARAM_REQUIRED, TEXT_LIMIT, &mime, err);
    if (!rc)
        rc = file_life(body, purpose, &life, err);
    if (rc)
        return rc;
    *ret_row = (struct upload_row){
        .filename = file_name_kept(filename),
        .purpose = mem_strdup(purpose),
        .mime = mem_strdup(mime),
        .bytes = (uint64_t)bytes,
        .status = UPLOAD_PENDING,
        .file_seconds = life,
        .created_at = now,
        .expires_at = now + UPLOAD_SECONDS * US_PER_SECOND,
    };
    id_make(ret_row->id, "upload_");
    return ERR_OK;
}

enum err_code api_upload_create(struct request *request, struct err *err)
{
    CLEANUP(upload_row_clear) struct upload_row row = {0};
    const struct server *server = request_server(request);
    struct idempotency idempotency;
    enum err_code rc = read_row(request_json(request), server->config, &row, err);

    if (!rc)
        rc = request_key(request, &idempotency, err);
    if (!rc)
        rc = store_upload_create(server->store, request_tenant(request), &idempotency,
                                 server->config->max_project_bytes, &row, err);
    if (!rc)
        request_answer(request, 200, encode_upload(&row, NULL));
    return rc;
}

enum err_code api_upload_cancel(struct request *request, struct err *err)
{
    CLEANUP(upload_row_clear) struct upload_row row = {0};
    enum err_code rc =
        store_upload_cancel(request_server(request)->store, request_tenant(request),
                            request_param(request, "upload"), &row, err);

    if (!rc)
        request_answer(request, 200, encode_upload(&row, NULL));
    return rc;
}
