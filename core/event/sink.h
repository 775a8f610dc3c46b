#ifndef RUNNEL_CORE_EVENT_SINK_H
#define RUNNEL_CORE_EVENT_SINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * sink.h -- where the events of a run go: somebody who listens.
 *
 * A run has any number of sinks. The engine talks to a sink on the run's loop only, and never
 * waits for it: a sink that cannot keep up buffers within its limit and then gives up on its
 * client, while the run goes on.
 *
 * Made by the HTTP layer (a stream, or a request that waits for the final object), handed to
 * the engine together with the run, and owned by the engine until close().
 */

struct sink;
struct item_row;

struct sink_ops {
    /* Whole SSE events, rendered already. May be NULL for sinks that only wait for the end. */
    void (*events)(struct sink *sink, const char *frames, size_t length);

    /* The run has come to its end, or to a pause that its client must end (requires_action).
     * `object` is the run as its face shows it (taken), and `status` the HTTP status that goes with
     * it. NULL for sinks that only want events. */
    void (*answer)(struct sink *sink, int status, json_t *object);

    /* The run has come to its end: what it had in mind, oldest first. What it went on from, its
     * input, what it made; each with the id of the run that it is of. Borrowed. NULL for sinks that
     * do not go on from it. */
    void (*context)(struct sink *sink, const struct item_row *const *items, size_t count);

    /* Last. The sink releases itself; nobody touches it afterwards. */
    void (*close)(struct sink *sink);

    /* For sinks that follow a run from stay to stay; NULL for others. Instead of close(), and
     * without the words that end a stream: the run has left this loop but has not ended. The sink
     * is its maker's again. */
    void (*paused)(struct sink *sink);
};

struct sink {
    const struct sink_ops *ops;
    struct sink *next; /* the run's list */
    int64_t from;      /* the first frame that it wants; it has seen those before */

    /* Set by the engine before it uses the sink; the sink calls it, on the run's loop, when its
     * client has gone. The engine then closes the sink. */
    void (*gone)(struct sink *sink, void *arg);
    void *gone_arg;
};

#endif
