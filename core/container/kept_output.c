/*
 * kept_output.c -- a head that fills up once, and a tail that is cut when it is twice as long as needed.
 *
 * A ring would save memory, and each text would have to be put together from its two ends.
 */

#include "core/container/kept_output.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

/* Bytes of either end. */
static size_t half(const struct kept_output *kept)
{
    return kept->limit / 2;
}

/* Where the part that is kept at the end begins. */
static uint64_t tail_begin(const struct kept_output *kept)
{
    size_t size = kept->tail.length < half(kept) ? kept->tail.length : half(kept);

    return kept->total - size;
}

void kept_output_add(struct kept_output *kept, const char *bytes, size_t size)
{
    size_t room = half(kept) - kept->head.length, first = size < room ? size : room;

    kept->total += size;
    buf_add(&kept->head, bytes, first);
    bytes += first;
    size -= first;
    if (size > half(kept)) {
        bytes += size - half(kept);
        size = half(kept);
    }
    buf_add(&kept->tail, bytes, size);
    if (kept->tail.length > 2 * half(kept))
        buf_consume(&kept->tail, kept->tail.length - half(kept));
}

uint64_t kept_output_dropped(const struct kept_output *kept)
{
    return tail_begin(kept) - kept->head.length;
}

/* The part of [from, to) that the head has. */
static void add_head(const struct kept_output *kept, uint64_t from, uint64_t to,
                     struct buf *text)
{
    uint64_t end = to < kept->head.length ? to : kept->head.length;

    if (from >= end)
        return;
    buf_add(text, kept->head.data + from, (size_t)(end - from));
    if (end < to && kept_output_dropped(kept))
        text->length = utf8_fit_bytes(text->data, text->length);
}

static void add_note(const struct kept_output *kept, uint64_t from, uint64_t to,
                     struct buf *text)
{
    uint64_t begin = from > kept->head.length ? from : kept->head.length;
    uint64_t end = to < tail_begin(kept) ? to : tail_begin(kept);

    if (begin < end)
        buf_addf(text, "\n[... %llu bytes left out ...]\n", (unsigned long long)(end - begin));
}

static void add_tail(const struct kept_output *kept, uint64_t from, uint64_t to,
                     struct buf *text)
{
    uint64_t begin = from > tail_begin(kept) ? from : tail_begin(kept);
    const char *bytes;

    if (begin >= to)
        return;
    bytes = kept->tail.data + kept->tail.length - (kept->total - begin);
    if (begin > from && kept_output_dropped(kept)) {
        for (int i = 0; i < 3 && begin < to && !utf8_begins(*bytes); i++)
            bytes++, begin++;
    }
    buf_add(text, bytes, (size_t)(to - begin));
}

char *kept_output_text(const struct kept_output *kept, uint64_t from, uint64_t to)
{
    AUTO_BUF text = {0};

    add_head(kept, from, to, &text);
    add_note(kept, from, to, &text);
    add_tail(kept, from, to, &text);
    return json_clean_utf8(text.data ? text.data : "", text.length);
}

void kept_output_clear(struct kept_output *kept)
{
    buf_clear(&kept->head);
    buf_clear(&kept->tail);
    kept->total = 0;
}
