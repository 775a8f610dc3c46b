#include "core/event/frames.h"

#include <assert.h>

/* Enough for the delta of a token, so that the buffer need not grow in steps: it is published and
 * freed with each token, or with each flush. */
#define FIRST_ROOM ((size_t)400)

int64_t frames_begin(struct frames *frames, const char *event)
{
    if (!frames->bytes.capacity)
        buf_reserve(&frames->bytes, FIRST_ROOM);
    frames->frame_start = frames->bytes.length;
    buf_add_text(&frames->bytes, "event: ");
    buf_add_text(&frames->bytes, event);
    buf_add_text(&frames->bytes, "\ndata: ");
    return frames->next;
}

void frames_end(struct frames *frames)
{
    buf_add(&frames->bytes, "\n\n", 2);
    frames->next++;
    frames->count++;
}

void frames_drop_last(struct frames *frames)
{
    assert(frames->count && frames->bytes.length > frames->frame_start);
    frames->bytes.length = frames->frame_start;
    frames->bytes.data[frames->frame_start] = '\0';
    frames->next--;
    frames->count--;
}

void frames_clear(struct frames *frames)
{
    buf_clear(&frames->bytes);
    frames->count = 0;
}
