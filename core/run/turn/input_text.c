/*
 * A state machine over bytes: one stage for each thing that may come next. The string is the only value
 * that matters, so nothing is kept of the rest.
 *
 * The alternative was to parse the arguments so far with each piece, as a JSON parser can only do after
 * some repair at the end. That costs the square of the length, and says nothing about which text is
 * new.
 *
 * Escapes are the only difficulty: a piece may end inside one, and a character outside the BMP is a pair
 * of them (RFC 8259, section 7). So the bytes of an escape wait in `pending` until it is complete. The
 * longest is a pair, \uD83D\uDE00: twelve bytes.
 *
 * What was emitted cannot be taken back. So anything that a JSON parser would refuse ends the text there:
 * half a pair, a control character, an unknown escape. U+0000 ends it, too, because texts of this server
 * cannot contain it.
 */

#include "core/run/turn/input_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char key[] = "\"input\"";

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* ---- Escapes ---- */

/* The value of four hexadecimal digits, or -1. */
static int unit_of(const char *digits)
{
    int unit = 0;

    for (int i = 0; i < 4; i++) {
        char letter =
            (char)(digits[i] >= 'A' && digits[i] <= 'F' ? digits[i] | 0x20 : digits[i]);

        if (letter >= '0' && letter <= '9')
            unit = unit << 4 | (letter - '0');
        else if (letter >= 'a' && letter <= 'f')
            unit = unit << 4 | (letter - 'a' + 10);
        else
            return -1;
    }
    return unit;
}

static void add_character(struct buf *out, uint32_t code)
{
    if (code < 0x80) {
        buf_add_char(out, (char)code);
    } else if (code < 0x800) {
        buf_add_char(out, (char)(0xC0 | code >> 6));
        buf_add_char(out, (char)(0x80 | (code & 0x3F)));
    } else if (code < 0x10000) {
        buf_add_char(out, (char)(0xE0 | code >> 12));
        buf_add_char(out, (char)(0x80 | (code >> 6 & 0x3F)));
        buf_add_char(out, (char)(0x80 | (code & 0x3F)));
    } else {
        buf_add_char(out, (char)(0xF0 | code >> 18));
        buf_add_char(out, (char)(0x80 | (code >> 12 & 0x3F)));
        buf_add_char(out, (char)(0x80 | (code >> 6 & 0x3F)));
        buf_add_char(out, (char)(0x80 | (code & 0x3F)));
    }
}

static bool is_high_half(int unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_half(int unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Six bytes of an escape have come, or more. False: it stands for no character. */
static bool add_unicode(struct input_text *input, struct buf *out)
{
    int first = unit_of(input->pending + 2);
    int second;

    if (is_high_half(first)) {
        /* The other half has to follow: a backslash now, and its end at twelve bytes. */
        if (input->pending_length < 12)
            return input->pending_length < 7 || input->pending[6] == '\\';
        second = input->pending[7] == 'u' ? unit_of(input->pending + 8) : -1;
        if (!is_low_half(second))
            return false;
        add_character(out, 0x10000 + ((uint32_t)(first - 0xD800) << 10) +
                               (uint32_t)(second - 0xDC00));
    } else if (first <= 0 || is_low_half(first)) {
        return false;
    } else {
        add_character(out, (uint32_t)first);
    }
    input->pending_length = 0;
    return true;
}

/* Another byte of an escape. False: this is not an escape of JSON. */
static bool take_escape(struct input_text *input, char byte, struct buf *out)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    const char *found;

    input->pending[input->pending_length++] = byte;
    if (input->pending_length == 1)
        return true;
    if (input->pending[1] == 'u')
        return input->pending_length < 6 || add_unicode(input, out);
    found = byte ? strchr(letters, byte) : NULL;
    if (!found)
        return false;
    buf_add_char(out, meant[found - letters]);
    input->pending_length = 0;
    return true;
}

/* ---- The shape ---- */

static enum input_stage take_text(struct input_text *input, char byte, struct buf *out)
{
    if (input->pending_length || byte == '\\')
        return take_escape(input, byte, out) ? INPUT_TEXT : INPUT_OVER;
    if (byte == '"' || (unsigned char)byte < ' ')
        return INPUT_OVER;
    buf_add_char(out, byte);
    return INPUT_TEXT;
}

/* The key is compared byte by byte: one that is written with escapes counts as another key. */
static enum input_stage take_key(struct input_text *input, char byte)
{
    if (byte != key[input->pending_length])
        return !input->pending_length && is_blank(byte) ? INPUT_KEY : INPUT_OVER;
    if (++input->pending_length < sizeof(key) - 1)
        return INPUT_KEY;
    input->pending_length = 0;
    return INPUT_COLON;
}

static enum input_stage take_mark(enum input_stage stage, char byte, char mark,
                                  enum input_stage next)
{
    if (byte == mark)
        return next;
    return is_blank(byte) ? stage : INPUT_OVER;
}

static enum input_stage take(struct input_text *input, char byte, struct buf *out)
{
    switch (input->stage) {
    case INPUT_OBJECT: return take_mark(INPUT_OBJECT, byte, '{', INPUT_KEY);
    case INPUT_KEY: return take_key(input, byte);
    case INPUT_COLON: return take_mark(INPUT_COLON, byte, ':', INPUT_QUOTE);
    case INPUT_QUOTE: return take_mark(INPUT_QUOTE, byte, '"', INPUT_TEXT);
    case INPUT_TEXT: return take_text(input, byte, out);
    case INPUT_OVER: break;
    }
    return INPUT_OVER;
}

void input_text_feed(struct input_text *input, const char *piece, size_t length,
                     struct buf *out)
{
    for (size_t i = 0; i < length && input->stage != INPUT_OVER; i++)
        input->stage = take(input, piece[i], out);
}
