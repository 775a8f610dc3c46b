#ifndef RUNNEL_CORE_EVENT_FRAMES_H
#define RUNNEL_CORE_EVENT_FRAMES_H

#include <stdint.h>

#include "core/base/buf.h"

/*
 * frames.h -- the events of one run as server-sent bytes, rendered once and numbered without gaps.
 *
 * A frame is "event: NAME\ndata: JSON\n\n". The face writes it. The log stores these bytes, and every
 * listener gets the same ones, so rendering costs as much for a hundred followers as for one. The number
 * of a frame is its place in the run, from 0; the frames of all residencies count together. A client that
 * comes back says which number it has, and gets the rest.
 *
 * A value that belongs to its run, and so to its loop. Starts as zeros, or with `next` set.
 */

struct frames {
    struct buf bytes;   /* rendered, and neither published nor handed to the log */
    int64_t next;       /* number of the next frame */
    unsigned count;     /* frames in `bytes` */
    size_t frame_start; /* offset of the last frame in `bytes` */
};

/* Begins a frame and returns its number. The caller appends one line of JSON to frames->bytes, and then
 * calls frames_end(). The line must not contain a line break: an empty line ends a frame. */
int64_t frames_begin(struct frames *frames, const char *event);
void frames_end(struct frames *frames);

/* Takes back the last frame, which must not have left yet. Its number is used again. Only once after each
 * frames_end(). */
void frames_drop_last(struct frames *frames);

/* The bytes have left: forgets them and frees their room. Numbers go on. */
void frames_clear(struct frames *frames);

#endif
