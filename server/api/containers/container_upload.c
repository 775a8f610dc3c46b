/*
 * A file for a container: bytes in a form, or a file of the Files API by its id.
 *
 * A form goes into a blob as it arrives, as every uploaded file does, and from there into the folder when it is
 * complete: only then is its size known, and which name is free. No row holds the blob, so it goes at once.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/container/containers.h"
#include "core/store/tables/containers/containers.h"
#include "server/api/api.h"
#include "server/api/containers/container_job.h"
#include "server/api/files/file_form.h"
#include "server/api/files/keep.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/params/params.h"
#include "server/server.h"

/* ---- A form ---- */

static const char *const names[] = {"file_id", "file", NULL};

struct new_file {
    struct keep keep;
    char container[ID_LIMIT + 1];
    char *filename;
    struct container_file_row row;
};

static struct new_file *new_file_of(struct keep *keep)
{
    return CONTAINER_OF(keep, struct new_file, keep);
}

static enum err_code store(struct keep *keep, const struct blob_row *blob,
                           char ret_held[ID_SIZE], struct err *err)
{
    struct new_file *file = new_file_of(keep);
    struct container *container;
    enum err_code rc =
        container_take(keep->server, &keep->tenant, file->container, &container, err);

    (void)ret_held; /* no row does */
    if (rc)
        return rc;
    rc = container_put_blob(container, file->filename, blob->id, &file->row, err);
    container_release(container);
    return rc;
}

static json_t *answer(struct keep *keep)
{
    return encode_container_file(&new_file_of(keep)->row);
}

static void new_file_free(struct keep *keep)
{
    struct new_file *file = new_file_of(keep);

    container_file_row_clear(&file->row);
    free(file->filename);
    free(file);
}

static const struct keep_ops keep_ops = {
    .store = store, .answer = answer, .free = new_file_free};

static enum err_code end(struct request *request, struct file_form *form, struct err *err)
{
    struct new_file *file = mem_new(struct new_file);

    file->filename = TAKE(form->filename);
    (void)snprintf(file->container, sizeof(file->container), "%s",
                   request_param(request, "container"));
    return keep_begin(request, form, file->filename, &file->keep, &keep_ops, err);
}

static enum err_code too_large(const struct file_form *form, struct err *err)
{
    return err_set_api(err, ERR_TOO_LARGE, "file_too_large", "file",
                       "The file is larger than %llu bytes.", (unsigned long long)form->limit);
}

static const struct file_form_kind kind = {.names = names, .too_large = too_large, .end = end};

/* ---- A file of the Files API ---- */

static enum err_code put(struct container_job *job, struct err *err)
{
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};
    struct container *container;
    enum err_code rc =
        container_take(job->server, &job->tenant, job->container, &container, err);

    if (rc)
        return rc;
    rc = container_put_file(container, job->file, &row, err);
    container_release(container);
    if (!rc)
        job->answer = encode_container_file(&row);
    return rc;
}

static enum err_code put_by_id(struct request *request, struct err *err)
{
    static const char *const keys[] = {"file_id", NULL};
    struct container_job *job;
    const char *id = NULL;
    enum err_code rc = param_unknown(request_json(request), "", keys, err);

    if (!rc)
        rc = param_string(request_json(request), "", "file_id", PARAM_OPTIONAL, ID_LIMIT, &id,
                          err);
    if (!rc && !id)
        rc = param_missing(err, "file");
    if (!rc)
        rc = param_id(id, "file-", "file_id", err);
    if (rc)
        return rc;
    job = container_job_new(request, put);
    memcpy(job->file, id, strlen(id) + 1);
    container_job_begin(request, job);
    return ERR_OK;
}

/* Called when the head has come, if the body is a form. A container that does not run is refused before its bytes
 * come. */
enum err_code api_container_file_create(struct request *request, struct err *err)
{
    const struct server *server = request_server(request);
    const char *id = request_param(request, "container");
    enum err_code rc = containers_present(request, err);

    if (!rc)
        rc = containers_check_here(server->containers, request_tenant(request), id, err);
    if (rc)
        return rc == ERR_CONFLICT ? container_not_found(id, err) : rc;
    return request_has_form(request)
               ? file_form_take(request, &kind, server->config->max_file, 0, err)
               : put_by_id(request, err);
}
