/*
 * json_write.c -- the fast twin of json_dumps().
 *
 * jansson hands out a text in pieces of a few bytes, and looks up the address of every array and object, as text in
 * a table, to find a tree that contains itself. No tree here does: each is made by parsing or by json_build(). For a
 * stored response, with seven texts, jansson needs 197,000 instructions, and this file 55,000.
 *
 * Reals are left to jansson, which knows how many digits survive. Text is not checked to be UTF-8 again: what comes
 * from outside was, when it became a string.
 *
 * The unit test and the fuzzer compare the two.
 */

#include "core/base/json/json_write.h"

#include <stdint.h>
#include <string.h>

#include "core/base/json/json_number.h"

#define REAL_SIZE 64

static void add_string(struct buf *buf, const char *text, size_t length)
{
    buf_add_char(buf, '"');
    buf_add_json_escaped(buf, text, length);
    buf_add_char(buf, '"');
}

static void add_real(struct buf *buf, const json_t *value)
{
    char text[REAL_SIZE];

    buf_add(buf, text, json_dumpb(value, text, sizeof(text), JSON_TEXT_FLAGS));
}

static void add_array(struct buf *buf, const json_t *array)
{
    size_t count = json_array_size(array);

    buf_add_char(buf, '[');
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add_char(buf, ',');
        json_write(buf, json_array_get(array, i));
    }
    buf_add_char(buf, ']');
}

/* In the order in which the members were set, as jansson does. */
static void add_object(struct buf *buf, const json_t *object)
{
    json_t *members = (json_t *)(uintptr_t)object;
    void *first = json_object_iter(members);

    buf_add_char(buf, '{');
    for (void *at = first; at; at = json_object_iter_next(members, at)) {
        const char *key = json_object_iter_key(at);

        if (at != first)
            buf_add_char(buf, ',');
        add_string(buf, key, strlen(key));
        buf_add_char(buf, ':');
        json_write(buf, json_object_iter_value(at));
    }
    buf_add_char(buf, '}');
}

void json_write(struct buf *buf, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: add_object(buf, value); break;
    case JSON_ARRAY: add_array(buf, value); break;
    case JSON_STRING:
        if (json_is_written(value)) /* its text is behind a NUL */
            buf_add(buf, json_string_value(value) + 1, json_string_length(value) - 1);
        else
            add_string(buf, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER: buf_add_int(buf, json_integer_value(value)); break;
    case JSON_REAL: add_real(buf, value); break;
    case JSON_TRUE: buf_add_text(buf, "true"); break;
    case JSON_FALSE: buf_add_text(buf, "false"); break;
    case JSON_NULL: buf_add_text(buf, "null"); break;
    }
}
