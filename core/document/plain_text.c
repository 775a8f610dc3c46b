/*
 * plain_text.c -- which encoding is it, and what is left out.
 *
 * A guess by statistics would be better than this on short texts, and needs tables of letters for each
 * language. What is lost without them are a few accents in old Western files that also decode as Chinese. The rule
 * about neighbours prevents most of that: an accented letter stands between plain letters, a Chinese one beside
 * another one.
 */

#include "core/document/plain_text.h"

#include <errno.h>
#include <iconv.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

/* The length of the UTF-8 character at the beginning; 0 if it is invalid. */
static size_t valid_character(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t size = bytes[0] < 0x80                       ? 1
                  : bytes[0] >= 0xC2 && bytes[0] < 0xE0 ? 2
                  : bytes[0] >= 0xE0 && bytes[0] < 0xF0 ? 3
                  : bytes[0] >= 0xF0 && bytes[0] < 0xF5 ? 4
                                                        : 0;

    if (size > length)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
    }
    /* Longer than needed, a surrogate, or above U+10FFFF. */
    if ((bytes[0] == 0xE0 && bytes[1] < 0xA0) || (bytes[0] == 0xED && bytes[1] >= 0xA0) ||
        (bytes[0] == 0xF0 && bytes[1] < 0x90) || (bytes[0] == 0xF4 && bytes[1] >= 0x90))
        return 0;
    return size;
}

/* All of it, or a text that was damaged: in ten bytes above 127 one place may be invalid. No other encoding looks
 * like UTF-8 to nine tenths. */
static bool is_utf8(const char *bytes, size_t length)
{
    size_t valid = 0, invalid = 0;
    bool was_valid = true;

    for (size_t at = 0; at < length;) {
        size_t size = valid_character(bytes + at, length - at);

        if (size > 1)
            valid += size;
        invalid += !size && was_valid;
        was_valid = size > 0;
        at += size ? size : 1;
    }
    return invalid * 10 <= valid + invalid;
}

/* Adds UTF-8, without what is invalid and without control characters but those in `kept`. */
static void add_clean(struct buf *text, const char *bytes, size_t length, const char *kept)
{
    for (size_t at = 0; at < length;) {
        size_t size = valid_character(bytes + at, length - at);
        unsigned char byte = (unsigned char)bytes[at];

        if (!size) {
            buf_add(text, UTF8_REPLACEMENT, UTF8_REPLACEMENT_LENGTH);
            size = 1;
        } else if (byte == '\r') {
            if (at + 1 == length || bytes[at + 1] != '\n')
                buf_add_char(text, '\n');
        } else if ((byte >= 0x20 && byte != 0x7F) || (byte && strchr(kept, byte))) {
            buf_add(text, bytes + at, size);
        }
        at += size;
    }
}

/* Half of the bytes above 127 have a neighbour that is one, too. */
static bool has_wide_characters(const char *bytes, size_t length)
{
    size_t high = 0, beside = 0;

    for (size_t i = 0; i < length; i++) {
        if (!(bytes[i] & 0x80))
            continue;
        high++;
        beside += (i && bytes[i - 1] & 0x80) || (i + 1 < length && bytes[i + 1] & 0x80);
    }
    return beside * 2 >= high;
}

/* False, and nothing added, when a byte has no meaning in the encoding. */
static bool add_decoded(struct buf *text, const char *encoding, const char *bytes,
                        size_t length)
{
    iconv_t converter = iconv_open("UTF-8", encoding);
    char *in = (char *)(uintptr_t)bytes;
    struct buf decoded = {0};
    size_t done = 0;

    if (converter == (iconv_t)-1)
        return false;
    do {
        size_t room = 64UL * 1024;
        char *out = buf_reserve(&decoded, room);

        done = iconv(converter, &in, &length, &out, &room);
        buf_added(&decoded, 64UL * 1024 - room);
    } while (done == (size_t)-1 && errno == E2BIG);
    (void)iconv_close(converter);
    if (done != (size_t)-1)
        add_clean(text, decoded.data, decoded.length, "\t\n");
    buf_clear(&decoded);
    return done != (size_t)-1;
}

static bool is_marked_utf16(const char *bytes, size_t length)
{
    return length >= 2 &&
           (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0);
}

static bool is_marked_utf8(const char *bytes, size_t length)
{
    return length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0;
}

/* What the Web calls by the name of a smaller encoding. */
static const char *larger(const char *encoding)
{
    static const char *const pairs[][2] = {{"gb2312", "GB18030"},
                                           {"gbk", "GB18030"},
                                           {"iso-8859-1", "WINDOWS-1252"},
                                           {"latin1", "WINDOWS-1252"},
                                           {"ascii", "WINDOWS-1252"},
                                           {"us-ascii", "WINDOWS-1252"},
                                           {"iso-8859-9", "WINDOWS-1254"},
                                           {"shift_jis", "CP932"},
                                           {"euc-kr", "CP949"},
                                           {"x-sjis", "CP932"}};

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        if (strcasecmp(encoding, pairs[i][0]) == 0)
            return pairs[i][1];
    }
    return encoding;
}

/* Every byte is a letter in them, or nearly every one: so they fit texts of all encodings. */
static bool fits_all(const char *encoding)
{
    return strncasecmp(encoding, "windows-125", strlen("windows-125")) == 0 ||
           strncasecmp(encoding, "iso-8859-", strlen("iso-8859-")) == 0;
}

/* All of it, and it has characters of several bytes. Text of another encoding is so by no chance. */
static bool is_proper_utf8(const char *bytes, size_t length)
{
    bool several = false;

    for (size_t at = 0; at < length;) {
        size_t size = valid_character(bytes + at, length - at);

        if (!size)
            return false;
        several = several || size > 1;
        at += size;
    }
    return several;
}

static bool is_named_utf8(const char *encoding)
{
    return strcasecmp(encoding, "utf-8") == 0 || strcasecmp(encoding, "utf8") == 0;
}

bool plain_text_may_be(const char *encoding, const char *bytes, size_t length)
{
    const char *name = larger(encoding);

    if (is_named_utf8(name))
        return is_utf8(bytes, length);
    return !(fits_all(name) && is_proper_utf8(bytes, length));
}

void plain_text_add_as(struct buf *text, const char *encoding, const char *bytes, size_t length)
{
    if (!encoding || is_marked_utf16(bytes, length) || is_marked_utf8(bytes, length) ||
        is_named_utf8(encoding) || !plain_text_may_be(encoding, bytes, length) ||
        !add_decoded(text, larger(encoding), bytes, length))
        plain_text_add(text, bytes, length);
}

char *plain_text_charset(const char *text)
{
    const char *at = strcasestr(text, "charset=");
    size_t length;

    if (!at)
        return NULL;
    at += strlen("charset=");
    at += strspn(at, " \t\"'");
    length = strcspn(at, " \t\"';/>,");
    return length && length < 40 ? mem_strndup(at, length) : NULL;
}

void plain_text_add(struct buf *text, const char *bytes, size_t length)
{
    bool marked = is_marked_utf8(bytes, length);

    if (is_marked_utf16(bytes, length) &&
        add_decoded(text, "UTF-16", bytes, length - length % 2))
        return;
    if (marked || is_utf8(bytes, length)) {
        add_clean(text, bytes + (marked ? 3 : 0), length - (marked ? 3 : 0), "\t\n");
        return;
    }
    if (has_wide_characters(bytes, length) && (add_decoded(text, "GB18030", bytes, length) ||
                                               add_decoded(text, "SHIFT_JIS", bytes, length)))
        return;
    /* Five bytes have no meaning in Windows-1252; Latin-1 calls them control characters. */
    if (!add_decoded(text, "WINDOWS-1252", bytes, length) &&
        !add_decoded(text, "ISO-8859-1", bytes, length))
        add_clean(text, bytes, length, "\t\n");
}

void plain_text_add_pages(struct buf *text, const char *bytes, size_t length)
{
    add_clean(text, bytes, length, "\t\n\f");
}
