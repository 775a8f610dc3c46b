#ifndef RUNNEL_CORE_RUN_ENGINE_FOLLOW_H
#define RUNNEL_CORE_RUN_ENGINE_FOLLOW_H

#include <stdint.h>

#include "core/base/clock.h"
#include "core/event/sink.h"
#include "core/run/engine/engine.h"

/*
 * follow.h -- a stream that joins a run again: first its past from the log, then live.
 *
 * A follower reads the log from the frame that its client wants next, piece by piece. Once it has read
 * all that the run has published, it joins the run on its loop, without a gap and without a duplicate.
 * A run on another node is followed through the log alone. Its owner is asked to notify this node when
 * the log grows, and the log is polled in case a notification gets lost.
 *
 * Only resumable runs have a log. Each frame is the same bytes that every other client was sent.
 */

/* A follower of a run on another node asks the owner again after this time. */
#define FOLLOW_AGAIN_NS (10 * NS_PER_SECOND)

enum follow_flags {
    FOLLOW_NUMBERED = 1 << 0, /* an "id: N" line before each frame */
    FOLLOW_WAITING = 1 << 1,  /* until the run has ended, also through requires_action */
};

struct follow {
    const struct tenant *tenant; /* borrowed for the call */
    const struct run_row *run;   /* as the caller has seen it; borrowed for the call */
    int64_t first_seq;           /* number of the first frame that the client wants */
    unsigned flags;              /* enum follow_flags */
    struct sink *sink;           /* made for engine_loop(run->id); taken */
};

/* Any thread; copies what it needs. If the run is deleted meanwhile, the stream ends as that of a thread's
 * run that was cancelled, or of a response that failed. When this node drains, the sink is closed without
 * the end of a stream: the client joins again elsewhere. */
void engine_follow(struct engine *engine, const struct follow *follow);

#endif
