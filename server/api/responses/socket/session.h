#ifndef RUNNEL_SERVER_API_RESPONSES_SOCKET_SESSION_H
#define RUNNEL_SERVER_API_RESPONSES_SOCKET_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/ids.h"
#include "core/event/sink.h"
#include "core/net/loop.h"
#include "core/run/engine/engine.h"
#include "server/api/responses/socket/command.h"
#include "server/api/responses/socket/memory.h"
#include "server/http/websocket/websocket.h"
#include "server/workers.h"

/*
 * socket/session.h -- the Responses API over one WebSocket; for this folder only.
 *
 *   text ─▶ inbox ─▶ parsed by a worker ─▶ a lane's queue ─▶ made by a worker ─▶ engine
 *   client ◀─ text messages ◀─ the turn's sink, on the run's loop, which is the socket's ◀─┘
 *
 * One message is parsed at a time, so that messages take effect in their order. A lane does one
 * response after another; lanes work side by side. Workers do what takes long or may block.
 * Everything else is done by the loop, which owns all structs here. Only the parts that a turn or a
 * reading lends to its worker are the worker's, until its task is back on the loop.
 *
 * A turn is one response.create, from the queue to the end of its run. Its run is made with an id
 * that puts it on the socket's loop, so events reach the socket without changing threads.
 *
 * Every function is for the loop, unless it says otherwise.
 */

/* Turns of a connection that wait in the queues of its lanes. They also have no more bytes together than
 * one message may have. */
#define WS_TURNS_WAITING ((size_t)64)
#define WS_STEERS        ((size_t)16)      /* accepted for one response */
#define WS_STEER_BYTES   ((size_t)1 << 20) /* of a connection, until responses have taken them */

struct request;
struct server;
struct lane;
struct steer;

/* Accepted input that waits for the next response, in the order in which it came. */
struct steers {
    struct steer *first;
    size_t count;
};

enum turn_end {
    TURN_RUNS,
    TURN_COMPLETED,
    TURN_STEERED, /* incomplete, because the next response continues it with the steers */
    TURN_INCOMPLETE,
    TURN_FAILED,
};

struct turn {
    struct sink sink;
    struct work work;
    struct loop_task done, cancel;
    struct session *session;
    struct lane *lane;
    struct turn *next; /* in the lane's queue */

    /* While it waits. The text is smaller than its JSON in memory. */
    char *text; /* the message */
    size_t length;
    json_t *body; /* until its run is made */
    bool generate;
    bool automatic; /* made by the server, to continue a response that was steered */
    size_t counted; /* bytes, in http->body_bytes */
    /* The body without input and parent: what an automatic successor inherits */
    char *settings;
    char parent[ID_LIMIT + 1];
    struct past *past; /* of the parent, if it is remembered; held */
    bool parent_stored;
    struct steers steers_in; /* go before its own input */
    struct steers steers;    /* accepted for it while it runs */

    /* Written by the worker that makes the run. */
    struct tenant tenant;      /* the session's, with the features that its project has now */
    struct input_files *files; /* to be read before the run is made; or NULL */
    bool fetching;             /* the loop fetches them */
    bool packed;               /* its skills are to be unpacked before the run is made */
    enum err_code rc;
    struct err err;
    struct run_start start;

    /* Once there is a run. */
    char id[ID_SIZE];
    bool stored, in_conversation;
    bool compacts; /* it compacts its context by itself */
    int64_t next_sequence;
    enum turn_end end;
    struct ws_response *remembered; /* from the run's end until the sink is closed */
    json_t *required;               /* stubs of what the client must answer; NULL: nothing */
    bool running;                   /* the engine has the sink */
    bool cancel_posted;             /* the task `cancel` is posted and has not run */
    bool closed;                    /* the turn is over; `cancel` frees it */
};

struct lane {
    char name[WS_LANE_LIMIT + 1]; /* stream_id; "" is the lane of messages without one */
    struct lane *next;
    struct turn *active;        /* being made, or running */
    struct turn *first, **last; /* the queue */
};

struct input_files;
struct message;
struct reading;

struct session {
    struct websocket *socket;
    struct server *server;
    struct loop *loop;
    char id[ID_SIZE];     /* of the request that opened it; for errors and the log */
    struct tenant tenant; /* of the handshake */
    char *authorization;  /* checked again before each response: the key may be revoked */
    struct ws_memory *memory;

    struct message *inbox, **inbox_end;
    struct reading *reading; /* at most one */
    struct lane *lanes;      /* only lanes with a turn */
    size_t lane_count;
    size_t waiting, waiting_bytes; /* turns in the queues */
    size_t steer_bytes;            /* of all accepted input that waits for a response */
    bool gone;                     /* the client has left */
    bool aged, draining;           /* accepts nothing new, and closes when it is idle */
};

/* ---- socket/session.c ---- */

/* On a worker, as the last step of an endpoint: upgrades the request's connection. `accept` is the value of
 * Sec-WebSocket-Accept. The session lives until its socket is released for the last time. */
void session_open(struct request *request, const char *accept);

/* Sends one event; takes the object. The event carries the lane as stream_id, unless that is "". */
void session_send(struct session *session, const char *lane, json_t *event);
/* An event of the type `error`, with the envelope of OpenAI's API. */
void session_error(struct session *session, const char *lane, const struct err *err);

/* After a turn or a message has ended: closes the connection if it is aged or draining, and nothing is
 * left to do. */
void session_close_if_idle(struct session *session);

/* Counts bytes that a client has sent and the session keeps, against the setting max_bodies. */
void session_count(struct session *session, size_t bytes);
void session_uncount(struct session *session, size_t bytes);

/* ---- socket/turn.c ---- */

/* Adds a create to its lane's queue, or refuses it with an error event. Takes `text`, and command->body if
 * the turn starts at once. */
void turn_add(struct session *session, struct ws_command *command, char *text, size_t length);

/* Adds the response that continues `turn` with the steers that it accepted, as the next of its lane. */
void turn_add_successor(struct turn *turn);

/* The turn whose response has that id and is running, or NULL. */
struct turn *turn_find(const struct session *session, const char *response_id);

/* The client has left: cancels the runs, and drops the turns that wait. */
void turns_cancel(struct session *session);

/* ---- socket/steer.c ---- */

/* Accepts or refuses a response.steer. `bytes` is the size of its message. */
void steer_take(struct session *session, const struct ws_command *command, size_t bytes);

/* At the end of a turn: its steers get a successor, wait for the client, or go back to it. `response` is
 * the memory of the turn's response, or NULL. */
void steer_settle(struct turn *turn, struct ws_response *response);

/* Moves the steers that wait at `response` to a turn that continues it. */
void steer_claim(struct ws_response *response, struct turn *turn);

/* After the turn's response could not be made: its steers wait at the parent again, or go back to the
 * client. */
void steer_unclaim(struct turn *turn);

/* Frees steers that a response has taken, or that are given up. */
void steers_clear(struct session *session, struct steers *steers);
void steers_drop(void *waiting, void *session); /* the same, for ws_memory_free() */

/* A list of items: those of the steers, then `input` (a text, a list, or NULL). New reference. */
json_t *steers_input(const struct steers *steers, const json_t *input);

/* The calls and approval requests of the run that its client has not answered, as stubs of the answers.
 * NULL if there are no such items. New reference. */
json_t *steer_required(const struct item_row *const *items, size_t count, const char *run_id);

#endif
