#include "server/api/containers/container_job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/store/tables/containers/containers.h"
#include "server/server.h"
#include "server/workers.h"

enum err_code containers_present(const struct request *request, struct err *err)
{
    if (request_server(request)->containers)
        return ERR_OK;
    return err_refuse(err, ERR_INVALID, REASON_UNSUPPORTED, NULL,
                      "This server has no containers: its log says why.");
}

enum err_code container_take(struct server *server, const struct tenant *tenant, const char *id,
                             struct container **ret_container, struct err *err)
{
    const struct container_choice choice = {.named = id};
    enum err_code rc = containers_take(server->containers, tenant, &choice, ret_container, err);

    return rc == ERR_CONFLICT ? container_not_found(id, err) : rc;
}

struct container_job *container_job_new(struct request *request,
                                        enum err_code (*run)(struct container_job *job,
                                                             struct err *err))
{
    struct container_job *job = mem_new(struct container_job);

    job->server = request_server(request);
    job->tenant = tenant_kept(request_tenant(request));
    job->run = run;
    job->fd = -1;
    (void)snprintf(job->container, sizeof(job->container), "%s",
                   request_param(request, "container"));
    (void)snprintf(job->file, sizeof(job->file), "%s", request_param(request, "file"));
    return job;
}

void container_job_free(struct container_job *job)
{
    if (job->fd >= 0)
        close(job->fd);
    container_file_row_clear(&job->found);
    container_row_clear(&job->row);
    json_decref(job->file_ids);
    json_decref(job->skills);
    json_decref(job->answer);
    free(job);
}

static void run(struct work *work)
{
    struct container_job *job = CONTAINER_OF(work, struct container_job, aside.work);

    aside_done(&job->aside, job->run(job, &job->aside.err));
}

static enum err_code resume(struct request *request, struct aside *aside, struct err *err)
{
    struct container_job *job = CONTAINER_OF(aside, struct container_job, aside);

    if (job->show)
        return job->show(job, request, err);
    request_answer(request, 200, TAKE(job->answer));
    return ERR_OK;
}

static void aside_free(struct aside *aside)
{
    container_job_free(CONTAINER_OF(aside, struct container_job, aside));
}

static const struct aside_ops aside_ops = {.resume = resume, .free = aside_free};

void container_job_begin(struct request *request, struct container_job *job)
{
    job->aside.work.run = run;
    aside_begin(request, &job->aside, &aside_ops);
    workers_put(job->server->file_workers, &job->aside.work);
}
