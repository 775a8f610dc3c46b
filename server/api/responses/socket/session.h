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
 * socket/session.h -- the Responses API over one WebSocket; for ws_*.c and the endpoint.
 *
 *   text ─▶ inbox ─▶ parsed by a worker ─▶ a lane's line ─▶ made by a worker ─▶ engine
 *   client ◀─ text messages ◀─ turn_sink, on the run's loop, which is the socket's ◀─┘
 *
 * One message is parsed at a time, so that they take effect in the order in which they came. A lane
 * does one response after another, lanes go on side by side. What takes long or may wait is done by
 * the server's workers, everything else by the loop: all structs here are the loop's, but for what
 * a turn or a reading lends to its worker meanwhile.
 *
 * A turn is one response.create, from the line to the end of its run. Its run is made with an id
 * that puts it on the socket's loop, so events go from the one to the other without a hop.
 */

#define WS_TURNS_WAITING \
    ((size_t)64)                         /* of a connection, in the lines of its lanes; and not
                                             * more bytes than one message may have */
#define WS_STEERS      ((size_t)16)      /* said to one response */
#define WS_STEER_BYTES ((size_t)1 << 20) /* of a connection, until a response has them */

struct request;
struct server;
struct lane;
struct steer;

/* Input for a response that is still to come, in the order in which it was said. */
struct steers {
    struct steer *first;
    size_t count;
};

enum turn_end {
    TURN_RUNS,
    TURN_COMPLETED,
    TURN_STEERED, /* incomplete, so that what was said is gone on with */
    TURN_INCOMPLETE,
    TURN_FAILED,
};

struct turn {
    struct sink sink;
    struct work work;
    struct loop_task done, cancel;
    struct session *session;
    struct lane *lane;
    struct turn *next; /* the lane's line */

    char *text; /* its message, while it waits: less than its body */
    size_t length;
    json_t *body; /* until its run is made */
    bool generate;
    bool automatic; /* the server's own, because of what was said to its parent */
    size_t counted; /* bytes, in http->body_bytes */
    char *
        settings; /* the body without what is only this turn's, for one that follows by itself */
    char parent[ID_LIMIT + 1];
    struct past *past; /* of the parent, where it is remembered */
    bool parent_stored;
    struct steers steers_in; /* come before its own input */
    struct steers steers;    /* said to it, while it runs */

    enum err_code rc; /* of making it */
    struct err err;
    struct run_start start;

    char id[ID_SIZE]; /* of the response, once there is one */
    bool stored, in_conversation;
    bool compacts; /* its context, by itself */
    int64_t next_sequence;
    enum turn_end end;
    struct ws_response *remembered; /* between its end and the engine's letting go */
    json_t *required;               /* what its client must answer, as stubs; NULL: nothing */
    bool running;                   /* the engine has the sink */
    bool cancel_posted;               /* a task is under way that looks at it */
    bool closed;                    /* the engine has let go */
};

struct lane {
    char name[WS_LANE_LIMIT + 1]; /* "" for that of all who name none */
    struct lane *next;
    struct turn *active;
    struct turn *first, **last; /* the line */
};

struct message;
struct reading;

struct session {
    struct websocket *socket;
    struct server *server;
    struct loop *loop;
    char id[ID_SIZE];     /* of the request that opened it: for the log */
    struct tenant tenant; /* of the handshake */
    char *authorization;  /* looked at again for each response: keys are revoked */
    struct ws_memory *memory;

    struct message *inbox, **inbox_end;
    struct reading *reading; /* at most one */
    struct lane *lanes;      /* those that have something to do */
    size_t lane_count;
    size_t waiting, waiting_bytes; /* turns in lines */
    size_t steer_bytes;            /* of all input that waits for a response */
    bool gone, aged, draining;
};

/* ---- socket/session.c ---- */

/* Makes the connection of a request a session. */
void session_open(struct request *request, const char *accept);

/* Sends one event; takes the object. The lane is echoed unless it is "". */
void session_send(struct session *session, const char *lane, json_t *event);
void session_error(struct session *session, const char *lane, const struct err *err);

/* Something has ended: perhaps everything has. */
void session_close_if_idle(struct session *session);

/* Bytes that a client sent and we keep. */
void session_count(struct session *session, size_t bytes);
void session_uncount(struct session *session, size_t bytes);

/* ---- socket/turn.c ---- */

/* Puts a create into its lane. Takes the body, and the text that it was. */
void turn_add(struct session *session, struct ws_command *command, char *text, size_t length);

/* The response that goes on from `turn` with what was said to it: the next of its lane. */
void turn_add_successor(struct turn *turn);

/* The running turn of that response; NULL. */
struct turn *turn_find(const struct session *session, const char *response_id);

/* The client has gone: runs are cancelled, what waits is dropped. */
void turns_cancel(struct session *session);

/* ---- socket/steer.c ---- */

void steer_take(struct session *session, const struct ws_command *command, size_t bytes);

/* What was said to a response that has come to its end; `response` is what is remembered of it. */
void steer_settle(struct turn *turn, struct ws_response *response);

/* The input that waits for a create that goes on from `response` in that lane. */
void steer_claim(struct ws_response *response, struct turn *turn);

/* There was no response after all: it waits again, or comes back to the client. */
void steer_unclaim(struct turn *turn);

/* It is part of a response now, or nobody waits for it any more. */
void steers_clear(struct session *session, struct steers *steers);
void steers_drop(void *waiting, void *session); /* for ws_memory_free() */

/* A list of items: what was said, then `input` (a text, a list, or NULL). New reference. */
json_t *steers_input(const struct steers *steers, const json_t *input);

/* Stubs of what the client must answer before anything goes on; NULL when there is nothing. */
json_t *steer_required(const struct item_row *const *items, size_t count, const char *run_id);

#endif
