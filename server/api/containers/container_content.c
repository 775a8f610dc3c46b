/*
 * The bytes of a container's file: from the folder, on its own node; from the copy, on another, which may ask for one.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/container/containers.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/store/tables/containers/container_files.h"
#include "server/api/api.h"
#include "server/api/containers/container_job.h"
#include "server/api/files/content.h"
#include "server/server.h"

struct open_file {
    int fd;
};

static enum err_code read_piece(void *arg, uint64_t at, void *ret_bytes, size_t size,
                                size_t *ret_got, struct err *err)
{
    const struct open_file *file = arg;
    ssize_t got;

    do
        got = pread(file->fd, ret_bytes, size, (off_t)at);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return err_set(err, ERR_CONFLICT,
                       "a container's file became shorter while it was sent");
    *ret_got = (size_t)got;
    return ERR_OK;
}

static void drop(void *arg)
{
    struct open_file *file = arg;

    close(file->fd);
    free(file);
}

static const char *name_of(const struct container_file_row *row)
{
    const char *slash = strrchr(row->path, '/');

    return slash ? slash + 1 : row->path;
}

/* Its size is that of now: code may have changed it since the last look. */
static enum err_code open_in_folder(struct container_job *job,
                                    const struct container *container, struct err *err)
{
    struct workspace_stat stat;
    enum err_code rc = workspace_read_fd(container_workspace(container), job->found.path,
                                         &job->fd, &stat, err);

    if (rc == ERR_NOT_FOUND)
        return container_file_not_found(job->found.id, err);
    if (!rc)
        job->bytes = stat.size;
    return rc;
}

/* Without a folder it has a copy, or its own server makes one. */
static enum err_code find(struct container_job *job, struct err *err)
{
    struct container *container = NULL;
    struct err elsewhere = {0};
    enum err_code rc =
        container_take(job->server, &job->tenant, job->container, &container, &elsewhere);

    if (rc && elsewhere.reason != REASON_CONTAINER_ELSEWHERE) {
        *err = elsewhere;
        return rc;
    }
    rc = store_container_file_get(job->server->store, &job->tenant, job->container, job->file,
                                  &job->found, err);
    if (!rc && container) {
        rc = open_in_folder(job, container, err);
    } else if (!rc && !*job->found.blob_id) {
        container_file_row_clear(&job->found);
        rc = containers_ask_copy(job->server->containers, &job->tenant, job->container,
                                 job->file, &job->found, err);
    }
    container_release(container);
    return rc;
}

static enum err_code show(struct container_job *job, struct request *request, struct err *err)
{
    struct content content = {.filename = name_of(&job->found),
                              .bytes = job->bytes,
                              .read = read_piece,
                              .drop = drop};
    struct open_file *file;
    enum err_code rc;

    if (job->fd < 0)
        return content_answer_blob(request, job->found.blob_id, content.filename, err);
    content.arg = file = mem_new(struct open_file);
    file->fd = job->fd;
    job->fd = -1;
    rc = content_answer(request, &content, err);
    if (rc)
        drop(file);
    return rc;
}

enum err_code api_container_file_content(struct request *request, struct err *err)
{
    struct container_job *job;
    enum err_code rc = containers_present(request, err);

    if (rc)
        return rc;
    job = container_job_new(request, find);
    job->show = show;
    container_job_begin(request, job);
    return ERR_OK;
}
