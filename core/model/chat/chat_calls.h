#ifndef RUNNEL_CORE_MODEL_CHAT_CHAT_CALLS_H
#define RUNNEL_CORE_MODEL_CHAT_CHAT_CALLS_H

#include <jansson.h>

#include "core/base/buf.h"
#include "core/model/chat/chat_error.h"
#include "core/model/chat/chat_sink.h"

/*
 * chat_calls.h -- tool-call deltas in, whole calls out, one after the other.
 *
 * Which call does a delta belong to? OpenAI numbers the calls. Other servers leave out the index or give
 * every call the index 0. They leave out the id, repeat it in every delta, or make a new one for each
 * delta. They send a whole call at once, or arguments as an object. The rules are in call_of() in
 * chat_calls.c, each with the habit that needs it.
 *
 * Deltas of several calls may be interleaved; what leaves here is not. The first call that has
 * not ended streams live, later ones wait in memory. A call ends when its arguments are a
 * complete JSON object and another call has appeared, or else with the turn.
 */

struct chat_call;

struct chat_calls { /* zeroed: no calls */
    struct chat_call *list;
    unsigned count;
    unsigned capacity;
    unsigned live; /* the first that has not ended */
};

/* One element of "tool_calls". ERR_OK, ERR_CANCELLED or ERR_UPSTREAM with *failure filled in. */
enum err_code chat_calls_take(struct chat_calls *calls, const json_t *value,
                              struct chat_sink *sink, struct chat_failure *failure);

/* The turn has ended: ends all open calls. */
enum err_code chat_calls_end(struct chat_calls *calls, struct chat_sink *sink,
                             struct chat_failure *failure);

void chat_calls_clear(struct chat_calls *calls);

#endif
