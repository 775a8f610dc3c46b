/*
 * buf.c -- a growing array of bytes that always ends in a NUL.
 *
 * The NUL is kept up by every function, so a buffer can be read as a C string at any moment, at the price
 * of one byte. It does not count, so binary data may contain NULs.
 *
 * Growth is by a quarter above 1 KiB, and not by doubling. A server holds thousands of buffers that grow
 * for hours (texts of open items, frames of streams), and what they allocate and do not use adds up. It
 * copies more often than doubling does, but a stream's text arrives in small pieces, and a copy of a few
 * KiB is cheap beside the network.
 */

#include "core/base/buf.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"

#define FIRST_CAPACITY 128
#define SMALL          1024
#define ESCAPED_BLOCK  256

void buf_clear(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

void buf_reset(struct buf *buf)
{
    buf->length = 0;
    if (buf->data)
        buf->data[0] = '\0';
}

static void grow(struct buf *buf, size_t wanted)
{
    size_t capacity = buf->capacity;

    if (!capacity)
        capacity = wanted > FIRST_CAPACITY ? wanted : FIRST_CAPACITY;

    /* With doubling a third of each buffer would be empty on average; with a quarter it is a tenth. */
    while (capacity < wanted)
        capacity += capacity < SMALL ? capacity / 2 : capacity / 4;
    buf->data = mem_resize(buf->data, capacity, 1);
    buf->capacity = capacity;
    /* A caller that reserves room and then adds nothing has a valid string too. */
    buf->data[buf->length] = '\0';
}

static inline char *reserve(struct buf *buf, size_t size)
{
    size_t wanted = buf->length + size + 1;

    if (UNLIKELY(wanted > buf->capacity))
        grow(buf, wanted);
    return buf->data + buf->length;
}

static inline void added(struct buf *buf, size_t size)
{
    buf->length += size;
    buf->data[buf->length] = '\0';
}

char *buf_reserve(struct buf *buf, size_t size)
{
    return reserve(buf, size);
}

void buf_added(struct buf *buf, size_t size)
{
    added(buf, size);
}

void buf_add(struct buf *buf, const void *bytes, size_t size)
{
    char *room = reserve(buf, size);

    if (size)
        memcpy(room, bytes, size);
    added(buf, size);
}

void buf_add_char(struct buf *buf, char byte)
{
    *reserve(buf, 1) = byte;
    added(buf, 1);
}

void buf_add_int(struct buf *buf, int64_t number)
{
    char digits[24];
    char *end = digits + sizeof(digits);
    char *first = end;
    /* Unsigned: the smallest int64_t has no positive counterpart. */
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    do
        *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--first = '-';
    buf_add(buf, first, (size_t)(end - first));
}

void buf_addf(struct buf *buf, const char *format, ...)
{
    va_list arguments;
    int length;

    /* Formatted twice: the first call only measures. */
    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length <= 0)
        return;
    va_start(arguments, format);
    (void)vsnprintf(buf_reserve(buf, (size_t)length), (size_t)length + 1, format, arguments);
    va_end(arguments);
    buf_added(buf, (size_t)length);
}

/* How a byte is written in a JSON string. 0: as it is; 'u': as \u00XX; any other
 * value is the letter after the backslash. */
/* clang-format off */
static const char escape_of[256] = {
    ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't',
    [0] = 'u', [1] = 'u', [2] = 'u', [3] = 'u', [4] = 'u', [5] = 'u', [6] = 'u', [7] = 'u',
    [11] = 'u', [14] = 'u', [15] = 'u', [16] = 'u', [17] = 'u', [18] = 'u', [19] = 'u',
    [20] = 'u', [21] = 'u', [22] = 'u', [23] = 'u', [24] = 'u', [25] = 'u', [26] = 'u',
    [27] = 'u', [28] = 'u', [29] = 'u', [30] = 'u', [31] = 'u',
};
/* clang-format on */

/* Eight bytes at once: true if none of them needs an escape. Each test leaves a high bit where it finds one; a byte
 * that has its own high bit is part of a letter. */
static inline bool are_plain(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quotes = word ^ (ones * '"'), slashes = word ^ (ones * '\\');

    return !((((word - ones * ' ') & ~word) | ((quotes - ones) & ~quotes) |
              ((slashes - ones) & ~slashes)) &
             highs);
}

static char *add_escape(char *out, unsigned char byte)
{
    static const char hex[] = "0123456789ABCDEF";

    *out++ = '\\';
    *out++ = escape_of[byte];
    if (escape_of[byte] == 'u') {
        *out++ = '0';
        *out++ = '0';
        *out++ = hex[byte >> 4];
        *out++ = hex[byte & 15];
    }
    return out;
}

static void add_escaped_block(struct buf *buf, const char *text, size_t length)
{
    /* The worst byte becomes six. */
    char *out = reserve(buf, length * 6);
    char *start = out;
    const char *end = text + length;

    while (text < end) {
        uint64_t word;

        while (end - text >= 8 && (memcpy(&word, text, 8), are_plain(word))) {
            memcpy(out, &word, 8);
            out += 8;
            text += 8;
        }
        /* Letter by letter to the next eight. */
        for (const char *stop = end - text > 8 ? text + 8 : end; text < stop; text++) {
            if (LIKELY(!escape_of[(unsigned char)*text]))
                *out++ = *text;
            else
                out = add_escape(out, (unsigned char)*text);
        }
    }
    added(buf, (size_t)(out - start));
}

/* In blocks, so that a long text does not reserve six times its length. */
void buf_add_json_escaped(struct buf *buf, const char *text, size_t length)
{
    while (length > ESCAPED_BLOCK) {
        add_escaped_block(buf, text, ESCAPED_BLOCK);
        text += ESCAPED_BLOCK;
        length -= ESCAPED_BLOCK;
    }
    add_escaped_block(buf, text, length);
}

void buf_consume(struct buf *buf, size_t size)
{
    if (!size)
        return;
    memmove(buf->data, buf->data + size, buf->length - size + 1); /* with the NUL */
    buf->length -= size;
}

char *buf_take(struct buf *buf)
{
    char *data = buf->data ? buf->data : mem_zeroed(1, 1);

    *buf = (struct buf){0};
    return data;
}
