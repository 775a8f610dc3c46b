/*
 * mcp_send.c -- puts the session's headers on every request, and sends messages that need no answer.
 *
 * Headers come from three places. The transport sets its own (content type, protocol version, session id).
 * The operator or the client may add others, among them a token. A client must not replace those of the
 * transport or of HTTP: a second Content-Length or Transfer-Encoding could make two requests of one. So
 * names are checked against a list, and a value that is not a string is left out. Line breaks in values
 * are refused by http_client.c.
 *
 * Notifications and replies to the server's own requests are sent and forgotten. No struct owns them. They
 * end by their deadline or with the loop, and a failure would change nothing.
 */

#include "core/mcp/mcp_session_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_header.h"
#include "core/net/http_client.h"

/* The deadline of messages without an answer. */
#define NOTIFY_NS (10 * NS_PER_SECOND)

/* ---- Headers ---- */

bool mcp_header_name_is_free(const char *name)
{
    static const char *const taken[] = {
        "accept",         "accept-encoding",
        "connection",     "content-encoding",
        "content-length", "content-type",
        "expect",         "host",
        "keep-alive",     "te",
        "trailer",        "transfer-encoding",
        "upgrade",        "last-event-id",
    };

    if (!mcp_is_token(name))
        return false;
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        if (strcasecmp(taken[i], name) == 0)
            return false;
    }
    return strncasecmp(name, "mcp-", 4) != 0 && strncasecmp(name, "proxy-", 6) != 0;
}

/* The header lines of a request; free_headers() frees them. */
struct headers {
    char **lines; /* ends with NULL */
    size_t count;
};

static void add_header(struct headers *headers, char *line)
{
    headers->lines = mem_resize(headers->lines, headers->count + 2, sizeof(char *));
    headers->lines[headers->count++] = line;
    headers->lines[headers->count] = NULL;
}

static void free_headers(struct headers *headers)
{
    for (size_t i = 0; i < headers->count; i++)
        free(headers->lines[i]);
    free(headers->lines);
}

static const char *const *lines_of(const struct headers *headers)
{
    return (const char *const *)headers->lines;
}

static void add_given(const struct mcp_session *session, struct headers *headers)
{
    const char *token = session->options.authorization;
    const char *name;
    json_t *value;

    if (token)
        add_header(headers, mem_printf("Authorization: Bearer %s", token));
    json_object_foreach ((json_t *)(uintptr_t)session->options.headers, name, value) {
        if (!json_is_string(value) || !mcp_header_name_is_free(name) ||
            (token && strcasecmp(name, "authorization") == 0))
            continue;
        add_header(headers, mem_printf("%s: %s", name, json_string_value(value)));
    }
}

static void make_headers(const struct mcp_session *session, struct headers *headers)
{
    add_header(headers, mem_strdup("Content-Type: application/json"));
    add_header(headers, mem_strdup("Accept: application/json, text/event-stream"));
    if (*session->version)
        add_header(headers, mem_printf("MCP-Protocol-Version: %s", session->version));
    if (*session->id)
        add_header(headers, mem_printf("Mcp-Session-Id: %s", session->id));
    add_given(session, headers);
}

static void add_repeated(struct headers *headers, const struct mcp_repeated *repeated)
{
    AUTO_FREE char *name = repeated->name ? mcp_header_value(repeated->name) : NULL;
    size_t i;
    json_t *line;

    add_header(headers, mem_printf("Mcp-Method: %s", repeated->method));
    if (name)
        add_header(headers, mem_printf("Mcp-Name: %s", name));
    json_array_foreach (repeated->lines, i, line)
        add_header(headers, mem_strdup(json_string_value(line)));
}

static const char *url_of(const struct mcp_session *session)
{
    return session->endpoint ? session->endpoint : session->options.url;
}

/* ---- Requests ---- */

static void forget(void *arg, enum err_code rc, const struct err *error)
{
    (void)arg, (void)rc, (void)error;
}

struct http_call *mcp_send_request(struct mcp_session *session, const char *method, char *text,
                                   void (*on_done)(void *, enum err_code, const struct err *))
{
    struct http_body *body;
    struct headers headers = {0};
    struct http_call *call;

    if (session->options.processes) { /* one without a link has ended, and gets nothing */
        if (session->link && text)
            mcp_link_send(session->link, text);
        else
            free(text);
        return NULL;
    }
    body = text ? http_body_new(text, strlen(text)) : NULL;
    make_headers(session, &headers);
    call = http_call_start(
        session->options.loop,
        &(struct http_request){
            .method = method,
            .url = url_of(session),
            .headers = lines_of(&headers),
            .body = body,
            .timeouts = {.connect = session->options.connect_ns, .total = NOTIFY_NS},
            .egress = session->options.egress,
            .on_done = on_done,
            .arg = session,
        });
    free_headers(&headers);
    http_body_drop(body);
    return call;
}

void mcp_send_and_forget(struct mcp_session *session, const char *method, char *text)
{
    (void)mcp_send_request(session, method, text, forget);
}

struct mcp_exchange *mcp_send_ask(struct mcp_session *session,
                                  const struct mcp_repeated *repeated, struct mcp_ask *what)
{
    struct headers headers = {0};
    struct mcp_exchange *exchange;

    make_headers(session, &headers);
    if (session->stateless)
        add_repeated(&headers, repeated);
    what->loop = session->options.loop;
    what->url = url_of(session);
    what->link = session->link;
    what->elsewhere = session->stream || session->link;
    what->headers = lines_of(&headers);
    what->egress = session->options.egress;
    what->connect_ns = session->options.connect_ns;
    what->with_session = *session->id;
    what->stateless = session->stateless;
    exchange = mcp_exchange_start(what);
    free_headers(&headers);
    return exchange;
}

struct mcp_stream *mcp_send_for_stream(struct mcp_session *session,
                                       struct mcp_stream_options *what)
{
    struct headers headers = {0};
    struct mcp_stream *stream;

    add_header(&headers, mem_strdup("Accept: text/event-stream"));
    add_given(session, &headers);
    what->loop = session->options.loop;
    what->url = session->options.url;
    what->headers = lines_of(&headers);
    what->egress = session->options.egress;
    what->connect_ns = session->options.connect_ns;
    what->arg = session;
    stream = mcp_stream_start(what);
    free_headers(&headers);
    return stream;
}
