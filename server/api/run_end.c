#include "server/api/run_end.h"

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/run/engine/follow.h"
#include "server/server.h"

/* No run has so many. */
#define BEHIND_ALL_FRAMES ((int64_t)1 << 62)

/* Between a follower, which has nothing to say but the end, and the request. */
struct awaiting {
    struct sink sink;
    struct sink *request;
};

static void hear_end(struct sink *sink)
{
    struct awaiting *awaiting = CONTAINER_OF(sink, struct awaiting, sink);
    struct sink *request = awaiting->request;

    free(awaiting);
    request->ops->answer(request, REQUEST_GO_ON, NULL);
    request->ops->close(request);
}

static void hear_events(struct sink *sink, const char *frames, size_t length)
{
    (void)sink;
    (void)frames;
    (void)length;
}

static const struct sink_ops awaiting_ops = {.events = hear_events, .close = hear_end};

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
                          &(struct request_later){.go_on = then, .drop = drop_nothing});
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
