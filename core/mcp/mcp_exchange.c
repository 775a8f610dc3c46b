/*
 * mcp_exchange.c -- one request over streamable HTTP, from the POST to its answer.
 *
 *   POST ─▶ head: which form? ─┬─ application/json ──▶ body ─▶ take_json() ─┐
 *                              ├─ text/event-stream ─▶ take_event() ─▶ take_message() ─▶ the answer
 *                              └─ anything else ─▶ explain_status()
 *
 * A server chooses with each answer between one JSON text and a stream. In a stream it may send other
 * messages before the answer: progress, notifications, requests of its own. They are sorted by
 * mcp_message_kind(), and only the message with the id of the request ends the exchange.
 *
 * A stream that breaks off is resumed with a GET and Last-Event-ID, which repeats nothing: the server
 * continues the answer to the request that it has. Without event ids there is nothing to resume, and the
 * exchange fails. The request itself is never sent again, because a tool may have been executed. A server
 * whose stream breaks off each time without a new event is given up, and so is one that has been resumed
 * MCP_RESUME_LIMIT times.
 *
 * The server is a stranger: bytes, requests within an answer, and resumptions have limits. Its texts are
 * made UTF-8 before they reach an error.
 *
 * A stateless server (2026-07-28) says with another status than 200, but in JSON, what it refuses and why. Its
 * streams are not resumed. Older servers have such bodies too, and there they mean nothing: the status does.
 *
 * With the older transport (`elsewhere`) the POST is only accepted, and the answer comes through
 * mcp_exchange_offer() from the session's stream.
 */

#include "core/mcp/mcp_exchange.h"

#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_message.h"
#include "core/mcp/mcp_process.h"
#include "core/net/sse_parser.h"

#define MESSAGE_LIMIT 500 /* bytes of a server's error message that are kept */

enum answer_form {
    FORM_NONE,
    FORM_JSON,
    FORM_EVENTS,
    FORM_ERROR, /* JSON beside another status than 200 */
};

struct mcp_exchange {
    struct mcp_ask ask; /* without its text, which the call has */
    char *url;
    char **headers; /* ends with NULL; and has room for one more */
    struct http_call *call;
    unsigned resumed;
    char last_id[SSE_ID_LIMIT + 1]; /* of the event after which it was resumed last */
    enum answer_form form;
    int status;
    char type[64];
    char session[MCP_SESSION_LIMIT + 1];
    size_t received;
    unsigned asked;
    struct buf body;
    struct sse_parser events;
    bool answered;
    bool over; /* inside the parser: it has the answer, or a fault */
    struct mcp_answer answer;
    json_t *message; /* contains the answer */
    char text[MESSAGE_LIMIT + 200];
};

bool mcp_is_refusal(const struct mcp_answer *answer)
{
    return answer->fault == MCP_FAULT_HTTP &&
           (answer->code == 400 || answer->code == 404 || answer->code == 405);
}

static void exchange_free(struct mcp_exchange *exchange)
{
    if (exchange->call)
        http_call_cancel(exchange->call);
    buf_clear(&exchange->body);
    sse_parser_clear(&exchange->events);
    json_decref(exchange->message);
    for (size_t i = 0; exchange->headers[i]; i++)
        free(exchange->headers[i]);
    free(exchange->headers);
    free(exchange->url);
    free(exchange);
}

/* Calls on_done with the answer. The exchange is freed first, because the callback may close its session. */
static void finish(struct mcp_exchange *exchange)
{
    void (*on_done)(void *, const struct mcp_answer *) = exchange->ask.on_done;
    void *arg = exchange->ask.arg;
    AUTO_FREE char *session = mem_strdup(exchange->session);
    AUTO_FREE char *text = json_clean_utf8(exchange->text, strlen(exchange->text));
    json_auto_t *message = TAKE(exchange->message);
    struct mcp_answer answer = exchange->answer;

    (void)message; /* the answer points into it, so it is released after the callback */
    exchange_free(exchange);
    answer.session = *session ? session : NULL;
    answer.text = answer.fault ? text : NULL;
    on_done(arg, &answer);
}

static void set_fault(struct mcp_exchange *exchange, enum mcp_fault fault, int code,
                      const char *format, ...) PRINTF_LIKE(4, 5);

static void set_fault(struct mcp_exchange *exchange, enum mcp_fault fault, int code,
                      const char *format, ...)
{
    va_list words;

    va_start(words, format);
    (void)vsnprintf(exchange->text, sizeof(exchange->text), format, words);
    va_end(words);
    exchange->answer.fault = fault;
    exchange->answer.code = code;
    exchange->over = true;
}

/* ---- Messages of the server ---- */

/* `message` contains the error. */
static void take_error(struct mcp_exchange *exchange, json_t *message)
{
    const json_t *error = json_object_get(message, "error");
    const char *words = json_get_string(error, "message", "it did not say why");
    json_int_t code = json_get_int(error, "code", 0);
    bool version = exchange->ask.stateless && code == MCP_UNSUPPORTED_VERSION;

    set_fault(exchange, version ? MCP_FAULT_VERSION : MCP_FAULT_PROTOCOL, (int)code,
              "answered with error %d: %.*s", (int)code, MESSAGE_LIMIT, words);
    exchange->message = json_incref(message);
    exchange->answer.error = error;
}

/* A kind of result that this client does not know is no result. Without a kind it is complete. */
static bool is_known_kind(const json_t *result)
{
    const json_t *kind = json_object_get(result, "resultType");
    const char *word = json_get_string(result, "resultType", "");

    return json_absent(kind) || strcmp(word, "complete") == 0 ||
           strcmp(word, MCP_INPUT_REQUIRED) == 0;
}

static void take_answer(struct mcp_exchange *exchange, json_t *message)
{
    json_t *result = json_object_get(message, "result");

    exchange->answered = true;
    if (json_is_object(json_object_get(message, "error"))) {
        take_error(exchange, message);
        return;
    }
    if (!json_is_object(result)) {
        set_fault(exchange, MCP_FAULT_PROTOCOL, 0, "answered without a result");
        return;
    }
    if (exchange->ask.stateless && !is_known_kind(result)) {
        set_fault(exchange, MCP_FAULT_PROTOCOL, 0,
                  "answered with a kind of result that this client does not know");
        return;
    }
    exchange->message = json_incref(message);
    exchange->answer.result = result;
    exchange->over = true;
}

static void report_progress(const struct mcp_exchange *exchange, const json_t *message)
{
    if (exchange->ask.on_progress)
        exchange->ask.on_progress(exchange->ask.arg, json_object_get(message, "params"));
}

static void take_message(struct mcp_exchange *exchange, json_t *message)
{
    switch (mcp_message_kind(message, exchange->ask.id)) {
    case MCP_MESSAGE_OTHER: break;
    case MCP_MESSAGE_PROGRESS: report_progress(exchange, message); break;
    case MCP_MESSAGE_LIST_CHANGED:
        if (exchange->ask.on_list_changed)
            exchange->ask.on_list_changed(exchange->ask.arg);
        break;
    case MCP_MESSAGE_ANSWER: take_answer(exchange, message); break;
    case MCP_MESSAGE_REQUEST:
        if (++exchange->asked > MCP_ASKED_LIMIT)
            set_fault(exchange, MCP_FAULT_PROTOCOL, 0, "sent too many requests and no answer");
        else if (!exchange->ask.stateless)
            exchange->ask.on_request(exchange->ask.arg, message);
        break;
    }
}

/* One message, or a list of them, as in version 2025-03-26. */
static void take_json(struct mcp_exchange *exchange, const char *text, size_t length)
{
    json_auto_t *json = NULL;
    size_t i;
    json_t *message;

    if (json_parse(text, length, &json, NULL)) {
        set_fault(exchange, MCP_FAULT_PROTOCOL, 0, "answered with something that is not JSON");
        return;
    }
    if (json_is_object(json))
        take_message(exchange, json);
    json_array_foreach (json, i, message) {
        if (!exchange->over)
            take_message(exchange, message);
    }
}

static bool take_event(void *arg, const char *name, const char *data, size_t length)
{
    struct mcp_exchange *exchange = arg;

    (void)name;
    if (length)
        take_json(exchange, data, length);
    return !exchange->over;
}

/* ---- HTTP ---- */

static void note_session(struct mcp_exchange *exchange)
{
    const char *id = http_call_header(exchange->call, "Mcp-Session-Id");

    if (!id || strlen(id) > MCP_SESSION_LIMIT)
        return;
    /* The id goes into a header of every later request. The specification allows visible ASCII only. */
    for (const char *at = id; *at; at++) {
        if (*at <= ' ' || *at > '~')
            return;
    }
    (void)snprintf(exchange->session, sizeof(exchange->session), "%s", id);
}

static bool type_is(const char *type, const char *word)
{
    size_t length = strlen(word);

    return strncasecmp(type, word, length) == 0 && strchr("; \t", type[length]);
}

static void take_head(void *arg, const struct http_head *head)
{
    struct mcp_exchange *exchange = arg;

    exchange->status = head->status;
    exchange->form = FORM_NONE;
    (void)snprintf(exchange->type, sizeof(exchange->type), "%s", head->content_type);
    if (head->status != 200 && exchange->ask.stateless &&
        type_is(head->content_type, "application/json"))
        exchange->form = FORM_ERROR;
    if (head->status != 200 || exchange->ask.elsewhere)
        return;
    if (!exchange->ask.stateless)
        note_session(exchange);
    if (type_is(head->content_type, "application/json"))
        exchange->form = FORM_JSON;
    else if (type_is(head->content_type, "text/event-stream"))
        exchange->form = FORM_EVENTS;
}

static void take_data(void *arg, const char *bytes, size_t size)
{
    struct mcp_exchange *exchange = arg;

    exchange->received += size;
    if (exchange->received > MCP_ANSWER_LIMIT) {
        set_fault(exchange, MCP_FAULT_PROTOCOL, 0, "sent an answer of more than %zu bytes",
                  MCP_ANSWER_LIMIT);
    } else if (exchange->form == FORM_JSON || exchange->form == FORM_ERROR) {
        buf_add(&exchange->body, bytes, size);
    } else if (exchange->form == FORM_EVENTS) {
        enum err_code rc =
            sse_parser_feed(&exchange->events, bytes, size, take_event, exchange);

        if (rc && !exchange->over)
            set_fault(exchange, MCP_FAULT_PROTOCOL, 0, "sent an event that is too large");
    }
    if (exchange->over)
        finish(exchange);
}

static void explain_status(struct mcp_exchange *exchange)
{
    int status = exchange->status;

    if (exchange->resumed)
        set_fault(exchange, MCP_FAULT_PROTOCOL, 0, "ended its answer without answering");
    else if (status == 404 && exchange->ask.with_session)
        set_fault(exchange, MCP_FAULT_SESSION, status, "has ended the session");
    else if (status >= 300 && status < 400)
        set_fault(exchange, MCP_FAULT_HTTP, status,
                  "answered with HTTP status %d: redirects are not followed", status);
    else if (status != 200)
        set_fault(exchange, MCP_FAULT_HTTP, status, "answered with HTTP status %d", status);
    else
        set_fault(exchange, MCP_FAULT_PROTOCOL, 0, "answered with '%s', not with JSON",
                  exchange->type);
}

/* The id may be missing, if the server could not read it. Any other body is as good as none. */
static void read_error(struct mcp_exchange *exchange)
{
    json_auto_t *message = NULL;
    const char *text = exchange->body.data ? exchange->body.data : "";

    if (!json_parse(text, exchange->body.length, &message, NULL) &&
        json_is_integer(json_object_get(json_object_get(message, "error"), "code")))
        take_error(exchange, message);
    else
        explain_status(exchange);
}

/* Reads what is left when the body is complete. */
static void read_rest(struct mcp_exchange *exchange)
{
    enum err_code rc = ERR_OK;

    if (exchange->form == FORM_NONE)
        explain_status(exchange);
    else if (exchange->form == FORM_ERROR)
        read_error(exchange);
    else if (exchange->form == FORM_JSON)
        take_json(exchange, exchange->body.data ? exchange->body.data : "",
                  exchange->body.length);
    else
        rc = sse_parser_end(&exchange->events, take_event, exchange);
    if (rc && !exchange->over)
        set_fault(exchange, MCP_FAULT_PROTOCOL, 0, "sent an event that is too large");
    if (!exchange->over)
        set_fault(exchange, MCP_FAULT_PROTOCOL, 0, "ended its answer without answering");
}

/* ---- Resuming a stream ---- */

/* Only if it has brought an event since it was last resumed. */
static bool can_resume(const struct mcp_exchange *exchange)
{
    const struct buf *id = &exchange->events.id;

    return exchange->form == FORM_EVENTS && !exchange->ask.stateless && !exchange->answered &&
           id->length && exchange->resumed < MCP_RESUME_LIMIT &&
           strcmp(id->data, exchange->last_id) != 0;
}

static void take_end(void *arg, enum err_code rc, const struct err *error);

static void resume(struct mcp_exchange *exchange)
{
    size_t count = 0;

    (void)snprintf(exchange->last_id, sizeof(exchange->last_id), "%s",
                   exchange->events.id.data);
    sse_parser_clear(&exchange->events);
    exchange->events.limit = MCP_ANSWER_LIMIT;
    /* Replaces the header of an earlier resumption, or takes the free place behind the last header. */
    while (exchange->headers[count] &&
           strncmp(exchange->headers[count], "Last-Event-ID:", 14) != 0)
        count++;
    free(exchange->headers[count]);
    exchange->headers[count] = mem_printf("Last-Event-ID: %s", exchange->last_id);
    exchange->resumed++;
    exchange->over = false;
    exchange->answer = (struct mcp_answer){0};
    exchange->call = http_call_start(exchange->ask.loop,
                                     &(struct http_request){
                                         .method = "GET",
                                         .url = exchange->url,
                                         .headers = (const char *const *)exchange->headers,
                                         .timeouts = {.connect = exchange->ask.connect_ns},
                                         .egress = exchange->ask.egress,
                                         .on_head = take_head,
                                         .on_data = take_data,
                                         .on_done = take_end,
                                         .arg = exchange,
                                     });
}

/* An incomplete event is ignored: it comes again when the stream is resumed. */
static void end_stream(struct mcp_exchange *exchange, enum err_code rc, const struct err *error)
{
    if (rc)
        set_fault(exchange, MCP_FAULT_HTTP, 0, "cannot be reached: %.*s", MESSAGE_LIMIT,
                  error->text);
    else
        read_rest(exchange);
    if (can_resume(exchange))
        resume(exchange);
    else
        finish(exchange);
}

static void take_end(void *arg, enum err_code rc, const struct err *error)
{
    struct mcp_exchange *exchange = arg;

    exchange->call = NULL;
    if (!rc && exchange->ask.elsewhere && exchange->status / 100 == 2)
        return; /* accepted; the answer comes over the stream */
    end_stream(exchange, rc, error);
}

/* A copy with room for one more line, for Last-Event-ID. */
static char **copy_lines(const char *const *lines)
{
    size_t count = 0;
    char **copy;

    while (lines && lines[count])
        count++;
    copy = mem_new_array(char *, count + 2);
    for (size_t i = 0; i < count; i++)
        copy[i] = mem_strdup(lines[i]);
    return copy;
}

struct mcp_exchange *mcp_exchange_start(const struct mcp_ask *ask)
{
    struct mcp_exchange *exchange = mem_new(struct mcp_exchange);
    struct http_body *body;

    exchange->ask = *ask;
    exchange->ask.text = NULL;
    exchange->url = mem_strdup(ask->url);
    exchange->headers = copy_lines(ask->headers);
    exchange->events.limit = MCP_ANSWER_LIMIT;
    if (ask->link) {
        mcp_link_send(ask->link, ask->text);
        return exchange;
    }
    body = http_body_new(ask->text, strlen(ask->text));
    exchange->call = http_call_start(ask->loop, &(struct http_request){
                                                    .method = "POST",
                                                    .url = ask->url,
                                                    .headers = ask->headers,
                                                    .body = body,
                                                    .timeouts = {.connect = ask->connect_ns},
                                                    .egress = ask->egress,
                                                    .once = ask->once,
                                                    .on_head = take_head,
                                                    .on_data = take_data,
                                                    .on_done = take_end,
                                                    .arg = exchange,
                                                });
    http_body_drop(body);
    return exchange;
}

void mcp_exchange_cancel(struct mcp_exchange *exchange)
{
    if (exchange)
        exchange_free(exchange);
}

bool mcp_exchange_offer(struct mcp_exchange *exchange, json_t *message)
{
    enum mcp_message_kind kind = mcp_message_kind(message, exchange->ask.id);

    if (kind == MCP_MESSAGE_PROGRESS)
        report_progress(exchange, message);
    if (kind != MCP_MESSAGE_ANSWER)
        return kind == MCP_MESSAGE_PROGRESS;
    take_answer(exchange, message);
    finish(exchange);
    return true;
}

void mcp_exchange_fail(struct mcp_exchange *exchange, const struct mcp_answer *why)
{
    set_fault(exchange, why->fault, why->code, "%s", why->text);
    finish(exchange);
}
