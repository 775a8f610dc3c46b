/*
 * However a text is cut between its characters, the same marks are found in the same text. No more is held than
 * the header allows, and with every mark left as it was written the text is the one that went in. The first
 * byte says where it is cut. Each piece has memory of its own, so that reading beyond it, or after it was
 * freed, is noticed.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/run/citation/citation.h"

struct seen {
    struct buf text;  /* as it went in */
    struct buf marks; /* where they are, and what they name */
};

static void note_text(void *arg, const char *text, size_t length)
{
    struct seen *seen = arg;

    assert(length);
    buf_add(&seen->text, text, length);
}

static void note_mark(void *arg, const struct citation_mark *mark)
{
    struct seen *seen = arg;

    assert(mark->count && mark->count <= CITATION_PAIR_LIMIT);
    assert(mark->length <= CITATION_HELD_LIMIT);
    buf_addf(&seen->marks, "%zu+%zu", seen->text.length, mark->length);
    for (unsigned i = 0; i < mark->count; i++)
        buf_addf(&seen->marks, " %u:%u", mark->pairs[i].search, mark->pairs[i].passage);
    buf_add(&seen->text, mark->text, mark->length);
}

static const struct citation_events events = {.text = note_text, .mark = note_mark};

/* `cuts` is the state of a small generator of piece lengths; 0 means one piece. */
static void read_all(const char *bytes, size_t size, uint32_t cuts, struct seen *seen)
{
    struct citation_parser parser = {0};
    size_t at = 0;

    while (at < size) {
        size_t end = size;
        char *piece;

        if (cuts) {
            cuts = cuts * 1664525u + 1013904223u;
            end = at + 1 + (cuts >> 16) % ((cuts >> 24) % 7 == 0 ? 64 : 4);
            end = end > size ? size : end;
        }
        while (end < size && !utf8_begins(bytes[end]))
            end++;
        piece = mem_zeroed(end - at, 1);
        memcpy(piece, bytes + at, end - at);
        citation_feed(&parser, piece, end - at, &events, seen);
        assert(parser.held_length <= CITATION_HELD_LIMIT);
        free(piece);
        at = end;
    }
    citation_end(&parser, &events, seen);
}

static bool is_same(const struct buf *a, const struct buf *b)
{
    return a->length == b->length && (!a->length || memcmp(a->data, b->data, a->length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct seen whole = {0};
    struct seen cut = {0};

    if (!size)
        return 0;
    read_all((const char *)bytes + 1, size - 1, 0, &whole);
    read_all((const char *)bytes + 1, size - 1, 1u + bytes[0] * 2654435761u, &cut);
    assert(is_same(&whole.text, &cut.text) && is_same(&whole.marks, &cut.marks));
    assert(whole.text.length == size - 1 &&
           (size == 1 || memcmp(whole.text.data, bytes + 1, size - 1) == 0));
    buf_clear(&whole.text);
    buf_clear(&whole.marks);
    buf_clear(&cut.text);
    buf_clear(&cut.marks);
    return 0;
}
