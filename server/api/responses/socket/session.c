/*
 * A session: the messages of one WebSocket, one after another.
 *
 *   take_message() ─▶ inbox ─▶ read_next() ─▶ worker: read_message() ─▶ was_read() ─▶ carry_out()
 *
 * Why parsing is not done on the loop: a message may have as many megabytes as a request body, and
 * its JSON would stop every run of the loop for that long. Why one at a time: two workers could
 * finish in the wrong order, and a steer would overtake the create that it is for.
 *
 * Backpressure. While a message is being read, the socket is paused and the client has to wait. So
 * the inbox holds what came in one read of the socket and does not grow. All bytes that are kept
 * count against max_bodies, like bodies of requests.
 *
 * The end comes in one of two orders. If the client leaves, gone() drops the inbox and cancels the
 * runs. Turns and readings may still be with a worker or the engine; each holds the socket, and the
 * last one to release it frees the session (destroy). If the connection is too old or the server
 * drains, nothing new begins, and when the last turn has ended the socket is closed.
 *
 * Nothing of a session is stored. After a crash, the client opens a new connection and continues its
 * stored responses there.
 */

#include "server/api/responses/socket/session.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/complaint.h"
#include "server/http/envelope.h"
#include "server/http/http.h"
#include "server/http/request.h"
#include "server/server.h"

/* A message that waits to be parsed. */
struct message {
    struct message *next;
    char *text;
    size_t length;
};

/* A message that a worker is parsing. `command`, `err` and `rc` are the worker's until `done` runs. */
struct reading {
    struct work work;
    struct loop_task done;
    struct session *session;
    struct message *message;
    struct ws_command command;
    struct err err;
    enum err_code rc;
};

/* ---- Out ---- */

void session_send(struct session *session, const char *lane, json_t *event)
{
    AUTO_FREE char *text = NULL;

    if (*lane)
        json_set_string(event, "stream_id", lane);
    text = json_text(event);
    json_decref(event);
    websocket_text(session->socket, text, strlen(text));
    websocket_flush(session->socket);
}

void session_error(struct session *session, const char *lane, const struct err *err)
{
    session_send(session, lane,
                 json_build("{s:s, s:i, s:o}", "type", "error", "status",
                            err->code == ERR_UPSTREAM ? 503 : err_http_status(err->code),
                            "error", envelope_error(session->id, err)));
}

/* ---- Counting ---- */

void session_count(struct session *session, size_t bytes)
{
    http_count_body(session->server->http, bytes);
}

void session_uncount(struct session *session, size_t bytes)
{
    http_uncount_body(session->server->http, bytes);
}

static void message_free(struct session *session, struct message *message)
{
    session_uncount(session, message->length);
    free(message->text);
    free(message);
}

/* ---- Growing old, and draining ---- */

static bool is_idle(const struct session *session)
{
    return !session->lanes && !session->reading && !session->inbox;
}

static void send_too_old(struct session *session, const char *lane)
{
    struct err err;

    err_set_api(
        &err, ERR_INVALID, "websocket_connection_limit_reached", NULL,
        "This WebSocket connection has reached its maximum age. Please open a new one.");
    session_error(session, lane, &err);
}

void session_close_if_idle(struct session *session)
{
    if (session->gone || !is_idle(session))
        return;
    if (session->draining)
        websocket_close(session->socket, WS_CLOSE_GOING_AWAY, "The server is shutting down.");
    else if (session->aged)
        websocket_close(session->socket, WS_CLOSE_GOING_AWAY,
                        "The connection has reached its maximum age.");
}

static void aged(void *owner)
{
    struct session *session = owner;

    session->aged = true;
    if (is_idle(session))
        send_too_old(session, "");
    session_close_if_idle(session);
}

static void draining(void *owner)
{
    struct session *session = owner;

    session->draining = true;
    session_close_if_idle(session);
}

/* ---- Commands ---- */

static void carry_out(struct session *session, struct ws_command *command,
                      struct message *message)
{
    if (command->kind == WS_STEER)
        steer_take(session, command, message->length);
    else if (session->aged)
        send_too_old(session, command->lane);
    else
        turn_add(session, command, TAKE(message->text), message->length);
    ws_command_clear(command);
}

/* On a worker. */
static void read_message(struct work *work)
{
    struct reading *reading = CONTAINER_OF(work, struct reading, work);

    reading->rc = ws_command_parse(reading->message->text, reading->message->length,
                                   &reading->command, &reading->err);
    loop_post(reading->session->loop, &reading->done);
}

static void read_next(struct session *session);

static void was_read(struct loop_task *task)
{
    struct reading *reading = CONTAINER_OF(task, struct reading, done);
    struct session *session = reading->session;

    session->reading = NULL;
    if (reading->rc)
        session_error(session, reading->command.lane, &reading->err);
    else if (session->gone)
        ws_command_clear(&reading->command);
    else
        carry_out(session, &reading->command, reading->message);
    message_free(session, reading->message);
    free(reading);
    read_next(session);
    session_close_if_idle(session);
    websocket_release(session->socket);
}

/* Gives the next message to a worker, and pauses the socket until the inbox is empty. */
static void read_next(struct session *session)
{
    struct message *message = session->inbox;
    struct reading *reading;

    if (session->reading || session->gone)
        return;
    if (!message) {
        websocket_resume(session->socket);
        return;
    }
    session->inbox = message->next;
    if (!session->inbox)
        session->inbox_end = &session->inbox;
    reading = mem_new(struct reading);
    reading->work.run = read_message;
    reading->work.tenant = session->tenant;
    reading->done.run = was_read;
    reading->session = session;
    reading->message = message;
    session->reading = reading;
    websocket_hold(session->socket);
    websocket_pause(session->socket);
    workers_put(session->server->workers, &reading->work);
}

static void take_message(void *owner, char *text, size_t length)
{
    struct session *session = owner;
    struct message *message = mem_new(struct message);

    message->text = text;
    message->length = length;
    session_count(session, length);
    *session->inbox_end = message;
    session->inbox_end = &message->next;
    read_next(session);
}

/* ---- The end ---- */

static void gone(void *owner)
{
    struct session *session = owner;

    session->gone = true;
    while (session->inbox) {
        struct message *message = session->inbox;

        session->inbox = message->next;
        message_free(session, message);
    }
    session->inbox_end = &session->inbox;
    turns_cancel(session);
}

static void destroy(void *owner)
{
    struct session *session = owner;

    ws_memory_free(session->memory, steers_drop, session);
    free(session->authorization);
    free(session);
}

static const struct websocket_ops socket_ops = {
    .message = take_message,
    .gone = gone,
    .aged = aged,
    .draining = draining,
    .destroy = destroy,
};

void session_open(struct request *request, const char *accept)
{
    struct session *session = mem_new(struct session);

    session->server = request_server(request);
    session->loop = engine_any_loop(session->server->engine);
    session->inbox_end = &session->inbox;
    session->authorization = mem_strdup(request_authorization(request));
    session->memory = ws_memory_new(session->server->past_responses);
    (void)snprintf(session->id, sizeof(session->id), "%s", request_id(request));
    session->tenant = tenant_kept(request_tenant(request));
    session->socket = request_upgrade(request, session->loop, accept, &socket_ops, session);
}
