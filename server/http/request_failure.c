/*
 * request_failure.c -- what is wrong with a request, from being found to being answered.
 *
 * A failure that is known before the body comes is answered once the body was read: most
 * clients look for an answer only then. A client is answered at once if its body's length
 * cannot be trusted, or if it waits for permission to send the body. A client that announces or
 * sends more than is worth reading is answered by request_early.c.
 */

#include <microhttpd.h>

#include "core/base/mem.h"
#include "server/http/http_internal.h"

void request_note_failure(struct request *request, int status, const struct err *err)
{
    if (!request->failure)
        request->failure = mem_new(struct err);
    *request->failure = *err;
    request->failure_status = status;
}

/* The request goes no further; the answer is sent when the body has been read. If there is a
 * body, the answer also ends the connection: a proxy might see the end of that body elsewhere. */
void request_failed(struct request *request, int status, const struct err *err)
{
    request_note_failure(request, status, err);
    if (request->head.has_body)
        request->close = true;
}

/* 501 and 505, for an unknown method or version, are the client's fault. */
static enum err_code code_of(int status)
{
    switch (status) {
    case 403: return ERR_FORBIDDEN;
    case 429: return ERR_LIMIT;
    case 503: return ERR_UPSTREAM;
    default: return ERR_INVALID;
    }
}

void request_refuse(struct request *request, int status, const char *text)
{
    struct err err;

    atomic_fetch_add(&request->http->refused, 1);
    err_set(&err, code_of(status), "%s", text);
    request_failed(request, status, &err);
    request->close = request->at_once = true;
}

void request_body_too_large(struct request *request, uint64_t limit)
{
    struct err err;

    err_set(&err, ERR_TOO_LARGE, "The request body is larger than %llu bytes.",
            (unsigned long long)limit);
    request_failed(request, 0, &err);
}

void request_make_failure(struct request *request)
{
    if (request->failure_status)
        request_fail_with(request, request->failure_status, request->failure);
    else
        request_fail(request, request->failure);
}

enum MHD_Result request_answer_failure_early(struct request *request)
{
    request_make_failure(request);
    return request_answer_early(request);
}

enum MHD_Result request_answer_failure(struct request *request)
{
    request_make_failure(request);
    return request_send(request) ? MHD_YES : MHD_NO;
}
