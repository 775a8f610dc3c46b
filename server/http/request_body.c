/*
 * request_body.c -- the body of a request, piece by piece: kept, or discarded if it is not needed.
 *
 * Two limits protect the memory: max_body for one request, and max_bodies for all together, so that
 * many clients at once cannot do what one may not. The second is a refusal with 503 and Retry-After,
 * because the next moment may have room. A body that an endpoint takes as it arrives needs no memory and has the
 * limit of its endpoint.
 *
 * A body that is not needed (the request is refused already, or is a GET) is read and thrown away up
 * to REQUEST_DISCARD_LIMIT, because most clients send all of it before they look for an answer. A
 * body that is too large, in either case, is answered before its end (request_early.c).
 */

#include <microhttpd.h>

#include "core/base/clock.h"
#include "server/http/http_internal.h"

static bool count_bytes(struct request *request, size_t size)
{
    struct http *http = request->http;

    request->counted += size;
    return atomic_fetch_add(&http->body_bytes, size) + size <= http->options.config->max_bodies;
}

static enum MHD_Result keep_body(struct request *request, const char *bytes, size_t size)
{
    struct err err;

    if (request->body.length + size > request->http->options.config->max_body) {
        request_body_too_large(request, request->http->options.config->max_body);
    } else if (!count_bytes(request, size)) {
        err_set(&err, ERR_LIMIT, "The server is reading too much at once. Please retry later.");
        request_failed(request, 503, &err);
    } else {
        buf_add(&request->body, bytes, size);
        return MHD_YES;
    }
    return request_answer_failure_early(request);
}

/* A new deadline for a client that keeps up the rate. Not for each piece, because all workers share the lock of the
 * deadlines. A client that falls behind keeps the deadline that it has. */
static void set_streamed_deadline(struct request *request)
{
    struct http *http = request->http;
    uint64_t now = clock_mono_ns();
    uint64_t patience = http->deadlines.patience_ns[DEADLINE_BODY];

    if (!request->streamed_from_ns)
        request->streamed_from_ns = request->lively_ns = now;
    if (now - request->lively_ns < patience / 8 ||
        now - request->streamed_from_ns >
            patience + request->streamed / REQUEST_STREAM_RATE * NS_PER_SECOND)
        return;
    request->lively_ns = now;
    connection_set_deadline(http, request->peer, DEADLINE_BODY);
}

static enum MHD_Result stream_body(struct request *request, const char *bytes, size_t size)
{
    const struct body_taker *taker = &request->taker;
    struct err err = {0};

    request->streamed += size;
    if (request->streamed > taker->limit) {
        request_body_too_large(request, taker->limit);
        return request_answer_failure_early(request);
    }
    set_streamed_deadline(request);
    err.code = taker->take(request, taker->arg, bytes, size, &err);
    if (!err.code)
        return MHD_YES;
    request_failed(request, request->failure_status, &err);
    return request_answer_failure_early(request);
}

static enum MHD_Result discard_body(struct request *request, size_t size)
{
    struct err err;

    request->discarded += size;
    if (request->discarded <= REQUEST_DISCARD_LIMIT)
        return MHD_YES;
    if (request->status)
        return request_answer_early(request);
    if (!request->failure) {
        err_set(&err, ERR_TOO_LARGE,
                "A request that needs no body has one of more than %llu bytes.",
                (unsigned long long)REQUEST_DISCARD_LIMIT);
        request_failed(request, 0, &err);
    }
    return request_answer_failure_early(request);
}

enum MHD_Result request_take_body(struct request *request, const char *bytes, size_t size)
{
    if (request->phase == REQUEST_DISCARD)
        return discard_body(request, size);
    return request->taker.take ? stream_body(request, bytes, size)
                               : keep_body(request, bytes, size);
}
