#include "core/event/frames.h"

#include <assert.h>

/* Bytes. Enough for the delta of a token, so that the buffer does not grow in steps.
 *
 * The buffer is freed whenever its bytes have left, and not kept for the next frame. Most streams wait for
 * a token most of the time, and there may be thousands. One allocation costs about a hundredth of the rest
 * of the work for a token. */
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
