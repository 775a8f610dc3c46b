/*
 * The sum of all backlogs, and who is cut off when it is too large.
 *
 * Most clients read as fast as their runs write. They have no backlog and never come here. The search
 * walks over all connections, but only when memory is short, and each search makes room.
 */

#include "server/http/stream/backlog.h"

#include <assert.h>

#include "server/http/http_internal.h"
#include "server/http/websocket/websocket.h"

static void cut_largest_locked(struct http *http) REQUIRES(http->lock)
{
    struct suspended *stream = NULL;
    struct websocket *socket = NULL;
    struct backlog *largest = NULL;

    for (struct suspended *one = http->live; one; one = one->next) {
        if (!largest || one->backlog.bytes > largest->bytes) {
            largest = &one->backlog;
            stream = one;
        }
    }
    for (struct websocket *one = http->websockets; one; one = websocket_next(one)) {
        if (!largest || websocket_backlog(one)->bytes > largest->bytes) {
            largest = websocket_backlog(one);
            socket = one;
        }
    }
    assert(largest && largest->bytes);
    backlog_end(http, largest);
    atomic_fetch_add(&http->cut, 1);
    if (socket)
        websocket_cut(socket);
    else
        suspended_cut(stream);
}

void backlog_change(struct http *http, struct backlog *backlog, size_t before, size_t now)
{
    if (before == now)
        return;
    lock_acquire(&http->lock);
    if (!backlog->over) {
        backlog->bytes = backlog->bytes - before + now;
        http->backlogs = http->backlogs - before + now;
        /* The one that grows may be the largest itself. */
        while (http->backlogs > http->stream_buffers)
            cut_largest_locked(http);
    }
    lock_release(&http->lock);
}

void backlog_end(struct http *http, struct backlog *backlog)
{
    http->backlogs -= backlog->bytes;
    *backlog = (struct backlog){.over = true};
}
