#ifndef RUNNEL_CORE_BASE_UTF8_H
#define RUNNEL_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * utf8.h -- characters of a text: how many, where, and where it may be cut. Pure.
 *
 * In text that is not UTF-8, every byte that could begin a character counts as one.
 */

/* The longest beginning of `text` with at most `limit` bytes that does not end within a character.
 * Bytes after `limit` are not read. Of text that is not UTF-8, only bytes that may begin a character
 * are left out at the end. */
size_t utf8_fit(const char *text, size_t limit);

/* As utf8_fit(), of `length` bytes among which NUL is a character as others. More than 0 if `length` is 4 or more. */
size_t utf8_fit_bytes(const char *bytes, size_t length);

/* U+FFFD, which replaces invalid bytes. */
#define UTF8_REPLACEMENT        "\xEF\xBF\xBD"
#define UTF8_REPLACEMENT_LENGTH ((size_t)3)

/* The byte begins a character. */
static inline bool utf8_begins(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

/* The number of characters in the first `length` bytes. */
size_t utf8_count(const char *text, size_t length);

/* The place after this many characters; the end of the text when it has fewer. */
const char *utf8_at(const char *text, size_t characters);

/* Reads the character at the beginning of `length` bytes, at least one, and returns how many bytes it has. Bytes that
 * are no character of UTF-8 are U+FFFD, one by one. */
size_t utf8_take(const char *text, size_t length, uint32_t *ret_point);

/* Writes a character, at most 4 bytes without a NUL, and returns the place after it. `point` is
 * below 0x110000 and no surrogate. */
char *utf8_put(char *out, uint32_t point);

#endif
