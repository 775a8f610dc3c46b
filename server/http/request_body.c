/*
 * request_body.c -- the body of a request: kept, or discarded if no one needs it. A body that
 * is too large is answered before its end in both cases.
 */

#include <microhttpd.h>

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
        request_body_too_large(request);
    } else if (!count_bytes(request, size)) {
        err_set(&err, ERR_LIMIT, "The server is reading too much at once. Please retry later.");
        request_failed(request, 503, &err);
    } else {
        buf_add(&request->body, bytes, size);
        return MHD_YES;
    }
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
    return request->phase == REQUEST_DISCARD ? discard_body(request, size)
                                             : keep_body(request, bytes, size);
}
