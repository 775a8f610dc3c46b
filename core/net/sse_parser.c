/*
 * sse_parser.c -- bytes become lines, lines become fields, fields become events.
 *
 *   piece ─▶ line_length() ─▶ take_line() ─▶ take_field() ─▶ dispatch() at an empty line ─▶ event
 *                └─ a line that ends in a later piece waits in `line`
 *
 * Every token of every stream passes here, so the usual case copies nothing: a model sends one event in
 * one piece, and its data stays a pointer into the piece. It is copied when a second data line comes or
 * when the piece ends within the event.
 *
 * The id of an event counts only when the event is complete. A client that reconnects after a broken
 * event must get that event again.
 *
 * A callback may release the parser. After it has returned false nothing of the parser is touched.
 */

#include "core/net/sse_parser.h"

#include <string.h>

struct emitter {
    sse_event_fn *event;
    void *arg;
};

static size_t limit_of(const struct sse_parser *parser)
{
    return parser->limit ? parser->limit : SSE_EVENT_LIMIT;
}

/* Copies data that was only pointed at into the parser's own memory. */
static void keep_data(struct sse_parser *parser)
{
    if (!parser->view)
        return;
    buf_add(&parser->data, parser->view, parser->view_length);
    parser->view = NULL;
}

static enum err_code take_data(struct sse_parser *parser, const char *value, size_t length)
{
    size_t before = parser->data.length + (parser->view ? parser->view_length : 0);

    if (before + length + 1 > limit_of(parser))
        return ERR_TOO_LARGE;
    if (!parser->has_data) {
        parser->has_data = true;
        parser->view = value;
        parser->view_length = length;
        return ERR_OK;
    }
    keep_data(parser);
    buf_add_char(&parser->data, '\n');
    buf_add(&parser->data, value, length);
    return ERR_OK;
}

static void forget_event(struct sse_parser *parser)
{
    buf_reset(&parser->data);
    buf_reset(&parser->event);
    parser->has_data = false;
    parser->view = NULL;
}

static void keep_id(struct sse_parser *parser)
{
    if (!parser->coming.length)
        return;
    buf_reset(&parser->id);
    buf_add(&parser->id, parser->coming.data, parser->coming.length);
    buf_reset(&parser->coming);
}

/* After "stop" the parser is not touched any more: it may be gone. */
static enum err_code dispatch(struct sse_parser *parser, const struct emitter *to)
{
    const char *name = parser->event.data ? parser->event.data : "";
    const char *data = parser->view ? parser->view : parser->data.data;
    size_t length = parser->view ? parser->view_length : parser->data.length;

    if (parser->has_data && !to->event(to->arg, name, data, length))
        return ERR_CANCELLED;
    forget_event(parser);
    return ERR_OK;
}

static bool field_is(const char *line, size_t name_length, const char *name)
{
    return name_length == strlen(name) && memcmp(line, name, name_length) == 0;
}

static enum err_code take_field(struct sse_parser *parser, const char *line, size_t length,
                                const struct emitter *to)
{
    const char *colon = memchr(line, ':', length);
    size_t name_length = colon ? (size_t)(colon - line) : length;
    const char *value = line + name_length + (colon ? 1 : 0);
    size_t value_length = (size_t)(line + length - value);

    if (value_length && *value == ' ') {
        value++;
        value_length--;
    }
    if (field_is(line, name_length, "data"))
        return take_data(parser, value, value_length);
    if (parser->reads_errors && value_length && field_is(line, name_length, "error"))
        return to->event(to->arg, "error", value, value_length) ? ERR_OK : ERR_CANCELLED;
    if (field_is(line, name_length, "event")) {
        buf_reset(&parser->event);
        buf_add(&parser->event, value, value_length);
    } else if (field_is(line, name_length, "id")) {
        buf_reset(&parser->coming);
        if (value_length <= SSE_ID_LIMIT && !memchr(value, '\0', value_length))
            buf_add(&parser->coming, value, value_length);
    }
    return ERR_OK;
}

/* Handles a whole line, without its line end. */
static enum err_code take_line(struct sse_parser *parser, const char *line, size_t length,
                               const struct emitter *to)
{
    if (length > limit_of(parser))
        return ERR_TOO_LARGE;
    if (!parser->started) {
        parser->started = true;
        if (length >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
            line += 3;
            length -= 3;
        }
    }
    if (length)
        return take_field(parser, line, length, to);
    keep_id(parser);
    return dispatch(parser, to);
}

/* Handles a line that began in an earlier piece and ends with the `length` bytes at `rest`. */
static enum err_code take_joined_line(struct sse_parser *parser, const char *rest,
                                      size_t length, const struct emitter *to)
{
    enum err_code rc;

    buf_add(&parser->line, rest, length);
    rc = take_line(parser, parser->line.data, parser->line.length, to);
    if (rc)
        return rc;
    keep_data(parser); /* it points into the line */
    buf_reset(&parser->line);
    return ERR_OK;
}

/* Two searches are many times faster than one loop over the bytes. Only where lines end in CR
 * alone is the whole piece searched for each of them. */
static size_t line_length(const char *bytes, size_t size)
{
    const char *end = memchr(bytes, '\n', size);
    size_t length = end ? (size_t)(end - bytes) : size;

    end = memchr(bytes, '\r', length);
    return end ? (size_t)(end - bytes) : length;
}

enum err_code sse_parser_feed(struct sse_parser *parser, const char *bytes, size_t size,
                              sse_event_fn *event, void *arg)
{
    const struct emitter to = {event, arg};
    size_t at = 0;

    while (at < size) {
        const char *line = bytes + at;
        size_t length;
        enum err_code rc;

        if (parser->after_cr && *line == '\n') {
            parser->after_cr = false;
            at++;
            continue;
        }
        length = line_length(line, size - at);
        if (parser->line.length + length > limit_of(parser))
            return ERR_TOO_LARGE;
        if (at + length == size) {
            parser->after_cr = false;
            buf_add(&parser->line, line, length);
            break;
        }
        parser->after_cr = line[length] == '\r';
        rc = parser->line.length ? take_joined_line(parser, line, length, &to)
                                 : take_line(parser, line, length, &to);
        if (rc)
            return rc;
        at += length + 1;
    }
    keep_data(parser);
    return ERR_OK;
}

enum err_code sse_parser_end(struct sse_parser *parser, sse_event_fn *event, void *arg)
{
    const struct emitter to = {event, arg};
    enum err_code rc;

    if (parser->line.length) {
        rc = take_joined_line(parser, "", 0, &to);
        if (rc)
            return rc;
    }
    return dispatch(parser, &to);
}

void sse_parser_clear(struct sse_parser *parser)
{
    buf_clear(&parser->line);
    buf_clear(&parser->data);
    buf_clear(&parser->event);
    buf_clear(&parser->coming);
    buf_clear(&parser->id);
    *parser = (struct sse_parser){0};
}
