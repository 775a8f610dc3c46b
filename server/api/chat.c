/*
 * api/chat.c -- POST /v1/chat/completions, passed through to the upstream that serves the model.
 *
 * A client that needs no run, such as a script that asks for one completion, can use the same base
 * URL and key. The server adds nothing to the request, stores nothing, and returns the upstream's
 * status, content type and bytes. The body is forwarded as the client sent it, not built again from
 * its JSON: a parameter that this server does not know must reach the upstream unchanged.
 *
 *   worker   api_chat_completions(): finds the upstream, makes the chat, suspends the request
 *   loop     start_chat(): the operator's hook if there is one, then the upstream call
 *   loop     on_head(): the upstream streams? The request continues at once. Otherwise on_done()
 *   worker   answer(): the whole body, or a stream of events
 *   loop     on_data(): events go into the stream as they arrive
 *
 * The request waits until the status of the upstream is known, because a stream begins with status
 * 200 and cannot take that back. A stream is cut into pieces only between events: the server's own
 * keep-alive comments go in between, and a comment inside an event would break it.
 *
 * A chat belongs to a loop. It is freed when neither the upstream call, the stream, the hook nor
 * the suspended request needs it any more (free_if_over). Only answer() runs on another thread, and
 * while it does, the loop does not change what it reads.
 *
 * A crash or the end of the server loses the chat. Nothing about it is stored, so the client sends
 * the request again.
 */

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/model/model.h"
#include "core/net/http_client.h"
#include "core/run/engine/engine.h"
#include "core/run/turn/before_send.h"
#include "server/api/api.h"
#include "server/api/upstream_call.h"
#include "server/complaint.h"
#include "server/masking.h"
#include "server/params/params.h"
#include "server/server.h"

/* Bytes of an answer that is not a stream, or of one event of a stream. */
#define ANSWER_LIMIT ((size_t)16 << 20)
#define TYPE_LIMIT   100

struct chat {
    struct loop *loop;
    const struct model_upstream *upstream;
    struct loop_task start, stream_ready, request_done, hook_done;
    char *request; /* the body as the client sent it; NULL if the hook must see it first */
    size_t request_length;
    bool wants_stream;

    /* For the operator's hook, which may change or refuse messages before a model gets them. */
    struct before_send *hook;
    json_t
        *parsed; /* the request without its messages, which are with the hook; NULL: no hook */
    struct outgoing outgoing;
    bool in_hook;

    /* The loop's. answer() may read them: the loop leaves them alone while it runs. */
    struct http_call *call; /* NULL once it is over */
    struct sink *sink;      /* of the waiting request, then of the stream; or NULL */
    struct sink *next_sink; /* of the stream, on its way from the worker to the loop */
    int status;             /* of the upstream */
    char type[TYPE_LIMIT];
    uint64_t retry_after_ns;
    bool streams;   /* the upstream answers with a stream, and so does this server */
    bool continued; /* the waiting request was sent to a worker, for its answer */
    bool failed;
    struct err why;
    struct buf body; /* the whole answer, or the part of a stream that was not passed on yet */
    bool request_is_done;
};

static void free_if_over(struct chat *chat)
{
    if (chat->call || chat->sink || chat->in_hook || !chat->request_is_done)
        return;
    free(chat->request);
    json_decref(chat->parsed);
    json_decref(chat->outgoing.messages);
    buf_clear(&chat->body);
    free(chat);
}

static void close_sink(struct chat *chat)
{
    struct sink *sink = chat->sink;

    chat->sink = NULL;
    if (sink)
        sink->ops->close(sink);
}

static void cancel_call(struct chat *chat)
{
    if (chat->call)
        http_call_cancel(chat->call);
    chat->call = NULL;
}

static void client_gone(struct sink *sink, void *arg)
{
    struct chat *chat = arg;

    (void)sink;
    cancel_call(chat);
    close_sink(chat);
    free_if_over(chat);
}

/* ---- The stream ---- */

/* The number of bytes up to the end of the last whole event. An event ends with an empty line, whose
 * line ends may be LF, CR or CR LF (HTML Living Standard, "Server-sent events"). */
static size_t whole_events(const struct buf *body)
{
    for (size_t i = body->length; i > 1; i--) {
        const char *end = body->data + i;

        if (memcmp(end - 2, "\n\n", 2) == 0 || memcmp(end - 2, "\r\r", 2) == 0 ||
            (i > 3 && memcmp(end - 4, "\r\n\r\n", 4) == 0))
            return i;
    }
    return 0;
}

static void pass_on(struct chat *chat, size_t length)
{
    if (!length)
        return;
    chat->sink->ops->events(chat->sink, chat->body.data, length);
    buf_consume(&chat->body, length);
}

/* An event with the member `error` is how OpenAI reports an error within a stream. Its SDKs raise
 * an exception for it. */
static void add_error_event(struct chat *chat)
{
    json_auto_t *error =
        json_build("{s:{s:s, s:s, s:n, s:n}}", "error", "message", chat->why.text, "type",
                   err_api_type(chat->why.code), "param", "code");

    if (chat->body.length)
        buf_add_text(&chat->body, "\n\n");
    buf_add_text(&chat->body, "data: ");
    json_add_text(&chat->body, error);
    buf_add_text(&chat->body, "\n\n");
}

static void end_stream(struct chat *chat)
{
    if (chat->failed)
        add_error_event(chat);
    pass_on(chat, chat->body.length);
    close_sink(chat);
}

/* The worker has made the stream. Events may have arrived since on_head(), and the upstream may have
 * finished already. */
static void stream_ready(struct loop_task *task)
{
    struct chat *chat = CONTAINER_OF(task, struct chat, stream_ready);

    chat->sink = chat->next_sink;
    chat->sink->gone = client_gone;
    chat->sink->gone_arg = chat;
    chat->request_is_done = true;
    pass_on(chat, whole_events(&chat->body));
    if (!chat->call)
        end_stream(chat);
    free_if_over(chat);
}

/* ---- From the waiting request to its answer ---- */

static void request_done(struct loop_task *task)
{
    struct chat *chat = CONTAINER_OF(task, struct chat, request_done);

    chat->request_is_done = true;
    if (!chat->sink)
        cancel_call(chat); /* no client is left to receive the answer */
    free_if_over(chat);
}

/* The request ended without an answer from here: its client left, or the server stops. */
static void dropped(void *arg)
{
    struct chat *chat = arg;

    loop_post(chat->loop, &chat->request_done);
}

static void pass_on_retry_after(struct request *request, const struct chat *chat)
{
    char seconds[24];

    if (!chat->retry_after_ns)
        return;
    (void)snprintf(
        seconds, sizeof(seconds), "%llu",
        (unsigned long long)((chat->retry_after_ns + NS_PER_SECOND - 1) / NS_PER_SECOND));
    request_set_header(request, "Retry-After", seconds);
}

static enum err_code answer_whole(struct request *request, struct chat *chat, struct err *err)
{
    size_t length = chat->body.length;

    if (chat->failed) {
        *err = chat->why;
        return err->code;
    }
    pass_on_retry_after(request, chat);
    request_answer_bytes(request, chat->status,
                         strncasecmp(chat->type, "text/plain", 10) == 0 ? "text/plain"
                                                                        : "application/json",
                         buf_take(&chat->body), length);
    return ERR_OK;
}

/* On a worker, which alone may answer a request. */
static enum err_code answer(struct request *request, void *arg, struct err *err)
{
    struct chat *chat = arg;
    enum err_code rc = ERR_OK;

    if (chat->streams) {
        chat->next_sink = request_stream(request, chat->loop);
        loop_post(chat->loop, &chat->stream_ready);
    } else {
        rc = answer_whole(request, chat, err);
        loop_post(chat->loop, &chat->request_done);
    }
    return rc;
}

/* Sends the suspended request to a worker, which calls answer(). At most once: a chat that fails
 * after its stream has begun must not be answered again. */
static void continue_request(struct chat *chat)
{
    if (!chat->sink || chat->continued)
        return;
    chat->continued = true;
    chat->sink->ops->answer(chat->sink, &(struct sink_answer){.status = REQUEST_CONTINUE});
    close_sink(chat);
}

/* ---- The upstream ---- */

static void on_head(void *arg, const struct http_head *head)
{
    struct chat *chat = arg;

    chat->status = head->status;
    (void)snprintf(chat->type, sizeof(chat->type), "%s", head->content_type);
    chat->retry_after_ns = head->retry_after_ns;
    chat->streams = chat->wants_stream && head->status == 200 &&
                    strncasecmp(head->content_type, "text/event-stream", 17) == 0;
    if (chat->streams)
        continue_request(chat);
}

static void too_large(struct chat *chat)
{
    cancel_call(chat);
    chat->failed = true;
    err_set(&chat->why, ERR_UPSTREAM, "The model's answer is larger than %zu bytes.",
            ANSWER_LIMIT);
    if (!chat->streams)
        continue_request(chat);
    else if (chat->sink)
        end_stream(chat);
    free_if_over(chat);
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    struct chat *chat = arg;

    if (chat->body.length + size > ANSWER_LIMIT) {
        too_large(chat);
        return;
    }
    buf_add(&chat->body, bytes, size);
    if (chat->streams && chat->sink)
        pass_on(chat, whole_events(&chat->body));
}

static void on_done(void *arg, enum err_code rc, const struct err *error)
{
    struct chat *chat = arg;

    chat->call = NULL;
    chat->failed = rc != ERR_OK;
    if (rc)
        chat->why = *error;
    if (!chat->streams)
        continue_request(chat);
    else if (chat->sink)
        end_stream(chat);
    free_if_over(chat);
}

static void call_upstream(struct chat *chat)
{
    struct upstream_call call = {
        .upstream = chat->upstream,
        .method = "POST",
        .path = "/chat/completions",
        .body = TAKE(chat->request),
        .body_length = chat->request_length,
        .timeouts = chat->upstream->timeouts,
        .on_head = on_head,
        .on_data = on_data,
        .on_done = on_done,
        .arg = chat,
    };

    chat->call = upstream_call_start(chat->loop, &call);
}

/* Any thread. */
static void post_hook_done(struct outgoing *outgoing)
{
    struct chat *chat = CONTAINER_OF(outgoing, struct chat, outgoing);

    loop_post(chat->loop, &chat->hook_done);
}

/* The hook may fail for reasons that say something about the operator's masks. They go to the log
 * and not to the client. */
static void hook_done(struct loop_task *task)
{
    struct chat *chat = CONTAINER_OF(task, struct chat, hook_done);

    chat->in_hook = false;
    if (chat->outgoing.rc) {
        log_warn("a chat was not sent: %s", chat->outgoing.why.text);
        chat->failed = true;
        err_set(&chat->why, ERR_INTERNAL, "The request could not be prepared for the model.");
        continue_request(chat);
    } else if (chat->sink) {
        json_object_set(chat->parsed, "messages", chat->outgoing.messages);
        chat->request = json_text(chat->parsed);
        chat->request_length = strlen(chat->request);
        call_upstream(chat);
    }
    free_if_over(chat);
}

static void start_chat(struct loop_task *task)
{
    struct chat *chat = CONTAINER_OF(task, struct chat, start);

    chat->sink->gone = client_gone;
    chat->sink->gone_arg = chat;
    if (!chat->parsed) {
        call_upstream(chat);
        return;
    }
    /* The hook works on another thread, and two threads must not share a tree of jansson. So the
     * messages leave the tree of the request before the hook gets them. */
    chat->in_hook = true;
    chat->outgoing.messages = json_incref(json_object_get(chat->parsed, "messages"));
    json_object_del(chat->parsed, "messages");
    chat->hook->look(chat->hook, &chat->outgoing);
}

/* ---- The endpoint ---- */

static enum err_code find_upstream(struct request *request,
                                   const struct model_upstream **ret_upstream, struct err *err)
{
    const struct config *config = request_server(request)->config;
    const char *model = NULL;
    enum err_code rc =
        param_string(request_json(request), "", "model", PARAM_REQUIRED, 256, &model, err);

    if (rc)
        return rc;
    *ret_upstream = model_upstream_find(config->upstreams, config->upstream_count, model);
    if (!*ret_upstream)
        return err_set_api(err, ERR_NOT_FOUND, "model_not_found", NULL,
                           "The model `%.200s` does not exist or you do not have access to it.",
                           model);
    return ERR_OK;
}

/* The upstream gets the client's bytes. Only if a hook must see the messages is the body built again
 * from its JSON. */
static void take_request(struct chat *chat, struct request *request)
{
    const char *body = request_body(request, &chat->request_length);

    chat->hook = masking_hook(request_server(request)->masking);
    if (chat->hook && json_object_get(request_json(request), "messages"))
        chat->parsed = json_deep_copy(request_json(request));
    else
        chat->request = mem_strndup(body, chat->request_length);
    chat->outgoing.done = post_hook_done;
}

enum err_code api_chat_completions(struct request *request, struct err *err)
{
    const struct model_upstream *upstream = NULL;
    struct request_later later = {.resume = answer, .drop = dropped};
    bool stream = false;
    struct chat *chat;
    enum err_code rc = find_upstream(request, &upstream, err);

    if (!rc)
        rc = param_bool(request_json(request), "", "stream", &stream, err);
    if (rc)
        return rc;
    chat = mem_new(struct chat);
    chat->loop = engine_any_loop(request_server(request)->engine);
    chat->upstream = upstream;
    chat->wants_stream = stream;
    take_request(chat, request);
    chat->start.run = start_chat;
    chat->hook_done.run = hook_done;
    chat->stream_ready.run = stream_ready;
    chat->request_done.run = request_done;
    later.arg = chat;
    chat->sink = request_wait_then(request, chat->loop, &later);
    loop_post(chat->loop, &chat->start);
    return ERR_OK;
}
