#ifndef RUNNEL_CORE_BASE_UTF8_H
#define RUNNEL_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * utf8.h -- characters of a text: how many, where, and where it may be cut. Pure.
 *
 * Of bytes that are no UTF-8 every one that could begin a character counts as one.
 */

/* How long the beginning of `text` is that has at most `limit` bytes and no half letter at its end: a letter
 * that does not fit is left out. What lies behind those bytes is not looked at, and of bytes that are no
 * UTF-8 only what may have been the beginning of a letter is left out. */
size_t utf8_fit(const char *text, size_t limit);

/* U+FFFD: what stands where there is no character. */
#define UTF8_REPLACEMENT        "\xEF\xBF\xBD"
#define UTF8_REPLACEMENT_LENGTH ((size_t)3)

/* The byte begins a character. */
static inline bool utf8_begins(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

/* Characters of the first `length` bytes. */
size_t utf8_count(const char *text, size_t length);

/* Behind so many characters; the end of the text when it has fewer. */
const char *utf8_at(const char *text, size_t characters);

/* Writes a character, at most 4 bytes and no NUL behind them; returns where they end. `point` is
 * below 0x110000 and no half of a surrogate pair. */
char *utf8_put(char *out, uint32_t point);

#endif
