/*
 * Files of a container: listed, looked at, removed.
 *
 * The list is made after a look at the folder, so that it has what a program has written since its call ended. On
 * another node than the container's it shows what was there at the last look.
 */

#include "core/container/containers.h"

#include "core/store/tables/containers/container_files.h"
#include "core/store/tables/containers/containers.h"
#include "server/api/api.h"
#include "server/api/containers/container_job.h"
#include "server/encode/encode.h"
#include "server/server.h"

/* ERR_NOT_FOUND: it does not run. Counts as a use. */
static enum err_code look(struct server *server, const struct tenant *tenant, const char *id,
                          struct err *err)
{
    CLEANUP(container_row_clear) struct container_row row = {0};
    enum err_code rc = store_container_use(server->store, tenant, id, &row, err);

    return rc || row.status == CONTAINER_RUNNING ? rc : container_not_found(id, err);
}

static enum err_code refresh(struct container_job *job, struct err *err)
{
    struct container *container;
    enum err_code rc =
        container_take(job->server, &job->tenant, job->container, &container, err);

    if (rc == ERR_STORE && err->reason == REASON_CONTAINER_ELSEWHERE)
        return ERR_OK;
    if (rc)
        return rc;
    rc = container_note(container, CONTAINER_FILE_ASSISTANT, "", NULL, NULL, err);
    container_release(container);
    return rc;
}

static enum err_code list(struct container_job *job, struct err *err)
{
    struct container_file_row *rows = NULL;
    size_t count = 0;
    bool more = false;
    json_t *data;
    enum err_code rc = refresh(job, err);

    if (!rc)
        rc = store_container_file_list(job->server->store, &job->tenant, job->container,
                                       &job->page, &rows, &count, &more, err);
    if (rc)
        return rc;
    data = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(data, encode_container_file(&rows[i]));
    container_file_rows_free(rows, count);
    job->answer = encode_list(data, more);
    return ERR_OK;
}

enum err_code api_container_file_list(struct request *request, struct err *err)
{
    struct container_job *job;
    struct page page;
    enum err_code rc = containers_present(request, err);

    if (!rc)
        rc = param_page(request, &page, err);
    if (rc)
        return rc;
    job = container_job_new(request, list);
    job->page = page;
    container_job_begin(request, job);
    return ERR_OK;
}

enum err_code api_container_file_get(struct request *request, struct err *err)
{
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};
    struct server *server = request_server(request);
    const char *id = request_param(request, "container");
    enum err_code rc = containers_present(request, err);

    if (!rc)
        rc = look(server, request_tenant(request), id, err);
    if (!rc)
        rc = store_container_file_get(server->store, request_tenant(request), id,
                                      request_param(request, "file"), &row, err);
    if (!rc)
        request_answer(request, 200, encode_container_file(&row));
    return rc;
}

static enum err_code remove_file(struct container_job *job, struct err *err)
{
    struct container *container;
    enum err_code rc =
        container_take(job->server, &job->tenant, job->container, &container, err);

    if (rc)
        return rc;
    rc = container_remove_file(container, job->file, err);
    container_release(container);
    if (!rc)
        job->answer = encode_deleted(job->file, "container.file.deleted");
    return rc;
}

enum err_code api_container_file_delete(struct request *request, struct err *err)
{
    enum err_code rc = containers_present(request, err);

    if (!rc)
        container_job_begin(request, container_job_new(request, remove_file));
    return rc;
}
