/*
 * request_end.c -- a request that is complete, or as complete as it can be read: its endpoint
 * is called, or it is answered without one.
 *
 *   request_finish() ─▶ call_endpoint() ─┬─▶ an answer, a stream, an upgrade: sent
 *                                        └─▶ a wait: suspended ─▶ request_end_waiting() ─▶ sent
 *
 * An endpoint is called only if both readers of the bytes, the library and framing.c, have come to
 * the end of the body. Otherwise a part of the next request may be in this one, and the connection
 * ends.
 *
 * A wait comes back in one of three ways: with an object, which is the answer; with REQUEST_CONTINUE, and
 * then another function of the endpoint runs, as if it were called now; or with nothing, because the
 * server stops, and then the client is asked to retry.
 */

#include <assert.h>
#include <microhttpd.h>

#include "core/base/json.h"
#include "server/http/http_internal.h"
#include "server/http/stream/wait.h"

static enum MHD_Result stopping(struct request *request)
{
    struct err err;

    err_set(&err, ERR_UPSTREAM, "The server is shutting down. Please retry your request.");
    request->close = true;
    request_fail_with(request, 503, &err);
    return request_send(request) ? MHD_YES : MHD_NO;
}

static enum MHD_Result begin_waiting(struct request *request)
{
    request->phase = REQUEST_WAITING;
    request_drop_body(request);
    if (wait_begin(request->wait))
        return MHD_YES;
    return stopping(request);
}

static enum MHD_Result send_or_fail(struct request *request, enum err_code rc, struct err *err)
{
    if (rc) {
        err->code = rc;
        request_note_failure(request, request->failure_status, err);
        return request_answer_failure(request);
    }
    assert(request->stream || request->websocket || request->status);
    return request_send(request) ? MHD_YES : MHD_NO;
}

static enum MHD_Result send_or_wait(struct request *request, enum err_code rc, struct err *err)
{
    if (!rc && request->wait)
        return begin_waiting(request);
    return send_or_fail(request, rc, err);
}

/* Calls the function that the endpoint left for this moment. It may make a stream, so the wait's memory is
 * released first. */
static enum MHD_Result resume_request(struct request *request)
{
    struct request_later later = request->later;
    struct err err = {0};

    request->later = (struct request_later){0};
    wait_forgotten(request->wait);
    request->wait = NULL;
    return send_or_wait(request, later.resume(request, later.arg, &err), &err);
}

enum MHD_Result request_end_waiting(struct request *request)
{
    struct sink_answer answer;

    wait_take(request->wait, &answer);
    if (!answer.status)
        return stopping(request);
    if (answer.status == REQUEST_CONTINUE)
        return resume_request(request);
    for (size_t i = 0; i < answer.header_count; i++)
        request_set_header(request, answer.headers[i].name, answer.headers[i].value);
    request_answer(request, answer.status, answer.object);
    return request_send(request) ? MHD_YES : MHD_NO;
}

static enum MHD_Result call_endpoint(struct request *request)
{
    const struct route *route = request->address->match.route;
    struct err err = {0};
    enum err_code rc = ERR_OK;

    if (request->taker.end) {
        rc = request->taker.end(request, request->taker.arg, &err);
    } else {
        if (request_wants_body(request) && !(route->flags & ROUTE_RAW_BODY))
            rc = request_parse_body(request, &err);
        if (!rc)
            rc = route->endpoint(request, &err);
    }
    assert(!rc || (!request->stream && !request->wait && !request->websocket));
    return send_or_wait(request, rc, &err);
}

/* Answers with what was known before the body came. */
static enum MHD_Result finish_without_endpoint(struct request *request)
{
    if (request->failure)
        return request_answer_failure(request);
    return request_send(request) ? MHD_YES : MHD_NO;
}

/* A failure that was found before takes precedence. */
static enum MHD_Result refuse_unread(struct request *request, int status, const char *text)
{
    if (!request->failure && !request->status)
        request_refuse(request, status, text);
    request->close = true;
    return finish_without_endpoint(request);
}

enum MHD_Result request_finish(struct request *request)
{
    const struct framing *framing = &request->peer->framing;

    connection_set_deadline(request->http, request->peer, DEADLINE_NONE);
    if (framing->requests < request->peer->requests)
        return refuse_unread(request, 400,
                             framing->fault ? framing->fault
                                            : "The chunks of the body could not be read.");
    if (!request->failure && !request->status && request_has_rest(request))
        return request_take_rest(request);
    return request->failure || request->status ? finish_without_endpoint(request)
                                               : call_endpoint(request);
}

/* ---- What the library could not read ---- */

/* The library does not say what is wrong, so the place where it gave up decides. */
static const char *unreadable_text(const struct request *request, int status)
{
    switch (status) {
    case 413: return "A chunk of the body is too large.";
    case 414: return "The request line is too long.";
    case 431: return "Request line and headers are too large.";
    case 505: return "This version of HTTP is not supported.";
    default: break;
    }
    if (!request->address->target[0])
        return "The request line could not be read.";
    return request->phase == REQUEST_HEAD ? "The headers are not well-formed."
                                          : "The chunks of the body could not be read.";
}

static enum MHD_Result answer_unreadable(struct request *request, int status)
{
    /* 500: no room for a line of the body's encoding. That is the client's fault. */
    int own_status = status == 500 ? 400 : status;

    if (request->phase > REQUEST_DISCARD)
        return MHD_NO; /* it was answered, or will be */
    return refuse_unread(request, own_status, unreadable_text(request, own_status));
}

enum MHD_Result http_answer_unreadable(struct http_connection *peer,
                                       struct MHD_Connection *connection, int status)
{
    struct request *request = peer->request;
    enum MHD_Result taken;

    if (request)
        return answer_unreadable(request, status);
    /* The library did not reach target_seen(), and will not call completed(). */
    request = request_new(peer->http, "");
    request->connection = connection;
    request->peer = peer;
    peer->over = true;
    taken = answer_unreadable(request, status);
    request_free(request);
    return taken;
}

void http_answer_no_request(struct http_connection *peer)
{
    struct request *request = request_new(peer->http, "");

    /* Without a connection, whose headers the library has freed already. */
    request->peer = peer;
    request_refuse(request, 400, unreadable_text(request, 400));
    request_make_failure(request);
    request_answer_last(request);
    request_free(request);
}
