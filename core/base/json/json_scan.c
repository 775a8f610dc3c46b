/*
 * json_scan.c -- checks text before it is parsed as JSON: how deep, how many values, is it UTF-8.
 *
 * jansson turns two bytes ("{}") into 150 and recurses once for each level, so a stranger's
 * text is measured first. The result may be too high for text that is not JSON (which will
 * be refused anyway) but is never too low.
 */

#include "core/base/json/json_scan.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/utf8.h"

enum byte_kind {
    BYTE_WORD, /* part of a number, true, false, null, or nonsense */
    BYTE_GAP,  /* blank or separator */
    BYTE_QUOTE,
    BYTE_OPEN,
    BYTE_CLOSE,
};

/* clang-format off */
static const unsigned char kinds[256] = {
    [' '] = BYTE_GAP, ['\t'] = BYTE_GAP, ['\r'] = BYTE_GAP, ['\n'] = BYTE_GAP,
    [','] = BYTE_GAP, [':'] = BYTE_GAP,
    ['"'] = BYTE_QUOTE,
    ['{'] = BYTE_OPEN, ['['] = BYTE_OPEN,
    ['}'] = BYTE_CLOSE, [']'] = BYTE_CLOSE,
};
/* clang-format on */

/* The place after the closing quote of a string whose first byte is at `at`; `length` without one. */
static size_t skip_string(const char *text, size_t length, size_t at)
{
    while (at < length && text[at] != '"')
        at += text[at] == '\\' ? 2 : 1;
    return at < length ? at + 1 : length;
}

enum err_code json_scan(const char *text, size_t length, struct err *err)
{
    size_t depth = 0;
    size_t tokens = 0;
    bool in_word = false;

    for (size_t i = 0; i < length;) {
        enum byte_kind kind = kinds[(unsigned char)text[i++]];

        if (kind == BYTE_QUOTE)
            i = skip_string(text, length, i);
        else if (kind == BYTE_OPEN && ++depth > JSON_DEPTH_LIMIT)
            return err_set(err, ERR_TOO_LARGE, "JSON nested deeper than %zu levels",
                           JSON_DEPTH_LIMIT);
        else if (kind == BYTE_CLOSE && depth)
            depth--;
        if (kind == BYTE_QUOTE || kind == BYTE_OPEN || (kind == BYTE_WORD && !in_word))
            tokens++;
        if (tokens > JSON_TOKEN_LIMIT)
            return err_set(err, ERR_TOO_LARGE, "JSON with more than %zu values and keys",
                           JSON_TOKEN_LIMIT);
        in_word = kind == BYTE_WORD;
    }
    return ERR_OK;
}

/* How many continuation bytes follow a lead byte, and the range of the first of them: it is
 * narrower than 80..BF after E0 and F0 (overlong forms), ED (surrogates) and F4 (beyond 10FFFF). */
static size_t lead_byte(unsigned char lead, unsigned char *ret_low, unsigned char *ret_high)
{
    *ret_low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    *ret_high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF)
        return 1;
    if (lead >= 0xE0 && lead <= 0xEF)
        return 2;
    if (lead >= 0xF0 && lead <= 0xF4)
        return 3;
    return 0;
}

/* The length of the character that starts at `text`; *ret_valid says whether it is one. If not,
 * the length is that of the bytes that a reader replaces by one U+FFFD: all that could still
 * have begun a character, at least one. */
static size_t utf8_next(const unsigned char *text, size_t left, bool *ret_valid)
{
    unsigned char low;
    unsigned char high;
    size_t rest;

    *ret_valid = text[0] > 0 && text[0] < 0x80;
    if (text[0] < 0x80)
        return 1;
    rest = lead_byte(text[0], &low, &high);
    for (size_t i = 1; i <= rest; i++) {
        if (i == left || text[i] < low || text[i] > high)
            return i;
        low = 0x80;
        high = 0xBF;
    }
    *ret_valid = rest > 0;
    return rest + 1;
}

/* The number of leading bytes that are valid UTF-8 without NUL. */
static size_t valid_prefix(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = 0;

    while (at < length) {
        bool valid;
        size_t size = utf8_next(bytes + at, length - at, &valid);

        if (!valid)
            break;
        at += size;
    }
    return at;
}

bool json_valid_utf8(const char *text, size_t length)
{
    return valid_prefix(text, length) == length;
}

char *json_clean_utf8(const char *text, size_t length)
{
    struct buf clean = {0};
    size_t at = 0;

    buf_reserve(&clean, length);
    while (at < length) {
        size_t good = valid_prefix(text + at, length - at);
        bool valid;

        buf_add(&clean, text + at, good);
        at += good;
        if (at == length)
            break;
        at += utf8_next((const unsigned char *)text + at, length - at, &valid);
        buf_add_text(&clean, UTF8_REPLACEMENT);
    }
    return buf_take(&clean);
}
