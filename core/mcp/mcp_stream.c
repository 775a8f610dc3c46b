/*
 * mcp_stream.c -- the stream of the transport of 2024-11-05: one GET, all answers.
 *
 *   event "endpoint" ─▶ on_endpoint, once    the URL for requests
 *   event "message"  ─▶ on_message           answers, notifications, requests of the server
 *
 * The endpoint must have the origin of the stream. Token and headers are sent there, and a server that
 * could name any URL would get this server to send a client's token to another host.
 *
 * The stream is not resumed when it breaks: this transport has no event ids. The session fails the
 * questions that were sent, and opens a new stream for the others.
 *
 * Callbacks run inside the parser, and one of them may cancel the stream. Then the stream is only marked,
 * and freed when the parser has returned.
 */

#include "core/mcp/mcp_stream.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/sse_parser.h"

#define REASON_LIMIT 500 /* bytes of a network error that are kept */

struct mcp_stream {
    struct mcp_stream_options options; /* without the headers, which the call has */
    char *url;
    struct http_call *call;
    struct sse_parser events;
    size_t received;
    bool has_endpoint;
    bool inside;    /* the parser, which must return before the stream is freed */
    bool cancelled; /* while inside */
    bool over;      /* this file has ended the stream */
    enum mcp_fault fault;
    int code;
    char text[REASON_LIMIT + 100];
};

static void stream_free(struct mcp_stream *stream)
{
    if (stream->call)
        http_call_cancel(stream->call);
    sse_parser_clear(&stream->events);
    free(stream->url);
    free(stream);
}

void mcp_stream_cancel(struct mcp_stream *stream)
{
    if (stream && stream->inside)
        stream->cancelled = true;
    else if (stream)
        stream_free(stream);
}

static void set_fault(struct mcp_stream *stream, enum mcp_fault fault, int code,
                      const char *text)
{
    stream->fault = fault;
    stream->code = code;
    (void)snprintf(stream->text, sizeof(stream->text), "%s", text);
    stream->over = true;
}

/* Calls on_end; the stream is freed. */
static void finish(struct mcp_stream *stream)
{
    void (*on_end)(void *, const struct mcp_answer *) = stream->options.on_end;
    void *arg = stream->options.arg;
    AUTO_FREE char *text = json_clean_utf8(stream->text, strlen(stream->text));
    struct mcp_answer why = {.fault = stream->fault, .code = stream->code, .text = text};

    stream_free(stream);
    on_end(arg, &why);
}

/* ---- Events ---- */

static void take_endpoint(struct mcp_stream *stream, const char *data, size_t length)
{
    AUTO_FREE char *given = mem_strndup(data, length);
    AUTO_FREE char *url = egress_url_join(stream->url, given);

    if (!url) {
        set_fault(stream, MCP_FAULT_PROTOCOL, 0,
                  "wants questions to be posted to another origin than its own");
        return;
    }
    stream->has_endpoint = true;
    stream->options.on_endpoint(stream->options.arg, url);
}

static void take_messages(struct mcp_stream *stream, const char *data, size_t length)
{
    json_auto_t *json = NULL;
    size_t i;
    json_t *message;

    if (json_parse(data, length, &json, NULL)) {
        set_fault(stream, MCP_FAULT_PROTOCOL, 0, "sent something that is not JSON");
        return;
    }
    if (json_is_object(json))
        stream->options.on_message(stream->options.arg, json);
    json_array_foreach (json, i, message) {
        if (!stream->cancelled && json_is_object(message))
            stream->options.on_message(stream->options.arg, message);
    }
}

/* Events with other names are ignored. */
static bool take_event(void *arg, const char *name, const char *data, size_t length)
{
    struct mcp_stream *stream = arg;

    if (strcmp(name, "endpoint") == 0 && !stream->has_endpoint)
        take_endpoint(stream, data, length);
    else if ((!*name || strcmp(name, "message") == 0) && stream->has_endpoint && length)
        take_messages(stream, data, length);
    return !stream->over && !stream->cancelled;
}

/* ---- HTTP ---- */

static void take_head(void *arg, const struct http_head *head)
{
    static const char wanted[] = "text/event-stream";
    struct mcp_stream *stream = arg;
    char text[64];

    if (head->status != 200) {
        (void)snprintf(text, sizeof(text), "answered with HTTP status %d", head->status);
        set_fault(stream, MCP_FAULT_HTTP, head->status, text);
    } else if (strncasecmp(head->content_type, wanted, strlen(wanted)) != 0) {
        set_fault(stream, MCP_FAULT_PROTOCOL, 0, "answered without a stream of events");
    }
}

static void take_data(void *arg, const char *bytes, size_t size)
{
    struct mcp_stream *stream = arg;
    enum err_code rc = ERR_OK;

    stream->received += size;
    if (!stream->over && stream->received > MCP_STREAM_LIMIT)
        set_fault(stream, MCP_FAULT_PROTOCOL, 0, "sent too much");
    if (!stream->over) {
        stream->inside = true;
        rc = sse_parser_feed(&stream->events, bytes, size, take_event, stream);
        stream->inside = false;
    }
    if (stream->cancelled) {
        stream_free(stream);
        return;
    }
    if (rc && !stream->over)
        set_fault(stream, MCP_FAULT_PROTOCOL, 0, "sent an event that is too large");
    if (stream->over)
        finish(stream);
}

static void take_end(void *arg, enum err_code rc, const struct err *error)
{
    struct mcp_stream *stream = arg;
    char text[REASON_LIMIT + 50];

    stream->call = NULL;
    if (!stream->over && rc) {
        (void)snprintf(text, sizeof(text), "cannot be reached: %.*s", REASON_LIMIT,
                       error->text);
        set_fault(stream, MCP_FAULT_HTTP, 0, text);
    } else if (!stream->over) {
        set_fault(stream, MCP_FAULT_PROTOCOL, 0, "ended its stream without answering");
    }
    finish(stream);
}

struct mcp_stream *mcp_stream_start(const struct mcp_stream_options *options)
{
    struct mcp_stream *stream = mem_new(struct mcp_stream);

    stream->options = *options;
    stream->url = mem_strdup(options->url);
    stream->events.limit = MCP_ANSWER_LIMIT;
    stream->call =
        http_call_start(options->loop, &(struct http_request){
                                           .method = "GET",
                                           .url = options->url,
                                           .headers = options->headers,
                                           .timeouts = {.connect = options->connect_ns},
                                           .egress = options->egress,
                                           .on_head = take_head,
                                           .on_data = take_data,
                                           .on_done = take_end,
                                           .arg = stream,
                                       });
    return stream;
}
