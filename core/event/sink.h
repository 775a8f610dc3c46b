#ifndef RUNNEL_CORE_EVENT_SINK_H
#define RUNNEL_CORE_EVENT_SINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * sink.h -- where the frames of a run go: the stream of a client, a request that waits for the object, or
 * a follower.
 *
 * A run has any number of sinks. The engine calls a sink on the run's loop only, and never waits for it. A
 * sink that cannot keep up buffers up to its limit and then gives up its client; the run continues.
 *
 * A sink is made by the HTTP layer or by a follower, handed to the engine with the run or while it runs,
 * and owned by the engine until close() or paused().
 */

struct sink;
struct item_row;

#define SINK_HEADER_LIMIT 4

/* What a request that waited for the end of a run is answered with. */
struct sink_answer {
    int status; /* of HTTP */
    json_t *object;
    struct sink_header {
        const char *name; /* a constant */
        char value[64];
    } headers[SINK_HEADER_LIMIT];
    size_t header_count;
};

struct sink_ops {
    /* Whole frames. They live during the call. NULL for sinks that only wait for the end. */
    void (*events)(struct sink *sink, const char *frames, size_t length);

    /* Bytes that its client has not taken yet, and that the sink keeps for it. NULL: it keeps none. */
    size_t (*waiting)(struct sink *sink);

    /* The run has ended, or has paused until its client acts (requires_action). Takes answer->object, and
     * copies the rest. NULL for sinks that only want events. */
    void (*answer)(struct sink *sink, const struct sink_answer *answer);

    /* The run has ended: its context, oldest first. That is the items that it continued from, its
     * input and its output, each with the id of its run. Borrowed. NULL for sinks from which no
     * other run continues. */
    void (*context)(struct sink *sink, const struct item_row *const *items, size_t count);

    /* The last call. The sink releases itself, and the engine does not touch it again. */
    void (*close)(struct sink *sink);

    /* For sinks that follow a run through several residencies; NULL for others. Called instead of
     * close(), without the end of the stream: the run has left this loop but has not ended. The
     * sink belongs to its maker again. */
    void (*paused)(struct sink *sink);
};

struct sink {
    const struct sink_ops *ops;
    struct sink *next; /* in the run's list */
    int64_t from; /* number of the first frame that it wants; it has received those before */

    /* Set by the engine before it uses the sink. The sink calls gone() on the run's loop when its client
     * has gone, also from inside events(). The engine closes the sink later, never inside that call. */
    void (*gone)(struct sink *sink, void *arg);
    void *gone_arg;

    /* The same, or NULL: the sink calls it on the loop when its client has taken all that had waited; never
     * inside events(). */
    void (*taken)(struct sink *sink, void *arg);
    void *taken_arg;
};

#endif
