#ifndef RUNNEL_CORE_EVENT_SINK_H
#define RUNNEL_CORE_EVENT_SINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * sink.h -- where the events of a run go, for example the stream of a client.
 *
 * A run has any number of sinks. The engine calls a sink on the run's loop only, and never
 * waits for it: a sink that cannot keep up buffers within its limit and then gives up on its
 * client, while the run continues.
 *
 * Made by the HTTP layer (a stream, or a request that waits for the final object), handed to
 * the engine together with the run, and owned by the engine until close().
 */

struct sink;
struct item_row;

struct sink_ops {
    /* Whole SSE events, rendered already. May be NULL for sinks that only wait for the end. */
    void (*events)(struct sink *sink, const char *frames, size_t length);

    /* The run has ended, or paused until its client acts (requires_action). `status` is the HTTP
     * status, and `object` (taken) the run as its face shows it. NULL for sinks that only want
     * events. */
    void (*answer)(struct sink *sink, int status, json_t *object);

    /* The run has ended: its context, oldest first. That is the items that it continued from, its
     * input and its output, each with the id of its run. Borrowed. NULL for sinks from which no
     * other run continues. */
    void (*context)(struct sink *sink, const struct item_row *const *items, size_t count);

    /* Last. The sink releases itself, and the engine does not touch it again. */
    void (*close)(struct sink *sink);

    /* For sinks that follow a run through several residencies; NULL for others. Called instead of
     * close(), without the end of the stream: the run has left this loop but has not ended. The
     * sink belongs to its maker again. */
    void (*paused)(struct sink *sink);
};

struct sink {
    const struct sink_ops *ops;
    struct sink *next; /* the run's list */
    int64_t from;      /* the first frame that it wants; it has received those before */

    /* Set by the engine before it uses the sink; the sink calls it, on the run's loop, when its
     * client has gone. The engine then closes the sink. */
    void (*gone)(struct sink *sink, void *arg);
    void *gone_arg;
};

#endif
