/*
 * json_read.c -- the fast twin of json_loadb(), for texts without anything rare in them.
 *
 * jansson fetches each byte through a callback, keeps a copy of it, and checks it as UTF-8 by itself. This file runs
 * over the text with one pointer, and gives whole strings to jansson's constructors. It needs a third of the
 * instructions. It knows no messages: whatever it does not like goes to jansson, which says what is wrong with it, or
 * reads what is rare: escapes by number, numbers that do not fit, deep nesting.
 *
 * The unit test and the fuzzer compare the two.
 */

#include "core/base/json/json_read.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"

#define DEPTH_LIMIT    64
#define INTEGER_DIGITS 18 /* fit 64 bits whatever they are */
#define NUMBER_LIMIT   15 /* bytes of a real that survives as it is written */

struct reader {
    const char *at, *end;
    size_t flags;
    unsigned depth;
    struct buf text; /* of a string with escapes */
};

static json_t *read_value(struct reader *reader);

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\t' || *reader->at == '\r'))
        reader->at++;
}

static bool take(struct reader *reader, char c)
{
    if (reader->at == reader->end || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

/* ---- Strings ---- */

/* What the letter behind a backslash means; 0: it is rare, or no escape. */
static char escaped(char letter)
{
    switch (letter) {
    case '"': return '"';
    case '\\': return '\\';
    case '/': return '/';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

/* The bytes up to the next quote, backslash or control character. *ret_ascii becomes false if there are others than
 * those of ASCII. */
static void skip_plain(struct reader *reader, bool *ret_ascii)
{
    unsigned char all = 0;

    while (reader->at < reader->end) {
        unsigned char c = (unsigned char)*reader->at;

        if (c < ' ' || c == '"' || c == '\\')
            break;
        all |= c;
        reader->at++;
    }
    if (all & 0x80)
        *ret_ascii = false;
}

/* The string behind a quote. The text lives until the next one is read. */
static bool read_string(struct reader *reader, const char **ret_text, size_t *ret_length)
{
    const char *from = reader->at;
    bool ascii = true, whole = true;

    skip_plain(reader, &ascii);
    buf_reset(&reader->text);
    while (take(reader, '\\')) {
        char c = reader->at < reader->end ? escaped(*reader->at) : 0;

        if (!c)
            return false;
        buf_add(&reader->text, from, (size_t)(reader->at - 1 - from));
        buf_add_char(&reader->text, c);
        from = ++reader->at;
        whole = false;
        skip_plain(reader, &ascii);
    }
    *ret_text = from;
    *ret_length = (size_t)(reader->at - from);
    if (!take(reader, '"'))
        return false;
    if (!whole) {
        buf_add(&reader->text, from, *ret_length);
        *ret_text = reader->text.data;
        *ret_length = reader->text.length;
    }
    return ascii || json_valid_utf8(*ret_text, *ret_length);
}

static json_t *read_text(struct reader *reader)
{
    const char *text;
    size_t length;

    return read_string(reader, &text, &length) ? json_stringn_nocheck(text, length) : NULL;
}

/* ---- Numbers ---- */

static bool is_digit(const struct reader *reader)
{
    return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

static bool has_exponent(const struct reader *reader)
{
    return reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E');
}

/* Of a number that begins at `from` and is read up to its point. A short one survives as it is written (json_number.h),
 * unless it ends with a zero or is very small. */
static json_t *read_real(struct reader *reader, const char *from)
{
    const char *point = reader->at++;
    size_t length;

    while (is_digit(reader))
        reader->at++;
    length = (size_t)(reader->at - from);
    if (reader->at == point + 1 || length > NUMBER_LIMIT || reader->at[-1] == '0' ||
        has_exponent(reader) || (reader->at - point > 3 && memcmp(point, ".000", 4) == 0))
        return NULL;
    return json_loadb(from, length, JSON_DECODE_ANY, NULL);
}

static json_t *read_number(struct reader *reader)
{
    const char *from = reader->at, *first;
    json_int_t number = 0;
    bool negative = take(reader, '-');
    size_t digits;

    for (first = reader->at; is_digit(reader) && reader->at - first < INTEGER_DIGITS;
         reader->at++)
        number = number * 10 + (*reader->at - '0');
    digits = (size_t)(reader->at - first);
    if (!digits || is_digit(reader) || (*first == '0' && digits > 1))
        return NULL;
    if (reader->at < reader->end && *reader->at == '.')
        return read_real(reader, from);
    if (has_exponent(reader) || (negative && !number))
        return NULL;
    return json_integer(negative ? -number : number);
}

/* ---- The rest ---- */

static json_t *read_word(struct reader *reader, const char *word, json_t *value)
{
    size_t length = strlen(word);

    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return NULL;
    reader->at += length;
    return value;
}

static bool read_elements(struct reader *reader, json_t *array)
{
    skip_blanks(reader);
    if (take(reader, ']'))
        return true;
    do {
        json_t *value = read_value(reader);

        if (!value)
            return false;
        json_array_append_new(array, value);
    } while (take(reader, ','));
    return take(reader, ']');
}

static bool read_member(struct reader *reader, json_t *object)
{
    const char *text;
    char name[64];
    AUTO_FREE char *long_name = NULL;
    const char *key = name;
    size_t length;
    json_t *value;

    skip_blanks(reader);
    if (!take(reader, '"') || !read_string(reader, &text, &length))
        return false;
    if (length < sizeof(name)) {
        memcpy(name, text, length);
        name[length] = '\0';
    } else {
        key = long_name = mem_strndup(text, length);
    }
    skip_blanks(reader);
    if (!take(reader, ':') ||
        (reader->flags & JSON_REJECT_DUPLICATES && json_object_get(object, key)))
        return false;
    value = read_value(reader);
    return value && json_object_set_new_nocheck(object, key, value) == 0;
}

static bool read_members(struct reader *reader, json_t *object)
{
    skip_blanks(reader);
    if (take(reader, '}'))
        return true;
    do {
        if (!read_member(reader, object))
            return false;
    } while (take(reader, ','));
    return take(reader, '}');
}

/* A container that could not be read is released, and the whole text goes to jansson. */
static json_t *read_container(struct reader *reader, json_t *container,
                              bool (*read)(struct reader *reader, json_t *container))
{
    bool whole = ++reader->depth <= DEPTH_LIMIT && read(reader, container);

    reader->depth--;
    if (whole)
        return container;
    json_decref(container);
    return NULL;
}

static json_t *read_plain_value(struct reader *reader)
{
    if (reader->at == reader->end)
        return NULL;
    switch (*reader->at) {
    case '{': reader->at++; return read_container(reader, json_object(), read_members);
    case '[': reader->at++; return read_container(reader, json_array(), read_elements);
    case '"': reader->at++; return read_text(reader);
    case 't': return read_word(reader, "true", json_true());
    case 'f': return read_word(reader, "false", json_false());
    case 'n': return read_word(reader, "null", json_null());
    default: return read_number(reader);
    }
}

/* With the blanks around it. */
static json_t *read_value(struct reader *reader)
{
    json_t *value;

    skip_blanks(reader);
    value = read_plain_value(reader);
    skip_blanks(reader);
    return value;
}

json_t *json_read(const char *text, size_t length, size_t flags)
{
    struct reader reader = {.at = text, .end = text + length, .flags = flags};
    json_t *value = read_value(&reader);

    buf_clear(&reader.text);
    if (value && reader.at != reader.end) {
        json_decref(value);
        value = NULL;
    }
    return value;
}
