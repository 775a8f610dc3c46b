#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_CLIENT_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_CLIENT_H

#include "core/base/buf.h"
#include "core/event/sink.h"
#include "tests/unit/core/run/engine/world.h"

/*
 * world_client.h -- who uses the run, and sees nothing of it but what a client sees.
 *
 * The client makes the run, follows it again when its stream broke, answers what the run asks, as the
 * scenario says; it calls the store and the engine as server/api_*.c do for it. A stream is one
 * connection: it keeps every byte, and checks each event as it comes.
 */

enum stream_kind {
    STREAM_EVENTS, /* server-sent events */
    STREAM_ANSWER, /* waits for the object */
};

struct stream {
    struct sink sink;
    struct stream *next;
    struct node *node;
    enum stream_kind kind;
    bool numbered;     /* each frame has its number before it */
    int64_t first;     /* number of the first frame that it is to get */
    int64_t count;     /* of frames so far */
    struct buf bytes;  /* of frames, without their numbers */
    unsigned open;     /* items that were added and are not done */
    bool gone;         /* the client has hung up */
    bool broken;       /* its node has crashed */
    bool closed;       /* by the engine */
    bool ended;        /* the words that end a stream have come */
    char terminal[40]; /* the event that ended the run, or "" */
    bool paused;       /* the last event said that the run waits */
    int answers;       /* objects that have come */
    char status[24];   /* of the object */
    struct loop_task goodbye;
};

struct client {
    struct actor actor;
    struct node *node; /* to which it is connected */
    char run_id[ID_SIZE];
    int64_t expires_at;
    bool made;         /* it has tried */
    bool refused;      /* and was told that it failed */
    bool acknowledged; /* it was told that the run is there */
    int submitted;     /* the turn whose calls it has answered; -1: none */
    unsigned accepted; /* submissions */
    bool hung_up;
    struct stream *stream; /* the last one */
};

void client_join(struct node *node);
void client_free(void);
bool client_is_done(void);

/* ---- Incidents ---- */

bool client_hang_up(void);
bool client_cancel(struct node *node);
bool client_submit(struct node *node);
bool client_approve(struct node *node);
bool client_reject(struct node *node);
bool client_follow(struct node *node);

/* ---- Streams ---- */

void streams_free(void);
void streams_break(struct node *node); /* its node has crashed */
bool streams_are_closed(const struct node *node);

#endif
