/*
 * Waiting for the end of a run: two sinks between the run's loop and a suspended request.
 *
 *   run, here or on another node ─▶ follower ─▶ struct awaiting ─▶ the request's sink ─▶ a worker
 *
 * The run may be on another node, may move to one, and may have ended before this call. A follower
 * (core/run/engine/follow.h) already handles all of that, for streams. So this is a follower that
 * begins behind every frame: it never receives one, and it is closed when the run is over. A
 * second mechanism only for the end would need the same polling, wake-ups and tests.
 *
 * Everything here runs on the loop of the run's id. The request is suspended and costs no thread.
 */

#include "server/api/run_end.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/run/engine/follow.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/threads/threads.h"
#include "server/server.h"

/* A sequence number that no frame has. */
#define BEHIND_ALL_FRAMES ((int64_t)1 << 62)

/* What the worker needs to know: for whom and for what the request waits. */
struct awaited {
    char run_id[ID_SIZE];
    char thread_id[ID_SIZE]; /* "" if it has none */
    enum row_face face;
    enum err_code (*then)(struct request *request, struct run_row *run, struct err *err);
};

/* The follower's sink, and the request that continues when the follower closes it. */
struct awaiting {
    struct sink sink;
    struct sink *request;
    struct loop *loop;
    uint64_t patience_ns;   /* 0: no end */
    struct loop_task begin; /* starts the timer, which only the loop may do */
    struct loop_timer patience;
    bool begun, closed; /* it is freed when both are true */
};

static void continue_request(struct sink *sink)
{
    struct awaiting *awaiting = CONTAINER_OF(sink, struct awaiting, sink);
    struct sink *request = awaiting->request;

    loop_timer_stop(awaiting->loop, &awaiting->patience);
    awaiting->closed = true;
    if (awaiting->begun)
        free(awaiting);
    request->ops->answer(request, &(struct sink_answer){.status = REQUEST_CONTINUE});
    request->ops->close(request);
}

/* The follower begins behind all frames, so nothing of interest comes. */
static void ignore_events(struct sink *sink, const char *frames, size_t length)
{
    (void)sink;
    (void)frames;
    (void)length;
}

static const struct sink_ops awaiting_ops = {.events = ignore_events,
                                             .close = continue_request};

/* Makes the follower close its sink, which releases the rest. */
static void stop_following(struct awaiting *awaiting)
{
    loop_timer_stop(awaiting->loop, &awaiting->patience);
    awaiting->sink.gone(&awaiting->sink, awaiting->sink.gone_arg);
}

static void client_gone(struct sink *request, void *arg)
{
    (void)request;
    stop_following(arg);
}

static void out_of_patience(struct loop_timer *timer)
{
    stop_following(CONTAINER_OF(timer, struct awaiting, patience));
}

static void begin(struct loop_task *task)
{
    struct awaiting *awaiting = CONTAINER_OF(task, struct awaiting, begin);

    awaiting->begun = true;
    if (awaiting->closed)
        free(awaiting);
    else if (awaiting->patience_ns)
        loop_timer_start(awaiting->loop, &awaiting->patience,
                         loop_now(awaiting->loop) + awaiting->patience_ns);
}

static enum err_code fail_deleted(struct request *request, const struct awaited *awaited,
                                  struct err *err)
{
    CLEANUP(thread_row_clear) struct thread_row thread = {0};
    enum err_code rc = ERR_OK;

    if (*awaited->thread_id)
        rc = store_thread_get(request_server(request)->store, request_tenant(request),
                              awaited->thread_id, &thread, err);
    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    return err_set(err, ERR_NOT_FOUND, "%s",
                   rc ? RUN_CONVERSATION_DELETED : RUN_RESPONSE_DELETED);
}

/* On a worker. */
static enum err_code answer(struct request *request, void *arg, struct err *err)
{
    AUTO_FREE struct awaited *awaited = arg;
    CLEANUP(run_row_clear) struct run_row run = {0};
    const char *thread = awaited->face == FACE_ASSISTANTS ? awaited->thread_id : NULL;
    enum err_code rc = store_run_get(request_server(request)->store, request_tenant(request),
                                     thread, awaited->run_id, &run, err);

    if (rc == ERR_NOT_FOUND)
        return fail_deleted(request, awaited, err);
    return rc ? rc : awaited->then(request, &run, err);
}

static void await(struct request *request, const struct run_row *run, uint64_t patience_ns,
                  const struct request_later *later)
{
    struct engine *engine = request_server(request)->engine;
    struct awaiting *awaiting = mem_new(struct awaiting);

    awaiting->sink.ops = &awaiting_ops;
    awaiting->loop = engine_loop(engine, run->id);
    awaiting->patience_ns = patience_ns;
    awaiting->begin.run = begin;
    awaiting->patience.fire = out_of_patience;
    awaiting->request = request_wait_then(request, awaiting->loop, later);
    awaiting->request->gone = client_gone;
    awaiting->request->gone_arg = awaiting;
    engine_follow(engine, &(struct follow){.tenant = request_tenant(request),
                                           .run = run,
                                           .first_seq = BEHIND_ALL_FRAMES,
                                           .flags = FOLLOW_WAITING,
                                           .sink = &awaiting->sink});
    loop_post(awaiting->loop, &awaiting->begin);
}

void run_end_await(struct request *request, const struct run_row *run,
                   enum err_code (*then)(struct request *request, struct run_row *run,
                                         struct err *err))
{
    struct awaited *awaited = mem_new(struct awaited);

    memcpy(awaited->run_id, run->id, sizeof(run->id));
    memcpy(awaited->thread_id, run->thread_id, sizeof(run->thread_id));
    awaited->face = run->face;
    awaited->then = then;
    await(request, run, 0,
          &(struct request_later){.resume = answer, .drop = free, .arg = awaited});
}

void run_end_await_shortly(struct request *request, const struct run_row *run,
                           uint64_t patience_ns, const struct request_later *later)
{
    await(request, run, patience_ns, later);
}
