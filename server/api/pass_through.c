/*
 * api/pass_through.c -- requests that are passed through to the upstream that serves their model:
 * chat completions, embeddings, moderations, images, audio and so on.
 *
 * A client that needs no run, such as a script that asks for one completion, can use the same base
 * URL and key. So can the part of an application that makes embeddings. The server adds nothing to the
 * request, stores nothing, and returns the upstream's status, content type and bytes. The body is
 * forwarded as the client sent it, not built again from its JSON: a parameter that this server does
 * not know must reach the upstream unchanged. All endpoints are one function. They differ only in
 * their path, and in the model that OpenAI takes when a request names none. Forms come here through
 * pass_form.c.
 *
 *   worker   api_pass_through(): finds the upstream, makes the pass, suspends the request
 *   loop     start_pass(): the operator's hook if there is one, then the upstream call
 *   loop     on_head(): the upstream streams? The request continues at once. Otherwise on_done()
 *   worker   answer(): the whole body, or a stream of events or of sound
 *   loop     on_data(): events go into the stream as they arrive
 *
 * The request waits until the status of the upstream is known, because a stream begins with status
 * 200 and cannot take that back. A stream is cut into pieces only between events: the server's own
 * keep-alive comments go in between, and a comment inside an event would break it. Sound is a stream
 * of plain bytes, so that a player can begin before the whole of it was made.
 *
 * A pass belongs to a loop. It is freed when neither the upstream call, the stream, the hook nor
 * the suspended request needs it any more (free_if_over). Only answer() runs on another thread, and
 * while it does, the loop does not change what it reads.
 *
 * A crash or the end of the server loses the pass. Nothing about it is stored, so the client sends
 * the request again.
 */

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/model/model.h"
#include "core/net/http_client.h"
#include "core/run/engine/engine.h"
#include "core/run/turn/before_send.h"
#include "server/api/api.h"
#include "server/api/pass.h"
#include "server/api/pass_files.h"
#include "server/api/pass_texts.h"
#include "server/api/upstream_call.h"
#include "server/complaint.h"
#include "server/masking.h"
#include "server/params/params.h"
#include "server/server.h"

/* Bytes of an answer that is not a stream, of one event of a stream, or of sound that waits for a slow
 * client. Vectors of 2,048 texts and ten pictures fit. */
#define ANSWER_LIMIT ((size_t)64 << 20)
#define TYPE_LIMIT   100

/* What the upstream's answer becomes here. */
enum pass_form {
    PASS_WHOLE,
    PASS_EVENTS,
    PASS_BYTES, /* a stream that is not one of events */
};

struct pass {
    struct loop *loop;
    const struct model_upstream *upstream;
    const char *path; /* after /v1, or rather after the upstream's URL */
    struct loop_task start, stream_ready, request_done, hook_done;
    struct pass_body
        request; /* as the client sent it, or with files; the hook's replaces its bytes */
    struct spool *spooled; /* instead of `request`: a form, with its Content-Type */
    char *spooled_type;

    /* For the operator's hook, which may change or refuse texts before a model gets them. */
    struct before_send *hook;
    json_t *parsed; /* the request without its texts, which are with the hook; NULL: no hook */
    struct outgoing outgoing;
    bool in_hook;

    /* The loop's. answer() may read them: the loop leaves them alone while it runs. */
    struct http_call *call; /* NULL once it is over */
    struct sink *sink;      /* of the waiting request, then of the stream; or NULL */
    struct sink *next_sink; /* of the stream, on its way from the worker to the loop */
    int status;             /* of the upstream */
    char type[TYPE_LIMIT];
    uint64_t retry_after_ns;
    enum pass_form form;
    bool continued; /* the waiting request was sent to a worker, for its answer */
    bool failed;
    struct err why;
    struct buf body; /* the whole answer, or the part of a stream that was not passed on yet */
    size_t searched; /* so many bytes of it have no end of an event */
    bool request_is_done;
};

static void free_body(struct pass_body *body)
{
    free(body->bytes);
    if (body->sent)
        body->sent(body->sent_arg);
}

static void free_if_over(struct pass *pass)
{
    if (pass->call || pass->sink || pass->in_hook || !pass->request_is_done)
        return;
    free_body(&pass->request);
    spool_close(pass->spooled);
    free(pass->spooled_type);
    json_decref(pass->parsed);
    json_decref(pass->outgoing.messages);
    buf_clear(&pass->body);
    free(pass);
}

static void close_sink(struct pass *pass)
{
    struct sink *sink = pass->sink;

    pass->sink = NULL;
    if (sink)
        sink->ops->close(sink);
}

static void cancel_call(struct pass *pass)
{
    if (pass->call)
        http_call_cancel(pass->call);
    pass->call = NULL;
}

static void client_gone(struct sink *sink, void *arg)
{
    struct pass *pass = arg;

    (void)sink;
    cancel_call(pass);
    close_sink(pass);
    free_if_over(pass);
}

/* ---- The stream ---- */

/* The number of bytes up to the end of the last whole event. An event ends with an empty line, whose
 * line ends may be LF, CR or CR LF (HTML Living Standard, "Server-sent events"). What was searched before is
 * not searched again: an event with a picture comes in hundreds of pieces. */
static size_t whole_events(const struct pass *pass)
{
    for (size_t i = pass->body.length; i > pass->searched && i > 1; i--) {
        const char *end = pass->body.data + i;

        if (memcmp(end - 2, "\n\n", 2) == 0 || memcmp(end - 2, "\r\r", 2) == 0 ||
            (i > 3 && memcmp(end - 4, "\r\n\r\n", 4) == 0))
            return i;
    }
    return 0;
}

static size_t sendable(const struct pass *pass)
{
    return pass->form == PASS_EVENTS ? whole_events(pass) : pass->body.length;
}

/* Passes on what can be sent. */
static void pass_on(struct pass *pass)
{
    size_t length = sendable(pass);

    if (length) {
        pass->sink->ops->events(pass->sink, pass->body.data, length);
        buf_consume(&pass->body, length);
    }
    pass->searched = pass->body.length;
}

/* An event with the member `error` is how OpenAI reports an error within a stream. Its SDKs raise
 * an exception for it. An event that has come in part is dropped: they would fail to parse it first. */
static void set_error_event(struct pass *pass)
{
    json_auto_t *error =
        json_build("{s:{s:s, s:s, s:n, s:n}}", "error", "message", pass->why.text, "type",
                   err_api_type(pass->why.code), "param", "code");

    buf_reset(&pass->body);
    buf_add_text(&pass->body, "data: ");
    json_add_text(&pass->body, error);
    buf_add_text(&pass->body, "\n\n");
}

static void end_stream(struct pass *pass)
{
    if (pass->failed && pass->form == PASS_EVENTS)
        set_error_event(pass);
    if (pass->body.length)
        pass->sink->ops->events(pass->sink, pass->body.data, pass->body.length);
    if (pass->failed && pass->form == PASS_BYTES)
        request_break_stream(pass->sink);
    close_sink(pass);
}

/* The worker has made the stream. Events may have arrived since on_head(), and the upstream may have
 * finished already. */
static void stream_ready(struct loop_task *task)
{
    struct pass *pass = CONTAINER_OF(task, struct pass, stream_ready);

    pass->sink = pass->next_sink;
    pass->sink->gone = client_gone;
    pass->sink->gone_arg = pass;
    pass->request_is_done = true;
    pass_on(pass);
    if (!pass->call)
        end_stream(pass);
    free_if_over(pass);
}

/* ---- From the waiting request to its answer ---- */

static void request_done(struct loop_task *task)
{
    struct pass *pass = CONTAINER_OF(task, struct pass, request_done);

    pass->request_is_done = true;
    if (!pass->sink)
        cancel_call(pass); /* no client is left to receive the answer */
    free_if_over(pass);
}

/* The request ended without an answer from here: its client left, or the server stops. */
static void dropped(void *arg)
{
    struct pass *pass = arg;

    loop_post(pass->loop, &pass->request_done);
}

static void pass_on_retry_after(struct request *request, const struct pass *pass)
{
    char seconds[24];

    if (!pass->retry_after_ns)
        return;
    (void)snprintf(
        seconds, sizeof(seconds), "%llu",
        (unsigned long long)((pass->retry_after_ns + NS_PER_SECOND - 1) / NS_PER_SECOND));
    request_set_header(request, "Retry-After", seconds);
}

/* A page of an upstream must not become a page of this server in a browser. */
static const char *type_for_client(const struct pass *pass)
{
    if (!pass->type[0])
        return "application/json";
    if (strcasestr(pass->type, "html") || strcasestr(pass->type, "xml"))
        return "text/plain; charset=utf-8";
    return pass->type;
}

static enum err_code answer_whole(struct request *request, struct pass *pass, struct err *err)
{
    size_t length = pass->body.length;

    if (pass->failed) {
        *err = pass->why;
        return err->code;
    }
    pass_on_retry_after(request, pass);
    request_set_header(request, "Content-Type", type_for_client(pass));
    request_answer_bytes(request, pass->status, NULL, buf_take(&pass->body), length);
    return ERR_OK;
}

/* On a worker, which alone may answer a request. */
static enum err_code answer(struct request *request, void *arg, struct err *err)
{
    struct pass *pass = arg;
    enum err_code rc = ERR_OK;

    if (pass->form) {
        pass->next_sink =
            pass->form == PASS_EVENTS
                ? request_stream(request, pass->loop)
                : request_stream_bytes(request, pass->loop, pass->type, ANSWER_LIMIT);
        loop_post(pass->loop, &pass->stream_ready);
    } else {
        rc = answer_whole(request, pass, err);
        loop_post(pass->loop, &pass->request_done);
    }
    return rc;
}

/* Sends the suspended request to a worker, which calls answer(). At most once: a pass that fails
 * after its stream has begun must not be answered again. */
static void continue_request(struct pass *pass)
{
    if (!pass->sink || pass->continued)
        return;
    pass->continued = true;
    pass->sink->ops->answer(pass->sink, &(struct sink_answer){.status = REQUEST_CONTINUE});
    close_sink(pass);
}

/* ---- The upstream ---- */

static enum pass_form form_of(const struct http_head *head)
{
    if (head->status != 200)
        return PASS_WHOLE;
    if (strncasecmp(head->content_type, "text/event-stream", 17) == 0)
        return PASS_EVENTS;
    return strncasecmp(head->content_type, "audio/", 6) == 0 ? PASS_BYTES : PASS_WHOLE;
}

static void on_head(void *arg, const struct http_head *head)
{
    struct pass *pass = arg;

    pass->status = head->status;
    (void)snprintf(pass->type, sizeof(pass->type), "%s", head->content_type);
    pass->retry_after_ns = head->retry_after_ns;
    pass->form = form_of(head);
    if (pass->form)
        continue_request(pass);
}

static void too_large(struct pass *pass)
{
    cancel_call(pass);
    pass->failed = true;
    err_set(&pass->why, ERR_UPSTREAM, "The model's answer is larger than %zu bytes.",
            ANSWER_LIMIT);
    if (!pass->form)
        continue_request(pass);
    else if (pass->sink)
        end_stream(pass);
    free_if_over(pass);
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    struct pass *pass = arg;

    if (pass->body.length + size > ANSWER_LIMIT) {
        too_large(pass);
        return;
    }
    buf_add(&pass->body, bytes, size);
    if (pass->form && pass->sink)
        pass_on(pass);
}

static void on_done(void *arg, enum err_code rc, const struct err *error)
{
    struct pass *pass = arg;

    pass->call = NULL;
    pass->failed = rc != ERR_OK;
    if (rc)
        pass->why = *error;
    if (!pass->form)
        continue_request(pass);
    else if (pass->sink)
        end_stream(pass);
    free_if_over(pass);
}

static void call_upstream(struct pass *pass)
{
    struct upstream_call call = {
        .upstream = pass->upstream,
        .method = "POST",
        .path = pass->path,
        .body = TAKE(pass->request.bytes),
        .body_length = pass->request.length,
        .sent = TAKE(pass->request.sent),
        .sent_arg = pass->request.sent_arg,
        .spool = TAKE(pass->spooled),
        .type = pass->spooled_type,
        .timeouts = pass->upstream->timeouts,
        .on_head = on_head,
        .on_data = on_data,
        .on_done = on_done,
        .arg = pass,
    };

    pass->call = upstream_call_start(pass->loop, &call);
}

/* Any thread. */
static void post_hook_done(struct outgoing *outgoing)
{
    struct pass *pass = CONTAINER_OF(outgoing, struct pass, outgoing);

    loop_post(pass->loop, &pass->hook_done);
}

/* The hook may fail for reasons that say something about the operator's masks. They go to the log
 * and not to the client. */
static void hook_done(struct loop_task *task)
{
    struct pass *pass = CONTAINER_OF(task, struct pass, hook_done);

    pass->in_hook = false;
    if (!pass->outgoing.rc)
        pass->outgoing.rc =
            pass_texts_put(pass->parsed, pass->outgoing.messages, &pass->outgoing.why);
    if (pass->outgoing.rc) {
        log_warn("a request was not passed on: %s", pass->outgoing.why.text);
        pass->failed = true;
        err_set(&pass->why, ERR_INTERNAL, "The request could not be prepared for the model.");
        continue_request(pass);
    } else if (pass->sink) {
        free(pass->request.bytes);
        pass->request.bytes = json_text(pass->parsed);
        pass->request.length = strlen(pass->request.bytes);
        call_upstream(pass);
    }
    free_if_over(pass);
}

static void start_pass(struct loop_task *task)
{
    struct pass *pass = CONTAINER_OF(task, struct pass, start);

    pass->sink->gone = client_gone;
    pass->sink->gone_arg = pass;
    if (!pass->parsed) {
        call_upstream(pass);
        return;
    }
    pass->in_hook = true;
    pass->hook->look(pass->hook, &pass->outgoing);
}

/* ---- The endpoint ---- */

/* The models that OpenAI takes for requests without one. Other requests need a model. */
static const struct {
    const char *path;
    const char *model;
} defaults[] = {
    {"/v1/moderations", "omni-moderation-latest"},
    {"/v1/images/generations", "dall-e-2"},
    {"/v1/images/edits", "dall-e-2"},
    {"/v1/images/variations", "dall-e-2"},
};

static const char *default_model(const char *path)
{
    for (size_t i = 0; i < COUNT_OF(defaults); i++)
        if (strcmp(path, defaults[i].path) == 0)
            return defaults[i].model;
    return NULL;
}

enum err_code pass_find_upstream(const struct request *request, const json_t *body,
                                 const struct model_upstream **ret_upstream, struct err *err)
{
    const struct config *config = request_server(request)->config;
    const char *model = default_model(request_path(request));
    enum err_code rc = param_string(body, "", "model", model ? PARAM_OPTIONAL : PARAM_REQUIRED,
                                    256, &model, err);

    if (rc)
        return rc;
    *ret_upstream = model_upstream_find(config->upstreams, config->upstream_count, model);
    if (!*ret_upstream)
        return err_set_api(err, ERR_NOT_FOUND, "model_not_found", NULL,
                           "The model `%.200s` does not exist or you do not have access to it.",
                           model);
    return ERR_OK;
}

/* The texts for the hook. It works on another thread, and two threads must not share a tree of
 * jansson, so both are copies. */
static enum err_code take_texts(struct pass *pass, const struct request *request,
                                struct err *err)
{
    json_auto_t *parsed = NULL;
    enum err_code rc = ERR_OK;

    pass->hook = masking_hook(request_server(request)->masking);
    if (!pass->hook)
        return ERR_OK;
    if (pass->request.bytes)
        rc = json_parse(pass->request.bytes, pass->request.length, &parsed, err);
    else
        parsed = json_deep_copy(request_json(request));
    if (!rc)
        rc = pass_texts_take(parsed, &pass->outgoing.messages, err);
    if (!rc && pass->outgoing.messages)
        pass->parsed = TAKE(parsed);
    return rc;
}

static struct pass *pass_new(const struct request *request,
                             const struct model_upstream *upstream)
{
    struct pass *pass = mem_new(struct pass);

    pass->loop = engine_any_loop(request_server(request)->engine);
    pass->upstream = upstream;
    pass->path = request_path(request) + strlen("/v1");
    pass->outgoing.done = post_hook_done;
    pass->start.run = start_pass;
    pass->hook_done.run = hook_done;
    pass->stream_ready.run = stream_ready;
    pass->request_done.run = request_done;
    return pass;
}

/* From here on the pass is the loop's. */
static void suspend(struct request *request, struct pass *pass)
{
    const struct request_later later = {.resume = answer, .drop = dropped, .arg = pass};

    pass->sink = request_wait_then(request, pass->loop, &later);
    loop_post(pass->loop, &pass->start);
}

void pass_form(struct request *request, const struct model_upstream *upstream,
               struct spool *form)
{
    struct pass *pass = pass_new(request, upstream);

    pass->spooled = form;
    pass->spooled_type = mem_strdup(request_header(request, "content-type"));
    suspend(request, pass);
}

/* The upstream gets the client's bytes. Only if a hook must see its texts is the body built again from
 * its JSON. */
enum err_code pass_bytes(struct request *request, const struct model_upstream *upstream,
                         const struct pass_body *body, struct err *err)
{
    struct pass *pass = pass_new(request, upstream);
    enum err_code rc;

    pass->request = *body;
    rc = take_texts(pass, request, err);
    if (rc) {
        free_body(&pass->request);
        free(pass);
        return rc;
    }
    if (!pass->request.bytes && !pass->parsed) {
        const char *text = request_body(request, &pass->request.length);

        pass->request.bytes = mem_strndup(text, pass->request.length);
    }
    suspend(request, pass);
    return ERR_OK;
}

enum err_code api_pass_through(struct request *request, struct err *err)
{
    const struct model_upstream *upstream = NULL;
    bool stream = false; /* looked at by the upstream */
    enum err_code rc = pass_find_upstream(request, request_json(request), &upstream, err);

    if (!rc)
        rc = param_bool(request_json(request), "", "stream", &stream, err);
    if (rc)
        return rc;
    if (pass_files_wait(request, upstream))
        return ERR_OK;
    return pass_bytes(request, upstream, &(struct pass_body){0}, err);
}
