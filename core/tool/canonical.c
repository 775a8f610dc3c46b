/*
 * canonical.c -- JSON values are equal exactly when their canonical texts are.
 *
 * The canonical text writes the members of an object in the order of their keys, and a number by its
 * value. json_equal() of jansson is not enough: it says that 1 and 1.0 differ, and JSON Schema says that
 * they are the same. It also compares two values only. uniqueItems needs all pairs of an array that a
 * stranger has written, so the texts are sorted and only neighbours are compared.
 *
 * The text is for comparing and is never parsed, so the commas after last members do no harm.
 */

#include "core/tool/canonical.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/mem.h"

bool canonical_is_whole(const json_t *value)
{
    double real = json_double(value);

    return json_is_numeric(value) && isfinite(real) && real == floor(real);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_canonical(struct buf *buf, const json_t *value);

static void add_number(struct buf *buf, const json_t *value)
{
    double real = json_double(value);
    const char *written = json_is_written(value) ? json_string_value(value) + 1 : NULL;

    if (written && fabs(real) >= 9e18 && !strpbrk(written, ".eE"))
        buf_add_text(buf, written);
    else if (json_is_integer(value))
        buf_add_int(buf, json_integer_value(value));
    /* Below the limits of int64_t, which json_int_t is: 1.0 becomes the text of 1. */
    else if (canonical_is_whole(value) && fabs(real) < 9e18)
        buf_add_int(buf, (int64_t)real);
    else /* with 17 digits no two doubles look the same */
        buf_addf(buf, "%.17g", real);
}

static void add_object(struct buf *buf, const json_t *value)
{
    size_t count = 0, size = json_object_size(value);
    const char **keys = mem_new_array(const char *, size + 1);
    const char *key;
    json_t *member;

    json_object_foreach ((json_t *)(uintptr_t)value, key, member)
        keys[count++] = key;
    qsort(keys, count, sizeof(*keys), by_text);
    buf_add_char(buf, '{');
    for (size_t i = 0; i < count; i++) {
        buf_add_char(buf, '"');
        buf_add_json_escaped(buf, keys[i], strlen(keys[i]));
        buf_add_text(buf, "\":");
        add_canonical(buf, json_object_get(value, keys[i]));
        buf_add_char(buf, ',');
    }
    buf_add_char(buf, '}');
    free(keys);
}

static void add_array(struct buf *buf, const json_t *value)
{
    buf_add_char(buf, '[');
    for (size_t i = 0; i < json_array_size(value); i++) {
        add_canonical(buf, json_array_get(value, i));
        buf_add_char(buf, ',');
    }
    buf_add_char(buf, ']');
}

static void add_canonical(struct buf *buf, const json_t *value)
{
    if (json_is_object(value))
        add_object(buf, value);
    else if (json_is_array(value))
        add_array(buf, value);
    else if (json_is_numeric(value))
        add_number(buf, value);
    else
        json_add_text(buf, value);
}

static char *canonical(const json_t *value)
{
    struct buf buf = {0};

    add_canonical(&buf, value);
    return buf_take(&buf);
}

bool canonical_equal(const json_t *a, const json_t *b)
{
    AUTO_FREE char *left = canonical(a);
    AUTO_FREE char *right = canonical(b);

    return strcmp(left, right) == 0;
}

bool canonical_unique(const json_t *array)
{
    size_t count = json_array_size(array);
    char **texts = mem_new_array(char *, count + 1);
    bool unique = true;

    for (size_t i = 0; i < count; i++)
        texts[i] = canonical(json_array_get(array, i));
    qsort(texts, count, sizeof(*texts), by_text);
    /* Each text is freed one step later, when it was compared with its successor. */
    for (size_t i = 0; i < count; i++) {
        unique = unique && (i == 0 || strcmp(texts[i - 1], texts[i]) != 0);
        if (i)
            free(texts[i - 1]);
    }
    if (count)
        free(texts[count - 1]);
    free(texts);
    return unique;
}
