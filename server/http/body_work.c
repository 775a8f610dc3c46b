#include "server/http/body_work.h"

#include <microhttpd.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/http_internal.h"
#include "server/http/stream/wait.h"

/*
 * The pause is the wait of wait.h, which knows how to lend a connection to a loop and what to do when the client
 * leaves. Its answer is REQUEST_CONTINUE, or nothing for a client that is lost.
 *
 * The message to the loop is a struct of its own. So run() can let go of the work on its worker, and the last to let
 * go is always a worker or an HTTP worker, never a loop.
 */

struct body_pause {
    struct loop_task task;
    struct sink *sink;
};

void body_work_init(struct body_work *work, const struct body_work_ops *ops,
                    struct workers *workers, struct loop *loop)
{
    *work = (struct body_work){.ops = ops, .workers = workers, .loop = loop};
    atomic_init(&work->holders, 1);
}

/* On the loop. */
static void give_back(struct loop_task *task)
{
    struct body_pause *pause = CONTAINER_OF(task, struct body_pause, task);
    struct sink *sink = pause->sink;

    free(pause);
    sink->ops->answer(sink, &(struct sink_answer){.status = REQUEST_CONTINUE});
    sink->ops->close(sink);
}

static bool is_last(struct body_work *work)
{
    return atomic_fetch_sub(&work->holders, 1) == 1;
}

static void run(struct work *of)
{
    struct body_work *work = CONTAINER_OF(of, struct body_work, work);
    struct body_pause *pause = TAKE(work->pause);
    struct loop *loop = work->loop;

    work->ops->run(work);
    if (is_last(work))
        work->ops->free(work);
    loop_post(loop, &pause->task);
}

bool body_work_begin(struct body_work *work, struct request *request, enum deadline_kind debt)
{
    struct body_pause *pause = mem_new(struct body_pause);
    struct wait *wait = wait_new(request, work->loop);

    request->wait = wait;
    pause->task.run = give_back;
    pause->sink = wait_sink(wait);
    wait_set_debt(wait, debt);
    connection_set_deadline(request->http, request->peer, DEADLINE_NONE);
    if (!wait_begin(wait)) {
        loop_post(work->loop, &pause->task); /* closes the sink that will not be used */
        return false;
    }
    work->pause = pause;
    work->work.run = run;
    work->work.tenant = request->tenant;
    atomic_fetch_add(&work->holders, 1);
    workers_put(work->workers, &work->work);
    return true;
}

bool body_work_is_paused(const struct request *request)
{
    return MHD_get_connection_info(request->connection,
                                   MHD_CONNECTION_INFO_CONNECTION_SUSPENDED)
        ->suspended;
}

bool body_work_end(struct request *request, uint64_t *ret_paused_ns)
{
    struct sink_answer answer;

    wait_take(request->wait, &answer);
    *ret_paused_ns = wait_paused_ns(request->wait);
    wait_forgotten(request->wait);
    request->wait = NULL;
    return answer.status;
}

static void free_aside(struct work *of)
{
    struct body_work *work = CONTAINER_OF(of, struct body_work, work);

    work->ops->free(work);
}

void body_work_drop(struct body_work *work)
{
    if (!work || !is_last(work))
        return;
    work->work.run = free_aside;
    workers_put(work->workers, &work->work);
}
