/*
 * chunker.c -- a window that moves over the cuts of a text.
 *
 * The window holds the cuts from the beginning of the chunk to the first one that no longer fits. A chunk ends at the
 * best of them, and the next one begins at a cut before that end; the cuts in between stay in the window, so each word
 * is measured once. A window has at most four cuts for a token.
 */

#include "core/retrieval/chunker.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/retrieval/cuts.h"

#define QUARTERS 4u
#define PART     8u /* of a window and of an overlap: where a good place is looked for */

struct window {
    struct cuts *source;
    struct cut *cuts; /* the chunk begins at the first */
    size_t count, room;
    size_t before;  /* the cut where the last chunk ended; 0 for the first chunk */
    uint64_t limit; /* of a chunk */
    uint64_t overlap;
};

void chunks_clear(struct chunks *chunks)
{
    for (size_t i = 0; i < chunks->count; i++)
        free(chunks->items[i].heading);
    free(chunks->items);
    *chunks = (struct chunks){0};
}

/* The size of a chunk between two cuts, with the header of its table. */
static uint64_t size_between(const struct window *window, size_t begin, size_t end)
{
    const struct cut *from = &window->cuts[begin];

    return window->cuts[end].size - from->size_at + from->head_size;
}

/* Adds cuts until the last one does not fit, or the text ends. */
static void fill(struct window *window)
{
    while (!window->count || (window->cuts[window->count - 1].rank != CUT_END &&
                              (window->count < 2 ||
                               size_between(window, 0, window->count - 1) <= window->limit))) {
        if (window->count == window->room) {
            window->room = window->room ? 2 * window->room : 1024;
            window->cuts = mem_resize(window->cuts, window->room, sizeof(*window->cuts));
        }
        if (!cuts_next(window->source, &window->cuts[window->count]))
            return;
        window->count++;
    }
}

/* The cut where the chunk ends. */
static size_t choose_end(const struct window *window)
{
    size_t last = window->before + 1, best;

    while (last + 1 < window->count && size_between(window, 0, last + 1) <= window->limit)
        last++;
    if (window->cuts[last].rank == CUT_END)
        return last;
    best = last;
    for (size_t i = last; i > window->before; i--) {
        if (size_between(window, 0, i) < window->limit - window->limit / PART)
            break;
        if (window->cuts[i].rank > window->cuts[best].rank)
            best = i;
    }
    return best;
}

/* The cut where the next chunk begins: before `end`, which it includes the word behind. */
static size_t choose_begin(const struct window *window, size_t end)
{
    size_t first = end, best;

    while (first > 1 &&
           window->cuts[end].size - window->cuts[first - 1].size_at <= window->overlap &&
           size_between(window, first - 1, end + 1) <= window->limit)
        first--;
    best = first;
    for (size_t i = first; i < end; i++) {
        if (window->cuts[end].size - window->cuts[i].size_at <
            window->overlap - window->overlap / PART)
            break;
        if (window->cuts[i].rank > window->cuts[best].rank)
            best = i;
    }
    return best;
}

static struct chunk chunk_between(const struct window *window, size_t end, size_t n)
{
    const struct cut *from = &window->cuts[0];

    return (struct chunk){
        .n = (uint32_t)n,
        .page = from->page,
        .tokens = (uint32_t)((size_between(window, 0, end) + QUARTERS - 1) / QUARTERS),
        .begin = from->at,
        .length = window->cuts[end].stop - from->at,
        .head_begin = from->head_begin,
        .head_length = from->head_length,
        .heading = cuts_heading(window->source, from->heading, CHUNK_HEADING_MAX),
    };
}

/* Adds all chunks. ERR_TOO_LARGE: there are more than CHUNKS_MAX. */
static enum err_code make(struct window *window, struct chunks *chunks, struct err *err)
{
    size_t room = 0;

    fill(window);
    if (window->cuts[0].rank == CUT_END)
        return ERR_OK;
    for (;;) {
        size_t end, begin;

        fill(window);
        end = choose_end(window);
        if (chunks->count == CHUNKS_MAX)
            return err_set(err, ERR_TOO_LARGE, "The text has more than %zu chunks.",
                           CHUNKS_MAX);
        if (chunks->count == room) {
            room = room ? 2 * room : 8;
            chunks->items = mem_resize(chunks->items, room, sizeof(*chunks->items));
        }
        chunks->items[chunks->count] = chunk_between(window, end, chunks->count);
        chunks->count++;
        if (window->cuts[end].rank == CUT_END)
            return ERR_OK;
        begin = choose_begin(window, end);
        window->before = end - begin;
        window->count -= begin;
        memmove(window->cuts, window->cuts + begin, window->count * sizeof(*window->cuts));
    }
}

enum err_code chunks_make(const struct chunking *chunking, const struct token_counter *counter,
                          const char *text, size_t length, struct chunks *ret_chunks,
                          struct err *err)
{
    struct window window = {
        .limit = QUARTERS * (uint64_t)chunking->max_tokens,
        .overlap = QUARTERS * (uint64_t)chunking->overlap_tokens,
    };
    struct chunks chunks = {0};
    enum err_code rc;

    assert(chunking->max_tokens && chunking->overlap_tokens <= chunking->max_tokens / 2);
    window.source = cuts_new(counter, text, length, window.limit);
    rc = make(&window, &chunks, err);
    cuts_free(window.source);
    free(window.cuts);
    if (rc) {
        chunks_clear(&chunks);
        return rc;
    }
    *ret_chunks = chunks;
    return ERR_OK;
}

/* Adds text with newlines instead of form feeds. */
static void add_pages(struct buf *out, const char *text, size_t length)
{
    size_t from = out->length;

    buf_add(out, text, length);
    for (char *at = out->data + from;
         (at = memchr(at, '\f', out->length - (size_t)(at - out->data)));)
        *at = '\n';
}

void chunk_add_text(struct buf *out, const struct chunk *chunk, const char *text)
{
    if (chunk->head_length) {
        add_pages(out, text + chunk->head_begin, chunk->head_length);
        buf_add_char(out, '\n');
    }
    add_pages(out, text + chunk->begin, chunk->length);
}

static void add_line(struct buf *out, const char *line)
{
    if (line && *line) {
        buf_add_text(out, line);
        buf_add_char(out, '\n');
    }
}

void chunk_add_indexed(struct buf *out, const struct chunk *chunk, const char *text,
                       const char *filename)
{
    add_line(out, filename);
    add_line(out, chunk->heading);
    chunk_add_text(out, chunk, text);
}

void chunk_add_parts(struct buf *out, const char *filename, const char *heading,
                     const char *shown)
{
    add_line(out, filename);
    add_line(out, heading);
    buf_add_text(out, shown);
}
