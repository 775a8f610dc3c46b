#ifndef RUNNEL_SERVER_HTTP_STREAM_BACKLOG_H
#define RUNNEL_SERVER_HTTP_STREAM_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

/*
 * backlog.h -- what waits for slow clients, under one budget for all.
 *
 * Each stream and each WebSocket has a limit of its own, `stream_buffer`. It is generous, because a
 * client may pause, so thousands of such clients together must have a limit too: `stream_buffers`. When
 * it is exceeded the largest backlog goes first, and its client with it.
 */

struct http;

/* Guarded by http's lock. */
struct backlog {
    size_t bytes;
    bool over; /* its client is being cut off, and it counts no more */
};

/* Any thread, with no lock of this folder held. The change of a backlog from `before` to `now` bytes.
 * Takes a lock only if they differ. */
void backlog_change(struct http *http, struct backlog *backlog, size_t before, size_t now);

/* With http's lock held: it is gone. */
void backlog_end(struct http *http, struct backlog *backlog);

#endif
