#ifndef RUNNEL_CORE_RUN_ENGINE_FOLLOW_H
#define RUNNEL_CORE_RUN_ENGINE_FOLLOW_H

#include <stdint.h>

#include "core/base/clock.h"
#include "core/event/sink.h"
#include "core/run/engine/engine.h"

/*
 * follow.h -- listening to a run again: what was said from the log, then live.
 *
 * A follower first reads the log from where its client left off, piece by piece, then joins the
 * run on its loop without a gap or a duplicate: it joins only when what it has read is all that
 * the run has published, and frames it has seen already are not sent again. A run that is not on
 * this node is followed through the log alone: its owner is asked to say when there is more, and the
 * log is looked at from time to time all the same.
 *
 * Each frame is the bytes that everybody else was sent.
 */

/* Whoever follows a run that is at work elsewhere asks its owner so often to be told of more. */
#define FOLLOW_AGAIN_NS (10 * NS_PER_SECOND)

enum follow_flags {
    FOLLOW_NUMBERED = 1 << 0, /* an "id: N" line before each frame */
    FOLLOW_WAITING = 1 << 1,  /* stays through requires_action, until the run has ended */
};

struct follow {
    enum row_face face;
    const struct tenant *tenant; /* borrowed for the call */
    const char *thread_id;       /* "" for a response */
    const char *run_id;
    int64_t first_seq; /* the first frame wanted */
    unsigned flags;    /* enum follow_flags */
    struct sink *sink; /* made for engine_loop(run_id); taken */
};

/* Any thread. The run was seen to exist; when it is gone meanwhile, the stream just ends. */
void engine_follow(struct engine *engine, const struct follow *follow);

#endif
