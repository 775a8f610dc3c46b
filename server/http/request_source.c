/*
 * request_source.c -- an answer whose bytes are read while the client takes them.
 *
 * The library asks for the next bytes when the last ones are sent. If they lie in a slow place, a worker reads
 * them into a piece while the connection is suspended. Then the library asks again. A piece is never larger than what
 * the library takes at once, so a slow client costs the library's buffer and nothing more.
 */

#include <assert.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "server/http/body_work.h"
#include "server/http/http_internal.h"

#define PIECE ((size_t)64 << 10) /* bytes of one read of a body_source */

struct reading {
    struct body_work work; /* only if the source has workers */
    struct body_source source;
    struct request *request; /* as long as the library reads */
    bool asked;              /* the piece was asked for, and is not taken yet */
    uint64_t at;
    size_t size, got;
    char *piece; /* NULL: none */
};

static ssize_t cut_off(const struct err *err)
{
    log_error("an answer was cut off: %s", err->text);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t result_of(const struct reading *reading, size_t got)
{
    return got || reading->source.size != BODY_SIZE_UNKNOWN ? (ssize_t)got
                                                            : MHD_CONTENT_READER_END_OF_STREAM;
}

/* ---- On a worker ---- */

static void run_read(struct body_work *work)
{
    struct reading *reading = CONTAINER_OF(work, struct reading, work);
    const struct body_source *source = &reading->source;

    reading->piece = mem_new_array(char, reading->size);
    work->rc = source->read(source->arg, reading->at, reading->piece, reading->size,
                            &reading->got, &work->err);
}

static void free_reading(struct body_work *work)
{
    struct reading *reading = CONTAINER_OF(work, struct reading, work);

    reading->source.drop(reading->source.arg);
    free(reading->piece);
    free(reading);
}

static const struct body_work_ops read_ops = {.run = run_read, .free = free_reading};

/* ---- What the library calls ---- */

static ssize_t ask_worker(struct reading *reading, uint64_t at, size_t size)
{
    reading->at = at;
    reading->size = size;
    reading->got = 0;
    reading->asked = true;
    return body_work_begin(&reading->work, reading->request, DEADLINE_NONE)
               ? 0
               : MHD_CONTENT_READER_END_WITH_ERROR;
}

/* The library asks for the same bytes again. */
static ssize_t take_piece(struct reading *reading, char *bytes)
{
    uint64_t paused_ns;

    reading->asked = false;
    if (!body_work_end(reading->request, &paused_ns))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (reading->work.rc)
        return cut_off(&reading->work.err);
    memcpy(bytes, reading->piece, reading->got);
    free(TAKE(reading->piece));
    return result_of(reading, reading->got);
}

static ssize_t read_aside(void *arg, uint64_t at, char *bytes, size_t size)
{
    struct reading *reading = arg;

    if (!reading->asked)
        return ask_worker(reading, at, size < PIECE ? size : PIECE);
    assert(at == reading->at && size >= reading->size);
    return take_piece(reading, bytes);
}

static void drop_aside(void *arg)
{
    struct reading *reading = arg;

    body_work_drop(&reading->work);
}

static ssize_t read_here(void *arg, uint64_t at, char *bytes, size_t size)
{
    const struct reading *reading = arg;
    const struct body_source *source = &reading->source;
    size_t got = 0;
    struct err err;

    return source->read(source->arg, at, bytes, size, &got, &err) ? cut_off(&err)
                                                                  : result_of(reading, got);
}

static void drop_here(void *arg)
{
    struct reading *reading = arg;

    free_reading(&reading->work);
}

struct MHD_Response *request_source_response(struct request *request)
{
    static_assert(BODY_SIZE_UNKNOWN == MHD_SIZE_UNKNOWN, "the library means the same");
    const struct body_source *source = &request->source;
    struct reading *reading = mem_new(struct reading);
    struct MHD_Response *response;

    if (source->workers)
        body_work_init(&reading->work, &read_ops, source->workers, source->loop);
    reading->source = *source;
    reading->request = request;
    response = MHD_create_response_from_callback(
        source->size, PIECE, source->workers ? read_aside : read_here, reading,
        source->workers ? drop_aside : drop_here);
    if (!response) {
        free(reading);
        return NULL;
    }
    request->source = (struct body_source){0};
    return response;
}
