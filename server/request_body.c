/*
 * request_body.c -- the body of a request: kept, or thrown away when nobody wants it.
 */

#include <microhttpd.h>

#include "server/http_internal.h"

static bool count_bytes(struct request *request, size_t size)
{
    struct http *http = request->http;

    request->counted += size;
    return atomic_fetch_add(&http->body_bytes, size) + size <= http->options.config->max_bodies;
}

static void keep_body(struct request *request, const char *bytes, size_t size)
{
    struct err err;

    if (request->body.length + size > request->http->options.config->max_body) {
        request_body_too_large(request);
    } else if (!count_bytes(request, size)) {
        err_set(&err, ERR_LIMIT, "The server is reading too much at once. Please retry later.");
        request_failed(request, 503, &err);
    } else {
        buf_add(&request->body, bytes, size);
        return;
    }
    buf_clear(&request->body);
    request->phase = REQUEST_DISCARD;
}

/* MHD_NO hangs up: it announced less than it sends, or nothing at all. */
static enum MHD_Result discard_body(struct request *request, size_t size)
{
    request->discarded += size;
    return request->discarded <= REQUEST_DISCARD_LIMIT ? MHD_YES : MHD_NO;
}

enum MHD_Result request_take_body(struct request *request, const char *bytes, size_t size)
{
    if (request->phase == REQUEST_DISCARD)
        return discard_body(request, size);
    keep_body(request, bytes, size);
    return MHD_YES;
}
