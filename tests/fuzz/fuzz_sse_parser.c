/*
 * However a stream is cut into pieces, the events are the same, and so is the verdict. Each
 * piece has memory of its own, so that reading beyond it, or after it was freed, is noticed. The
 * first byte says where it is cut and when the reader stops; the stream follows.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/net/sse_parser.h"

/* Events as text with lengths, so that no two lists of events look the same. */
struct seen {
    struct buf text;
    unsigned count;
    unsigned stop_at; /* never, when 0 */
};

static bool note(void *arg, const char *name, const char *data, size_t length)
{
    struct seen *seen = arg;

    buf_addf(&seen->text, "%zu %s %zu ", strlen(name), name, length);
    buf_add(&seen->text, data, length);
    return ++seen->count != seen->stop_at;
}

/* `cuts` is the state of a small generator of piece lengths; 0 means one piece. */
static enum err_code feed(const uint8_t *bytes, size_t size, uint32_t cuts, struct seen *seen)
{
    struct sse_parser parser = {0};
    enum err_code rc = ERR_OK;
    size_t at = 0;

    while (at < size && !rc) {
        size_t length = size - at;
        char *piece;

        if (cuts) {
            cuts = cuts * 1664525u + 1013904223u;
            length = (cuts >> 24) % 7 == 0 ? 1 + (cuts >> 16) % 64 : 1 + (cuts >> 16) % 4;
            length = length > size - at ? size - at : length;
        }
        piece = mem_zeroed(length, 1);
        memcpy(piece, bytes + at, length);
        rc = sse_parser_feed(&parser, piece, length, note, seen);
        free(piece);
        at += length;
    }
    if (!rc)
        rc = sse_parser_end(&parser, note, seen);
    sse_parser_clear(&parser);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct seen whole = {0};
    struct seen cut = {0};
    uint32_t cuts;

    if (!size)
        return 0;
    cuts = 1u + bytes[0] * 2654435761u;
    whole.stop_at = cut.stop_at = bytes[0] >> 5;
    assert(feed(bytes + 1, size - 1, 0, &whole) == feed(bytes + 1, size - 1, cuts, &cut));
    assert(whole.count == cut.count);
    assert(whole.text.length == cut.text.length);
    assert(!whole.text.length || memcmp(whole.text.data, cut.text.data, cut.text.length) == 0);
    buf_clear(&whole.text);
    buf_clear(&cut.text);
    return 0;
}
