#ifndef RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_STREAM_H
#define RUNNEL_TESTS_UNIT_CORE_RUN_ENGINE_WORLD_STREAM_H

#include "core/base/buf.h"
#include "core/event/sink.h"
#include "tests/unit/core/run/engine/world.h"

/*
 * world_stream.h -- one connection of a client, as a sink of the engine.
 *
 * It keeps every byte, and checks each event as it comes. See the head of world_stream.c.
 */

enum stream_kind {
    STREAM_EVENTS, /* server-sent events */
    STREAM_ANSWER, /* one JSON object, at the end */
};

struct stream {
    struct sink sink;
    struct stream *next;
    struct client *client;
    struct node *node;
    enum stream_kind kind;
    bool numbered;     /* each frame has its number before it: a follower's */
    int64_t first;     /* number of the first frame that it wants */
    int64_t count;     /* of frames so far */
    struct buf bytes;  /* of frames, without their numbers */
    unsigned open;     /* items that were added and are not done */
    bool leaving;      /* the client hangs up within the next event */
    bool gone;         /* it has hung up */
    bool reported;     /* and the engine was notified */
    bool broken;       /* its node has crashed */
    bool closed;       /* by the engine */
    bool ended;        /* "[DONE]" has come, the last bytes of a stream */
    char terminal[40]; /* the event that ended the run, or "" */
    bool paused;       /* the last event said that the run waits */
    int answers;       /* JSON objects that have come */
    unsigned deaf;     /* so often its client does not read for a while */
    int64_t kept;      /* frames that the connection keeps for it meanwhile */
    struct loop_timer reads;
    struct loop_task goodbye;
};

/* Belongs to the world, which frees it in the end: rules are checked on it after it is closed. */
struct stream *stream_new(struct client *client, struct node *node, enum stream_kind kind,
                          int64_t first);
/* The client has hung up, or the node has crashed. Nothing that comes now reaches anyone. */
bool stream_is_cut(const struct stream *stream);
/* Its client reads nothing until a while after the next event, and so twice more. */
void stream_deafen(struct stream *stream);
/* The client hangs up, now. */
void stream_hang_up(struct stream *stream);

/* After each step. A stream whose client is gone is closed as soon as its loop has run what was posted. */
void streams_check_gone(void);

void streams_free(void);
void streams_break(struct node *node); /* its node has crashed */
bool streams_are_closed(const struct node *node);

#endif
