/*
 * request_body.c -- the body of a request, piece by piece: kept, or discarded if it is not needed.
 *
 * Two limits protect the memory: max_body for one request, and max_bodies for all together, so that
 * many clients at once cannot do what one may not. The second is a refusal with 503 and Retry-After,
 * because the next moment may have room. A body that an endpoint takes as it arrives needs no memory and has the
 * limit of its endpoint. If it is taken on a worker, a piece is collected first, and counts as long as it is there,
 * also when its client has left meanwhile.
 *
 * A body that is not needed (the request is refused already, or is a GET) is read and thrown away up
 * to REQUEST_DISCARD_LIMIT, because most clients send all of it before they look for an answer. A
 * body that is too large, in either case, is answered before its end (request_early.c).
 */

#include <microhttpd.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "server/http/body_work.h"
#include "server/http/http_internal.h"

/* A body that is taken on a worker. */
struct taking {
    struct body_work work;
    struct body_taker taker;
    struct http *http;
    struct buf piece;
    size_t counted; /* of the piece, in http->body_bytes */
};

/* The bytes also stand in *counted. */
static bool count_bytes(struct http *http, size_t *counted, size_t size)
{
    *counted += size;
    return atomic_fetch_add(&http->body_bytes, size) + size <= http->options.config->max_bodies;
}

static void uncount_piece(struct taking *taking)
{
    atomic_fetch_sub(&taking->http->body_bytes, taking->counted);
    taking->counted = 0;
}

static enum MHD_Result refuse_for_others(struct request *request)
{
    struct err err;

    err_set(&err, ERR_LIMIT, "The server is reading too much at once. Please retry later.");
    request_failed(request, 503, &err);
    return request_answer_failure_early(request);
}

static enum MHD_Result keep_body(struct request *request, const char *bytes, size_t size)
{
    if (request->body.length + size > request->http->options.config->max_body) {
        request_body_too_large(request, request->http->options.config->max_body);
        return request_answer_failure_early(request);
    }
    if (!count_bytes(request->http, &request->counted, size))
        return refuse_for_others(request);
    buf_add(&request->body, bytes, size);
    return MHD_YES;
}

/* A new deadline for a client that keeps up the rate. Not for each piece, because all workers share the lock of the
 * deadlines. A client that falls behind keeps the deadline that it has. False if it has been behind for as long,
 * whatever deadlines it got after pauses. */
static bool set_streamed_deadline(struct request *request)
{
    struct http *http = request->http;
    uint64_t now = clock_mono_ns();
    uint64_t patience = http->deadlines.patience_ns[DEADLINE_BODY];

    if (!request->streamed_from_ns)
        request->streamed_from_ns = request->lively_ns = now;
    if (now - request->lively_ns < patience / 8)
        return true;
    if (now - request->streamed_from_ns >
        patience + request->streamed / REQUEST_STREAM_RATE * NS_PER_SECOND) {
        if (!request->behind_ns)
            request->behind_ns = now;
        return now - request->behind_ns <= patience;
    }
    request->behind_ns = 0;
    request->lively_ns = now;
    connection_set_deadline(http, request->peer, DEADLINE_BODY);
    return true;
}

/* ---- On a worker ---- */

static struct taking *taking_of(struct body_work *work)
{
    return CONTAINER_OF(work, struct taking, work);
}

static void run_take(struct body_work *work)
{
    struct taking *taking = taking_of(work);
    const struct body_taker *taker = &taking->taker;

    work->rc =
        taker->take(NULL, taker->arg, taking->piece.data, taking->piece.length, &work->err);
    buf_reset(&taking->piece);
}

static void free_taking(struct body_work *work)
{
    struct taking *taking = taking_of(work);

    buf_clear(&taking->piece);
    uncount_piece(taking);
    taking->taker.drop(taking->taker.arg);
    free(taking);
}

static const struct body_work_ops take_ops = {.run = run_take, .free = free_taking};

static struct taking *make_taking(struct http *http, const struct body_taker *taker)
{
    struct taking *taking = mem_new(struct taking);

    body_work_init(&taking->work, &take_ops, taker->workers, taker->loop);
    taking->taker = *taker;
    taking->http = http;
    return taking;
}

static enum MHD_Result collect(struct request *request, const char *bytes, size_t size)
{
    struct taking *taking = request->taking;

    if (!taking)
        taking = request->taking = make_taking(request->http, &request->taker);
    if (!count_bytes(request->http, &taking->counted, size))
        return refuse_for_others(request);
    buf_add(&taking->piece, bytes, size);
    return taking->piece.length < REQUEST_PIECE ? MHD_YES : request_take_rest(request);
}

bool request_has_rest(const struct request *request)
{
    return request->taking && request->taking->piece.length;
}

enum MHD_Result request_take_rest(struct request *request)
{
    request->phase = REQUEST_PAUSED;
    return body_work_begin(&request->taking->work, request, DEADLINE_BODY) ? MHD_YES : MHD_NO;
}

static enum MHD_Result answer_untaken(struct request *request, size_t size)
{
    struct body_work *work = &request->taking->work;

    work->err.code = work->rc;
    if (!size) {
        request_note_failure(request, 0, &work->err);
        return request_answer_failure(request);
    }
    request_failed(request, 0, &work->err);
    return request_answer_failure_early(request);
}

/* The time of the pause is not the client's. */
enum MHD_Result request_go_on(struct request *request, const char *bytes, size_t size)
{
    uint64_t paused_ns;

    if (!body_work_end(request, &paused_ns))
        return MHD_NO;
    uncount_piece(request->taking);
    request->phase = REQUEST_BODY;
    request->streamed_from_ns += paused_ns;
    request->behind_ns += request->behind_ns ? paused_ns : 0;
    if (request->taking->work.rc)
        return answer_untaken(request, size);
    return size ? request_take_body(request, bytes, size) : request_finish(request);
}

void request_drop_taker(struct request *request)
{
    struct taking *taking = TAKE(request->taking);
    struct body_taker taker = request->taker;

    request->taker = (struct body_taker){0};
    if (taking)
        body_work_drop(&taking->work);
    else if (taker.drop)
        taker.drop(taker.arg);
}

/* ---- Pieces ---- */

static enum MHD_Result stream_body(struct request *request, const char *bytes, size_t size)
{
    const struct body_taker *taker = &request->taker;
    struct err err = {0};

    request->streamed += size;
    if (request->streamed > taker->limit) {
        request_body_too_large(request, taker->limit);
        return request_answer_failure_early(request);
    }
    if (!set_streamed_deadline(request)) {
        atomic_fetch_add(&request->http->late, 1);
        return MHD_NO;
    }
    if (taker->workers)
        return collect(request, bytes, size);
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
