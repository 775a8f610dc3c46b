#include "server/api/aside.h"

#include "core/base/compiler.h"
#include "core/event/sink.h"
#include "core/run/engine/engine.h"
#include "server/server.h"

static void release(void *arg)
{
    struct aside *aside = arg;

    if (atomic_fetch_sub(&aside->holders, 1) == 1)
        aside->ops->free(aside);
}

/* On an HTTP worker. */
static enum err_code resume(struct request *request, void *arg, struct err *err)
{
    struct aside *aside = arg;
    enum err_code rc = aside->rc;

    if (rc)
        *err = aside->err;
    else
        rc = aside->ops->resume(request, aside, err);
    release(aside);
    return rc;
}

/* On the loop. The work lets go first: behind the answer the request may be the only holder, and gone. */
static void give_back(struct loop_task *task)
{
    struct aside *aside = CONTAINER_OF(task, struct aside, task);
    struct sink *sink = aside->sink;

    release(aside);
    sink->ops->answer(sink, &(struct sink_answer){.status = REQUEST_CONTINUE});
    sink->ops->close(sink);
}

void aside_begin(struct request *request, struct aside *aside, const struct aside_ops *ops)
{
    aside->task.run = give_back;
    aside->work.tenant = tenant_kept(request_tenant(request));
    atomic_init(&aside->holders, 2);
    aside->ops = ops;
    aside->loop = engine_any_loop(request_server(request)->engine);
    aside->sink = request_wait_then(
        request, aside->loop,
        &(struct request_later){.resume = resume, .drop = release, .arg = aside});
}

void aside_done(struct aside *aside, enum err_code rc)
{
    aside->rc = rc;
    loop_post(aside->loop, &aside->task);
}
