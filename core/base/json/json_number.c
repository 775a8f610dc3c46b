/*
 * json_number.c -- numbers that jansson would refuse or change go around it.
 *
 *   text ─▶ json_mark_numbers() ─▶ jansson ─▶ tree ─▶ jansson ─▶ json_unmark_numbers() ─▶ text
 *           18446744073709551615 becomes "\u000018446744073709551615", and that becomes the number again
 *
 * jansson has no type for such a number, and its own types cannot be extended from outside. A string is
 * what all its functions copy, compare and release correctly. The other way was to keep the text of each
 * schema beside its tree. Then every function that builds an object would have to carry both.
 *
 * jansson itself decides which numbers it changes: a number is read and written, and the texts are
 * compared. Most numbers are so short that they need no trial.
 */

#include "core/base/json/json_number.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"

/* The largest real that survives being written with 15 digits. One more in the last digit overflows. */
#define REAL_LIMIT 1.79769313486231e308

/* Digits that fit 64 bits whatever they are, and digits that a double keeps. */
#define SAFE_INTEGER_DIGITS 18
#define SAFE_REAL_DIGITS    15

#define MARK "\"\\u0000"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* Skips a part of a number that begins with one of `starts`. NULL: it has no digits. */
static const char *skip_part(const char *at, const char *end, const char *starts,
                             const char *signs)
{
    const char *digits;

    if (at == end || !strchr(starts, *at))
        return at;
    at++;
    if (at < end && strchr(signs, *at))
        at++;
    digits = at;
    at = skip_digits(at, end);
    return at == digits ? NULL : at;
}

/* Whether the whole word is a number as JSON defines it. */
static bool is_number(const char *word, size_t length)
{
    const char *end = word + length;
    const char *at = word + (length && *word == '-');
    const char *first = at;

    at = skip_digits(at, end);
    if (at == first || (*first == '0' && at > first + 1))
        return false;
    at = skip_part(at, end, ".", "");
    if (at)
        at = skip_part(at, end, "eE", "+-");
    return at == end;
}

/* ---- Reading ---- */

/* The text may end with the word, and no NUL follows. */
static bool begins_with(const char *word, size_t length, const char *start)
{
    return length >= strlen(start) && memcmp(word, start, strlen(start)) == 0;
}

/* 1.0 and 0.25, but not 0.10 or 0.00001, which jansson writes in other ways. */
static bool is_short_real(const char *word, size_t length, size_t digits)
{
    return digits <= SAFE_REAL_DIGITS && !begins_with(word, length, "0.000") &&
           !begins_with(word, length, "-0.000") &&
           (word[length - 1] != '0' || word[length - 2] == '.');
}

/* Whether a number needs no trial. May be wrong only about what is no number at all. */
static bool is_safe(const char *word, size_t length)
{
    size_t digits = 0, points = 0;

    for (size_t i = 0; i < length; i++) {
        digits += is_digit(word[i]);
        points += word[i] == '.';
        if (!is_digit(word[i]) && word[i] != '.' && (word[i] != '-' || i))
            return false;
    }
    if (points)
        return length > 2 && is_short_real(word, length, digits);
    return digits <= SAFE_INTEGER_DIGITS && !begins_with(word, length, "-0");
}

static bool is_changed(const char *word, size_t length)
{
    char again[64]; /* more than 15 digits, a sign, a point and an exponent need */
    json_auto_t *value = NULL;

    if (is_safe(word, length) || !is_number(word, length))
        return false;
    value = json_loadb(word, length, JSON_DECODE_ANY, NULL);
    return !value || json_dumpb(value, again, sizeof(again), JSON_TEXT_FLAGS) != length ||
           memcmp(again, word, length) != 0;
}

static size_t word_end(const char *text, size_t length, size_t at)
{
    while (at < length && text[at] && !strchr(" \t\r\n,:[]{}\"", text[at]))
        at++;
    return at;
}

/* The place behind the string whose first byte is at `at`. *ret_nul: it holds \u0000. */
static size_t string_end(const char *text, size_t length, size_t at, bool *ret_nul)
{
    for (; at < length && text[at] != '"'; at++) {
        if (text[at] != '\\')
            continue;
        *ret_nul = *ret_nul || (length - at >= 6 && memcmp(text + at, "\\u0000", 6) == 0);
        at++;
    }
    return at < length ? at + 1 : length;
}

bool json_mark_numbers(const char *text, size_t length, struct buf *marked)
{
    size_t copied = 0;
    bool has_nul = false;

    for (size_t i = 0; i < length;) {
        size_t end;

        if (text[i] == '"') {
            i = string_end(text, length, i + 1, &has_nul);
            continue;
        }
        if (text[i] != '-' && !is_digit(text[i])) {
            i++;
            continue;
        }
        end = word_end(text, length, i);
        if (is_changed(text + i, end - i)) {
            buf_add(marked, text + copied, i - copied);
            buf_addf(marked, MARK "%.*s\"", (int)(end - i), text + i);
            copied = end;
        }
        i = end;
    }
    /* jansson refuses \u0000 unless a flag allows it, as it does for the marks. */
    if (!copied || has_nul) {
        buf_clear(marked);
        return false;
    }
    buf_add(marked, text + copied, length - copied);
    return true;
}

/* ---- In the tree ---- */

bool json_is_written(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) && !*json_string_value(value);
}

bool json_is_text(const json_t *value)
{
    return json_is_string(value) && !json_is_written(value);
}

bool json_is_numeric(const json_t *value)
{
    return json_is_number(value) || json_is_written(value);
}

double json_double(const json_t *value)
{
    double real;

    if (!json_is_written(value))
        return json_number_value(value);
    real = strtod(json_string_value(value) + 1, NULL);
    return fabs(real) > REAL_LIMIT ? copysign(REAL_LIMIT, real) : real;
}

static json_t *rounded(const json_t *written)
{
    const char *text = json_string_value(written) + 1;
    json_int_t number;
    char *end;

    errno = 0;
    number = strtoll(text, &end, 10);
    return *end || errno ? json_real(json_double(written)) : json_integer(number);
}

/* What is passed on as it came, by the names that OpenAI's APIs and MCP give it. */
static bool is_passed_on(const char *key)
{
    static const char *const keys[] = {"arguments",     "parameters",       "schema",
                                       "inputSchema",   "input_schema",     "outputSchema",
                                       "output_schema", "structuredContent"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

enum rounding {
    ROUND_ALL,
    ROUND_ELSEWHERE,
};

static void round_inside(json_t *value, enum rounding rounding)
{
    const char *key;
    json_t *member;
    size_t i;

    json_object_foreach (value, key, member) {
        if (json_is_written(member))
            json_object_set_new(value, key, rounded(member));
        else if (rounding == ROUND_ALL || !is_passed_on(key))
            round_inside(member, rounding);
    }
    json_array_foreach (value, i, member) {
        if (json_is_written(member))
            json_array_set_new(value, i, rounded(member));
        else
            round_inside(member, rounding);
    }
}

static json_t *round_tree(json_t *value, enum rounding rounding)
{
    json_t *number;

    if (!json_is_written(value)) {
        round_inside(value, rounding);
        return value;
    }
    number = rounded(value);
    json_decref(value);
    return number;
}

json_t *json_round(json_t *value)
{
    return round_tree(value, ROUND_ALL);
}

json_t *json_round_elsewhere(json_t *value)
{
    return round_tree(value, ROUND_ELSEWHERE);
}

/* ---- Writing ---- */

void json_unmark_numbers(struct buf *buf, size_t from)
{
    const char *end = buf->data + buf->length, *at = buf->data + from, *mark;
    AUTO_BUF text = {0};

    while ((mark = memmem(at, (size_t)(end - at), MARK, strlen(MARK)))) {
        const char *number = mark + strlen(MARK);
        const char *quote = memchr(number, '"', (size_t)(end - number));
        size_t length = (size_t)(quote - number);

        buf_add(&text, at, (size_t)(mark - at));
        /* Never let anything else out of its quotes. */
        assert(is_number(number, length));
        buf_add(&text, number, length);
        at = quote + 1;
    }
    if (at == buf->data + from)
        return;
    buf_add(&text, at, (size_t)(end - at));
    buf->length = from;
    buf_add(buf, text.data, text.length);
}
