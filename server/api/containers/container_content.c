/*
 * The bytes of a container's file: from the folder, on its own node; from the copy, on another.
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
static enum err_code from_folder(struct request *request, const struct container *container,
                                 const struct container_file_row *row, struct err *err)
{
    struct content content = {.filename = name_of(row), .read = read_piece, .drop = drop};
    struct workspace_stat stat;
    struct open_file *file;
    int fd;
    enum err_code rc =
        workspace_read_fd(container_workspace(container), row->path, &fd, &stat, err);

    if (rc == ERR_NOT_FOUND)
        return container_file_not_found(row->id, err);
    if (rc)
        return rc;
    file = mem_new(struct open_file);
    file->fd = fd;
    content.bytes = stat.size;
    content.arg = file;
    rc = content_answer(request, &content, err);
    if (rc)
        drop(file);
    return rc;
}

/* `elsewhere` is the error if there is no copy. */
static enum err_code from_copy(struct request *request, const struct container_file_row *row,
                               struct err *elsewhere, struct err *err)
{
    if (*row->blob_id)
        return content_answer_blob(request, row->blob_id, name_of(row), err);
    *err = *elsewhere;
    return err->code;
}

enum err_code api_container_file_content(struct request *request, struct err *err)
{
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};
    struct server *server = request_server(request);
    const struct tenant *tenant = request_tenant(request);
    const char *id = request_param(request, "container");
    struct container *container = NULL;
    struct err elsewhere = {0};
    enum err_code rc = containers_present(request, err);

    if (rc)
        return rc;
    rc = container_take(server, tenant, id, &container, &elsewhere);
    if (rc && elsewhere.reason != REASON_CONTAINER_ELSEWHERE) {
        *err = elsewhere;
        return rc;
    }
    rc = store_container_file_get(server->store, tenant, id, request_param(request, "file"),
                                  &row, err);
    if (!rc)
        rc = container ? from_folder(request, container, &row, err)
                       : from_copy(request, &row, &elsewhere, err);
    container_release(container);
    return rc;
}
