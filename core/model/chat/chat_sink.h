#ifndef RUNNEL_CORE_MODEL_CHAT_CHAT_SINK_H
#define RUNNEL_CORE_MODEL_CHAT_CHAT_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/model/chat/chat_split_char.h"
#include "core/model/model.h"

/*
 * chat_sink.h -- where the pieces of an answer go while they are read.
 *
 * Every callback may end the turn. A function that calls one checks `stopped` before anything else
 * and returns ERR_CANCELLED, and so do its callers, up to the reader of the bytes.
 */

struct chat_sink {
    const struct model_events *events;
    void *arg;
    struct chat_surrogates surrogates; /* of the event being read */
    size_t size;    /* bytes of the answer so far, against MODEL_TURN_LIMIT */
    bool announced; /* something was emitted: the turn cannot be repeated */
    bool stopped;   /* set from outside: no more callbacks */
};

#endif
