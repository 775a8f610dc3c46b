/*
 * The slow part of endpoints of skills. A zip is read and written by a child, and at most 16 MiB.
 */

#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "server/api/responses/skill_body.h"
#include "server/server.h"
#include "server/workers.h"

static void run(struct work *work)
{
    struct skill_job *job = CONTAINER_OF(work, struct skill_job, aside.work);

    aside_done(&job->aside, job->run(job, &job->aside.err));
}

static enum err_code resume(struct request *request, struct aside *aside, struct err *err)
{
    struct skill_job *job = CONTAINER_OF(aside, struct skill_job, aside);

    (void)err;
    if (job->answer)
        request_answer(request, 200, TAKE(job->answer));
    else
        request_answer_bytes(request, 200, job->type, TAKE(job->bytes), job->length);
    return ERR_OK;
}

static void job_free(struct aside *aside)
{
    struct skill_job *job = CONTAINER_OF(aside, struct skill_job, aside);

    form_free(job->form);
    json_decref(job->body);
    json_decref(job->answer);
    free(job->bytes);
    free(job);
}

static const struct aside_ops ops = {.resume = resume, .free = job_free};

void skill_job_begin(struct request *request, const char *id, int64_t version,
                     enum err_code (*work)(struct skill_job *job, struct err *err))
{
    struct skill_job *job = mem_new(struct skill_job);

    job->server = request_server(request);
    job->tenant = tenant_kept(request_tenant(request));
    job->form = request_take_form(request);
    job->body = request_take_json(request);
    job->version = version;
    job->run = work;
    (void)snprintf(job->id, sizeof(job->id), "%s", id);
    job->aside.work.run = run;
    aside_begin(request, &job->aside, &ops);
    workers_put(job->server->file_workers, &job->aside.work);
}
