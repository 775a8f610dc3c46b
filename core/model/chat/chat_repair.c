/*
 * chat_repair.c -- makes JSON readable that a JSON reader would refuse.
 *
 * Models write bytes, and servers that decode token by token send what is half of a character: invalid
 * UTF-8, or one surrogate of a pair. Refusing the event would lose a whole answer because of one emoji.
 * So each invalid place becomes U+FFFD, the character that stands for an unreadable one.
 *
 * An escape is replaced by another escape of six bytes, the one of U+FFFD. So the copy keeps its length,
 * nothing is moved, and one pass is enough. The escape of NUL is replaced as well: a C string would end
 * there, and PostgreSQL's text cannot hold it.
 *
 * A surrogate at the very beginning or end of a string may have its other half in the next piece. Which
 * one it was is noted before it is replaced, and chat_split_char.c joins the two.
 */

#include "core/model/chat/chat_repair.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

#define REPLACEMENT_ESCAPE "ufffd"

/* The value of four hexadecimal digits, or -1. Stops at a NUL. */
static int escape_unit(const char *digits)
{
    int unit = 0;

    for (int i = 0; i < 4; i++) {
        static const char hex[] = "0123456789abcdef";
        int letter = digits[i] >= 'A' && digits[i] <= 'F' ? digits[i] | 0x20 : digits[i];
        const char *found = letter ? strchr(hex, letter) : NULL;

        if (!found)
            return -1;
        unit = unit << 4 | (int)(found - hex);
    }
    return unit;
}

static bool is_high_half(int unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_half(int unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Replaces one escape if it is no character; `escape` points to its backslash, and `before` to the
 * end of the last one. Returns the place after it. */
static char *repair_escape(char *escape, const char *before, struct chat_surrogates *surrogates)
{
    bool begins = escape > before && escape[-1] == '"';
    int unit;

    if (escape[1] != 'u')
        return escape + (escape[1] ? 2 : 1);
    unit = escape_unit(escape + 2);
    if (unit < 0)
        return escape + 2;
    if (is_high_half(unit) && escape[6] == '\\' && escape[7] == 'u' &&
        is_low_half(escape_unit(escape + 8)))
        return escape + 12;
    if (is_high_half(unit) && escape[6] == '"')
        surrogates->high = (uint16_t)unit;
    if (is_low_half(unit) && begins)
        surrogates->low = (uint16_t)unit;
    if (unit == 0 || is_high_half(unit) || is_low_half(unit))
        memcpy(escape + 1, REPLACEMENT_ESCAPE, sizeof(REPLACEMENT_ESCAPE) - 1);
    return escape + 6;
}

char *chat_repair_json(const char *text, size_t length, struct chat_surrogates *surrogates)
{
    struct chat_surrogates unnoticed;
    char *clean = json_clean_utf8(text, length);
    char *before = clean;
    char *escape;

    while ((escape = strchr(before, '\\')))
        before = repair_escape(escape, before, surrogates ? surrogates : &unnoticed);
    return clean;
}

void chat_repair_line(char *ret_line, size_t size, const char *text, size_t length)
{
    AUTO_FREE char *clean = json_clean_utf8(text, length);
    size_t kept = utf8_fit(clean, size - 1);

    for (size_t i = 0; i < kept; i++)
        ret_line[i] = (unsigned char)clean[i] < ' ' || clean[i] == 0x7F ? ' ' : clean[i];
    ret_line[kept] = '\0';
}
