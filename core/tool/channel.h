#ifndef RUNNEL_CORE_TOOL_CHANNEL_H
#define RUNNEL_CORE_TOOL_CHANNEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/tool/tool.h"

/*
 * channel.h -- where the output of concurrent tool calls becomes one stream.
 *
 * One turn of a run may call several tools at once. Their workers put; the run's loop takes,
 * one item at a time, and is the only one that talks to the store and to clients. So handlers
 * need no locks, and clients never see two calls interleaved.
 *
 * Rules:
 *  1. One speaker at a time. The first call that has output gets the floor and keeps it until
 *     it has finished; then the floor goes to the earliest call, in the model's order, that
 *     has something to say. A START is output: a call that starts while the floor is free takes
 *     it, and is announced while its handler is silent. When the floor passes on, a call that
 *     has only started comes after all that have said more: it may be silent for long.
 *  2. No output of a handler is lost, reordered within its call, or delivered after its end.
 *     TOOL_OUTPUT_END is the last output of a call, exactly one for each. A put after it,
 *     another END included, returns ERR_CANCELLED.
 *  3. Bounded for each call: a worker that is `capacity` outputs ahead of the loop waits. The
 *     loop never waits. START and END have places of their own, so they never wait either.
 *  4. Closing it (cancel, expiry, shutdown) releases every waiting worker with ERR_CANCELLED.
 *     Outputs that were not taken are dropped.
 *  5. Hidden calls never take the floor: their outputs come out at once, marked hidden, no
 *     matter which call has the floor. Hidden calls and the floor take turns, so none of them
 *     can starve the others.
 *  6. Live metadata is last-value-wins, for the title and for each key: at most one waits
 *     per call, and it never blocks. It comes out only while its call has the floor (or is
 *     hidden), ahead of the call's other outputs. It counts as output: a call that has
 *     nothing else takes the floor with it.
 *  7. What has ended can be stored before it is shown. Outputs of a call that has ended and
 *     waits for the floor may be taken all at once (tool_channel_take_waiting()). In their place
 *     the floor brings an END that is `kept` and has no result.
 *
 * The taker is woken through `wake`, called without the lock, at most once between two takes
 * that found nothing. An END always wakes it. A wake may still be running while the taker takes the output that it
 * announced. When tool_channel_close() has returned, no wake runs and none follows, so `arg` may
 * be freed then.
 */

/* The stage with which an item opens. Its fields are those of the item. */
#define TOOL_STAGE_OPENING "in_progress"

enum tool_output_kind {
    TOOL_OUTPUT_START, /* first of its call, if it has one: the call was handed to its tool */
    TOOL_OUTPUT_TEXT,
    TOOL_OUTPUT_STAGE,
    TOOL_OUTPUT_DELTA,
    TOOL_OUTPUT_METADATA,
    TOOL_OUTPUT_END, /* last of its call: `result`, or `error` */
};

/* One output of a handler. Its holder owns it and calls tool_output_clear(). */
struct tool_output {
    enum tool_output_kind kind;
    unsigned call; /* position in the model's order, from 0; set by put */
    bool hidden;   /* set by take */
    bool kept;     /* END: the taker has the call's outputs already; set by take */
    char *text;    /* TEXT and DELTA: the piece; METADATA: title or NULL */
    size_t length;
    char *name;                /* STAGE: which; DELTA: the field */
    json_t *fields;            /* STAGE: event fields; METADATA: the object; or NULL */
    struct tool_result result; /* END */
    enum err_code rc;          /* END: ERR_OK, or why the call has no result */
    struct err error;          /* END with rc: for the model to read */
};

void tool_output_clear(struct tool_output *output);

struct tool_channel;

/* A channel for `calls` calls; hidden[i] says which are hidden (NULL: none). */
struct tool_channel *tool_channel_new(unsigned calls, const bool *hidden, size_t capacity,
                                      void (*wake)(void *arg), void *arg);

/* Calls and the taker hold it together: the last tool_channel_release() frees it. */
struct tool_channel *tool_channel_hold(struct tool_channel *channel);
void tool_channel_release(struct tool_channel *channel);

/* Any worker. Takes over what *output owns, also on failure. Waits for room. */
enum err_code tool_channel_put(struct tool_channel *channel, unsigned call,
                               struct tool_output *output) MUST_CHECK;

/* The loop. The next output in floor order; false when no output can be taken now. */
bool tool_channel_take(struct tool_channel *channel, struct tool_output *ret_output);

/* The loop, when tool_channel_take() has found nothing. All outputs of a call that has ended and waits for
 * the floor, in order, the END last; never of a hidden call. False: no call waits so. The caller clears
 * each output and frees the array. */
bool tool_channel_take_waiting(struct tool_channel *channel, struct tool_output **ret_outputs,
                               unsigned *ret_count);

/* The loop. True when the END of every call was taken, in its place. */
bool tool_channel_finished(struct tool_channel *channel);

/* Any thread, any number of times, but not from inside `wake` and with no lock held. */
void tool_channel_close(struct tool_channel *channel);
bool tool_channel_closed(struct tool_channel *channel);

#endif
