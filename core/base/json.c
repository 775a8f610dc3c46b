/*
 * json.c -- jansson with the mistakes of a caller and the costs of a stranger's text taken care of.
 *
 * There are two kinds of JSON. Text from outside may be anything: its size is checked before jansson sees
 * it (json_scan.c), and a failure is an error for the sender. Values and texts of the server's own are
 * right by construction. A failure there is a bug, and the process ends with a log line, because the
 * alternative is a NULL that surfaces much later as a missing field in a stored row.
 *
 * Reals are written with 15 significant digits, the most that survive a round trip from decimal text. A
 * client that sends 0.7 reads 0.7. What is longer goes around jansson (json_number.h).
 *
 * Text that reaches an object from outside is made UTF-8 where it is put in (json_set_string()). No caller
 * has to prove that a file name or an upstream's error is valid.
 */

#include "core/base/json.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json/json_number.h"
#include "core/base/json/json_read.h"
#include "core/base/json/json_scan.h"
#include "core/base/json/json_write.h"
#include "core/base/log.h"
#include "core/base/mem.h"

/* A bug in this program. The log line says where to look. */
static NO_RETURN void broken(const char *what, const char *why)
{
    log_error("%s: %s", what, why);
    abort();
}

/* jansson's message quotes the text that it failed at, which may hold anything. Its message about
 * a NUL names a flag of its API, which means nothing to a client. */
static char *parse_complaint(const json_error_t *failure)
{
    switch (json_error_code(failure)) {
    case json_error_null_character: return mem_strdup("a string may not hold \\u0000");
    case json_error_null_byte_in_key: return mem_strdup("a key may not hold \\u0000");
    default: return json_clean_utf8(failure->text, strlen(failure->text));
    }
}

static enum err_code parse_failure(struct err *err, const json_error_t *failure)
{
    AUTO_FREE char *what = parse_complaint(failure);

    for (char *c = what; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F)
            *c = ' ';
    return err_set(err, ERR_INVALID, "Invalid JSON at line %d, column %d: %s", failure->line,
                   failure->column, what);
}

/* The tree with its written numbers. */
static enum err_code parse(const char *text, size_t length, size_t flags, json_t **ret_value,
                           struct err *err)
{
    AUTO_BUF marked = {0};
    json_error_t failure;
    json_t *value = json_read(text, length, flags);

    if (value) {
        *ret_value = value;
        return ERR_OK;
    }
    if (json_mark_numbers(text, length, &marked))
        value = json_loadb(marked.data, marked.length, flags | JSON_ALLOW_NUL, &failure);
    else
        value = json_loadb(text, length, flags, &failure);
    if (!value)
        return parse_failure(err, &failure);
    *ret_value = value;
    return ERR_OK;
}

static enum err_code parse_foreign(const char *text, size_t length, size_t flags,
                                   json_t **ret_value, struct err *err)
{
    enum err_code rc = json_scan(text, length, err);

    return rc ? rc : parse(text, length, flags, ret_value, err);
}

enum err_code json_parse(const char *text, size_t length, json_t **ret_value, struct err *err)
{
    enum err_code rc = parse_foreign(text, length, JSON_DECODE_ANY, ret_value, err);

    if (!rc)
        *ret_value = json_round_elsewhere(*ret_value);
    return rc;
}

enum err_code json_parse_exact(const char *text, size_t length, json_t **ret_value,
                               struct err *err)
{
    return parse_foreign(text, length, JSON_DECODE_ANY, ret_value, err);
}

enum err_code json_parse_huge(const char *text, size_t length, json_t **ret_value,
                              struct err *err)
{
    return parse(text, length, 0, ret_value, err);
}

enum err_code json_parse_strict(const char *text, size_t length, json_t **ret_value,
                                struct err *err)
{
    enum err_code rc =
        parse_foreign(text, length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, ret_value, err);

    if (!rc)
        *ret_value = json_round_elsewhere(*ret_value);
    return rc;
}

json_t *json_parse_own(const char *text)
{
    struct err failure;
    json_t *value = NULL;

    if (text && parse(text, strlen(text), JSON_DECODE_ANY, &value, &failure))
        broken("stored JSON does not parse", failure.text);
    return value;
}

json_t *json_build(const char *format, ...)
{
    json_error_t failure;
    json_t *value;
    va_list arguments;

    va_start(arguments, format);
    value = json_vpack_ex(&failure, 0, format, arguments);
    va_end(arguments);
    if (!value)
        broken(format, failure.text);
    return value;
}

static int add_piece(const char *bytes, size_t size, void *buf)
{
    buf_add(buf, bytes, size);
    return 0;
}

static void add_text(struct buf *buf, const json_t *value, size_t flags)
{
    size_t from = buf->length;

    if (json_dump_callback(value, add_piece, buf, flags))
        broken("json_add_text", "value without text");
    json_unmark_numbers(buf, from);
}

void json_add_text(struct buf *buf, const json_t *value)
{
    if (!value)
        buf_add_text(buf, "null");
    else
        json_write(buf, value);
}

static void add_spliced_array(struct buf *buf, const json_t *array,
                              const struct json_splice *splice)
{
    size_t count = json_array_size(array);

    buf_add_char(buf, '[');
    for (size_t i = 0; i <= count; i++) {
        if (i == splice->at) {
            buf_add(buf, splice->text, splice->length);
            buf_add_text(buf, i < count ? "," : "");
        }
        if (i == count)
            break;
        json_add_text(buf, json_array_get(array, i));
        if (i + 1 < count || splice->at == count)
            buf_add_char(buf, ',');
    }
    buf_add_char(buf, ']');
}

void json_add_spliced(struct buf *buf, const json_t *object, const struct json_splice *splice)
{
    const char *key;
    json_t *value;
    bool first = true;

    buf_add_char(buf, '{');
    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        json_auto_t *name = json_string_nocheck(key);

        if (!first)
            buf_add_char(buf, ',');
        first = false;
        json_add_text(buf, name);
        buf_add_char(buf, ':');
        if (strcmp(key, splice->key) == 0)
            add_spliced_array(buf, value, splice);
        else
            json_add_text(buf, value);
    }
    buf_add_char(buf, '}');
}

char *json_text(const json_t *value)
{
    struct buf text = {0};

    json_add_text(&text, value);
    /* The text may be kept for long, so the spare room of the buffer is given back. */
    text.data = mem_resize(text.data, text.length + 1, 1);
    return buf_take(&text);
}

char *json_text_indented(const json_t *value, size_t blanks)
{
    struct buf text = {0};

    add_text(&text, value, (JSON_TEXT_FLAGS & ~(size_t)JSON_COMPACT) | JSON_INDENT(blanks));
    return buf_take(&text);
}

void json_set_own(json_t *object, const char *key, const char *text)
{
    json_set(object, key, text ? json_parse_own(text) : json_null());
}

void json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        broken("json_set", key);
}

void json_set_string(json_t *object, const char *key, const char *text)
{
    json_t *value = text ? json_string(text) : json_null();

    if (!value) {
        AUTO_FREE char *clean = json_clean_utf8(text, strlen(text));

        value = json_string(clean);
    }
    json_set(object, key, value);
}

void json_set_int(json_t *object, const char *key, json_int_t number)
{
    json_set(object, key, json_integer(number));
}

void json_set_bool(json_t *object, const char *key, bool value)
{
    json_set(object, key, json_boolean(value));
}

const char *json_get_string(const json_t *object, const char *key, const char *fallback)
{
    const json_t *value = json_object_get(object, key);

    return json_is_text(value) ? json_string_value(value) : fallback;
}

json_int_t json_get_int(const json_t *object, const char *key, json_int_t fallback)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool json_get_bool(const json_t *object, const char *key, bool fallback)
{
    const json_t *value = json_object_get(object, key);

    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

bool json_list_has(const json_t *list, const char *text)
{
    size_t i;
    json_t *member;

    json_array_foreach (list, i, member) {
        if (json_is_string(member) && strcmp(json_string_value(member), text) == 0)
            return true;
    }
    return false;
}

const char *json_kind(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return json_is_written(value) ? "a decimal" : "a string";
    case JSON_INTEGER: return "an integer";
    case JSON_REAL: return "a decimal";
    case JSON_TRUE:
    case JSON_FALSE: return "a boolean";
    case JSON_NULL: break;
    }
    return "null";
}
