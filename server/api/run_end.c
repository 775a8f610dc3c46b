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

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/run/engine/follow.h"
#include "server/server.h"

/* A sequence number that no frame has. */
#define BEHIND_ALL_FRAMES ((int64_t)1 << 62)

/* The follower's sink, and the request that continues when the follower closes it. */
struct awaiting {
    struct sink sink;
    struct sink *request;
};

static void continue_request(struct sink *sink)
{
    struct awaiting *awaiting = CONTAINER_OF(sink, struct awaiting, sink);
    struct sink *request = awaiting->request;

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
static void client_gone(struct sink *request, void *arg)
{
    struct awaiting *awaiting = arg;

    (void)request;
    awaiting->sink.gone(&awaiting->sink, awaiting->sink.gone_arg);
}

static void drop_nothing(void *arg)
{
    (void)arg;
}

void run_end_await(struct request *request, const struct run_row *run,
                   enum err_code (*then)(struct request *request, void *arg, struct err *err))
{
    struct engine *engine = request_server(request)->engine;
    struct awaiting *awaiting = mem_new(struct awaiting);

    awaiting->sink.ops = &awaiting_ops;
    awaiting->request =
        request_wait_then(request, engine_loop(engine, run->id),
                          &(struct request_later){.resume = then, .drop = drop_nothing});
    awaiting->request->gone = client_gone;
    awaiting->request->gone_arg = awaiting;
    engine_follow(engine, &(struct follow){.face = FACE_RESPONSES,
                                           .tenant = request_tenant(request),
                                           .thread_id = "",
                                           .run_id = run->id,
                                           .first_seq = BEHIND_ALL_FRAMES,
                                           .flags = FOLLOW_WAITING,
                                           .sink = &awaiting->sink});
}
