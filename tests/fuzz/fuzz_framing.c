/*
 * However the bytes of a connection are cut into pieces, the requests in them and the fault are
 * the same.
 *
 * What is read without a fault is what every reader reads: a second, simpler reader, which looks
 * at whole lines and has no states, finds the same first head. The first byte of the input says
 * where the bytes are cut; the connection's bytes follow.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "server/http/parse/framing.h"

/* `cuts` is the state of a small generator of piece lengths; 0 means one piece. Each piece has
 * memory of its own. Returns where the fault is, or `size`. */
static size_t feed(struct framing *framing, const uint8_t *bytes, size_t size, uint32_t cuts)
{
    size_t fault = size;

    for (size_t at = 0; at < size;) {
        size_t length = size - at;
        size_t clean;
        char *piece;

        if (cuts) {
            cuts = cuts * 1664525u + 1013904223u;
            length = (cuts >> 24) % 7 == 0 ? 1 + (cuts >> 16) % 64 : 1 + (cuts >> 16) % 4;
            length = length > size - at ? size - at : length;
        }
        piece = mem_zeroed(length, 1);
        memcpy(piece, bytes + at, length);
        clean = framing_read(framing, piece, length);
        free(piece);
        if (clean < length) {
            assert(fault == size); /* there is one first fault */
            fault = at + clean;
        }
        at += length;
    }
    return fault;
}

static bool is_text(const uint8_t *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((line[i] < 0x20 && line[i] != '\t') || line[i] == 0x7F)
            return false;
    return true;
}

static bool is_request_line(const uint8_t *line, size_t length)
{
    size_t blanks = 0;

    for (size_t i = 0; i < length; i++)
        blanks += line[i] == ' ';
    return blanks == 2 && !memchr(line, '\t', length);
}

static bool is_header(const uint8_t *line, size_t length)
{
    static const char letters[] = "!#$%&'*+-.^_`|~0123456789"
                                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t name = 0;

    while (name < length && line[name] && strchr(letters, line[name]))
        name++;
    return name > 0 && name < length && line[name] == ':';
}

/* The length of the line, or `size` when it does not end in CR LF. */
static size_t line_length(const uint8_t *bytes, size_t size)
{
    const uint8_t *end = memchr(bytes, '\n', size);

    return end && end > bytes && end[-1] == '\r' ? (size_t)(end - 1 - bytes) : size;
}

/* There is a first head, and nothing is wrong with it. */
static bool begins_with_head(const uint8_t *bytes, size_t size)
{
    bool in_head = false;

    for (size_t at = 0; at < size;) {
        size_t length = line_length(bytes + at, size - at);

        if (at + length == size || !is_text(bytes + at, length))
            return false;
        if (!length && in_head)
            return true;
        if (length &&
            !(in_head ? is_header(bytes + at, length) : is_request_line(bytes + at, length)))
            return false;
        in_head = in_head || length;
        at += length + 2;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct framing whole = {0}, cut = {0};

    if (!size)
        return 0;
    assert(feed(&whole, bytes + 1, size - 1, 0) ==
           feed(&cut, bytes + 1, size - 1, 1u + bytes[0] * 2654435761u));
    assert(whole.heads == cut.heads && whole.requests == cut.requests);
    assert(whole.fault == cut.fault && whole.place == cut.place && whole.left == cut.left);
    assert(whole.requests <= whole.heads && whole.heads <= whole.requests + 1);
    assert((whole.heads > 0) == begins_with_head(bytes + 1, size - 1));
    return 0;
}
