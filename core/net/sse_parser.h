#ifndef RUNNEL_CORE_NET_SSE_PARSER_H
#define RUNNEL_CORE_NET_SSE_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * sse_parser.h -- bytes of a text/event-stream in, events out.
 *
 * Accepts LF, CR and CRLF, comments, several data lines (joined by LF), fields with and
 * without a space after the colon, a byte order mark, and pieces cut anywhere. Unlike the
 * standard, an event left open at the end of the stream is delivered by sse_parser_end():
 * servers forget the last empty line. If the reader wants it, a line `error: ...` is an event of its
 * own, named "error": some model servers write that instead of `event: error` and `data: ...`.
 *
 * The common case, a whole event inside one piece, is passed on without copying.
 */

#define SSE_EVENT_LIMIT ((size_t)4 << 20)

#define SSE_ID_LIMIT ((size_t)256) /* a longer id is ignored */

struct sse_parser {
    struct buf line;   /* a line whose end has not come yet */
    struct buf data;   /* of the open event, unless all of it is in the present piece */
    struct buf event;  /* its name */
    struct buf coming; /* its id */
    struct buf id;     /* of the last complete event with an id: where a client continues */
    /* The data, when all of it is in the present piece; NULL between pieces */
    const char *view;
    size_t view_length;
    bool has_data;
    bool after_cr; /* a CR was the last byte: an LF that follows belongs to it */
    bool started;
    bool reads_errors; /* a field "error" is an event; set by the reader */
    size_t limit;      /* of an event; 0: SSE_EVENT_LIMIT. For the server's own log: SIZE_MAX */
};

/* `name` is "" when the event has none; `data` is not NUL-terminated and lives during the call.
 * Returning false stops the parser: sse_parser_feed() returns at once and does not touch the
 * parser again, which `event` may have released. */
typedef bool sse_event_fn(void *arg, const char *name, const char *data, size_t length);

/* ERR_TOO_LARGE when an event or a line outgrows SSE_EVENT_LIMIT; ERR_CANCELLED when `event`
 * returned false. After either, the parser can only be cleared. */
enum err_code sse_parser_feed(struct sse_parser *parser, const char *bytes, size_t size,
                              sse_event_fn *event, void *arg) MUST_CHECK;
enum err_code sse_parser_end(struct sse_parser *parser, sse_event_fn *event,
                             void *arg) MUST_CHECK;

void sse_parser_clear(struct sse_parser *parser);

#endif
