#ifndef RUNNEL_CORE_EVENT_FRAMES_H
#define RUNNEL_CORE_EVENT_FRAMES_H

#include <stdint.h>

#include "core/base/buf.h"

/*
 * frames.h -- SSE events of one run, rendered once, numbered without gaps.
 *
 * A frame is "event: NAME\ndata: JSON\n\n". The face writes it, the log keeps the same bytes,
 * and every listener gets the same bytes. Numbers count from 0 per run.
 */

struct frames {
    struct buf bytes;   /* rendered, not published yet */
    int64_t next;       /* number of the next frame */
    unsigned count;     /* frames in `bytes` */
    size_t frame_start; /* of the frame being written */
};

/* Starts a frame and returns its number. What follows goes into frames->bytes and must be one
 * line of JSON. */
int64_t frames_begin(struct frames *frames, const char *event);
void frames_end(struct frames *frames);

/* Takes back the last frame, which has not been published: its number is free again. */
void frames_drop_last(struct frames *frames);

/* The bytes were published. No room is kept: at most moments most streams wait for a token, and an
 * allocation of this size costs a hundredth of what a token does. */
void frames_clear(struct frames *frames);

#endif
