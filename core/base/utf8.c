/*
 * utf8.c -- counts and finds characters by their first bytes.
 *
 * In UTF-8 every byte of a character but the first has the form 10xxxxxx. So characters are counted without
 * decoding them: a byte that does not have this form begins one. Whether the text is valid is a different
 * question (json_scan.c); these functions give an answer for any bytes and never read beyond the end.
 */

#include "core/base/utf8.h"

#include <string.h>

#define CHARACTER_LIMIT 4 /* bytes */

/* Bytes of a character that begins with this byte. */
static size_t character_size(unsigned char head)
{
    return head >= 0xF0 ? 4 : head >= 0xE0 ? 3 : head >= 0xC0 ? 2 : 1;
}

size_t utf8_fit_bytes(const char *bytes, size_t length)
{
    size_t after = length; /* the place after the first byte of the last character */

    while (after && length - after < CHARACTER_LIMIT && !utf8_begins(bytes[after - 1]))
        after--;
    if (!after) /* no character begins here: not UTF-8 */
        return length;
    return length - after + 1 < character_size((unsigned char)bytes[after - 1]) ? after - 1
                                                                                : length;
}

size_t utf8_fit(const char *text, size_t limit)
{
    return utf8_fit_bytes(text, strnlen(text, limit));
}

size_t utf8_count(const char *text, size_t length)
{
    size_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += utf8_begins(text[i]);
    return count;
}

const char *utf8_at(const char *text, size_t characters)
{
    while (*text && (characters || !utf8_begins(*text)))
        characters -= utf8_begins(*text++);
    return text;
}

size_t utf8_take(const char *text, size_t length, uint32_t *ret_point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800,
                                     0x10000}; /* of a character of so many bytes */
    unsigned char head = (unsigned char)*text;
    size_t size = character_size(head);
    uint32_t point = head;

    *ret_point = head;
    if (head < 0x80)
        return 1;
    *ret_point = 0xFFFD;
    if (head < 0xC0 || head > 0xF4 || size > length)
        return 1;
    point &= 0x7Fu >> size;
    for (size_t i = 1; i < size; i++) {
        if (utf8_begins(text[i]))
            return 1;
        point = point << 6 | ((unsigned char)text[i] & 0x3F);
    }
    if (point < least[size] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
        return 1;
    *ret_point = point;
    return size;
}

char *utf8_put(char *out, uint32_t point)
{
    if (point < 0x80) {
        *out++ = (char)point;
        return out;
    }
    if (point < 0x800) {
        *out++ = (char)(0xC0 | point >> 6);
    } else {
        if (point < 0x10000) {
            *out++ = (char)(0xE0 | point >> 12);
        } else {
            *out++ = (char)(0xF0 | point >> 18);
            *out++ = (char)(0x80 | (point >> 12 & 0x3F));
        }
        *out++ = (char)(0x80 | (point >> 6 & 0x3F));
    }
    *out++ = (char)(0x80 | (point & 0x3F));
    return out;
}
