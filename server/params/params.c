#include "server/params/params.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/edit/strategies.h"
#include "server/complaint.h"

#define PAGE_LIMIT_DEFAULT 20
#define PAGE_LIMIT_MAX     100

#define METADATA_PAIRS ((size_t)16)
#define METADATA_KEY   ((size_t)64)
#define METADATA_VALUE ((size_t)512)

#define NAME_PATTERN "^[a-zA-Z0-9_-]+$"

/*
 * The alphabet of request reading: one function a JSON type, one function a complaint.
 *
 * A request is read as a JSON tree, key by key, and not bound to a struct by a schema. There were two
 * other ways. A validator driven by openapi.yaml would need no code for each object, but its messages
 * would be its own, and clients match on OpenAI's: text, code and param. Generated decoders would move
 * the texts into the generator. So each message is written once, here, and the objects in the other
 * files of this room are lists of calls.
 *
 * The order of those calls is part of the API. A body with two mistakes gets the complaint that
 * OpenAI's server would give first (response_params.c has the order).
 *
 * All of a message comes from a client: names of keys, values, ids. Three rules keep that harmless.
 * show() cuts at a character boundary and replaces control characters, so that a message stays one
 * line of the log. A path is cut the same way, so that it fits struct err. What reaches the database
 * as an id has passed is_id().
 *
 * Text arrives as valid UTF-8 without NUL: json_parse() refuses everything else. Counting characters
 * is therefore counting lead bytes.
 */

/* No known key is longer than this, so nothing longer is compared with the known ones. */
#define WORD_LIMIT ((size_t)40)

/* Written once before the first request, and only read after that: it needs no lock. */
static enum param_unknown_policy unknown_policy = PARAM_UNKNOWN_IGNORE;

void params_set_unknown(enum param_unknown_policy policy)
{
    unknown_policy = policy;
}

/* ---- Quoting the client ---- */

#define SHOWN_LIMIT ((size_t)160) /* bytes; of a longer text the beginning is quoted */

struct shown {
    char text[SHOWN_LIMIT + 4];
};

static struct shown show(const char *text)
{
    struct shown shown;
    size_t end = utf8_fit(text, SHOWN_LIMIT);

    (void)snprintf(shown.text, sizeof(shown.text), "%.*s%s", (int)end, text,
                   text[end] ? "..." : "");
    for (char *c = shown.text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F)
            *c = ' ';
    return shown;
}

/* As in JSON, without ".0": OpenAI writes "Expected a value <= 2", also for decimals. */
static struct shown show_number(double number)
{
    struct shown shown;

    (void)snprintf(shown.text, sizeof(shown.text), "%.15g", number);
    return shown;
}

/* ---- Paths ---- */

/* Paths live on the stack, because most are built for a complaint that is never made. One that does
 * not fit is cut between characters: it only goes into a message. */
static struct param_path path_of(const char *before, const char *between, const char *after)
{
    const char *const parts[] = {before, between, after};
    struct param_path path;
    size_t length = 0;

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        size_t room = sizeof(path.text) - 1 - length;
        size_t fits = utf8_fit(parts[i], room);

        memcpy(path.text + length, parts[i], fits);
        length += fits;
        if (parts[i][fits])
            break;
    }
    path.text[length] = '\0';
    return path;
}

struct param_path param_key(const char *path, const char *key)
{
    return path_of(path, *path ? "." : "", key);
}

struct param_path param_index(const char *path, size_t index)
{
    char suffix[32];

    (void)snprintf(suffix, sizeof(suffix), "[%zu]", index);
    return path_of(path, "", suffix);
}

/* ---- Complaints ---- */

enum err_code param_wrong_type(struct err *err, const char *param, const char *expected,
                               const json_t *got)
{
    return err_invalid(err, "invalid_type", param,
                       "Invalid type for '%s': expected %s, but got %s instead.", param,
                       expected, json_kind(got));
}

enum err_code param_missing(struct err *err, const char *param)
{
    return err_invalid(err, "missing_required_parameter", param,
                       "Missing required parameter: '%s'.", param);
}

static enum err_code too_long(struct err *err, const char *param, size_t maximum, size_t length)
{
    return err_invalid(err, "string_above_max_length", param,
                       "Invalid '%s': string too long. Expected a string with maximum length "
                       "%zu, but got a string with length %zu instead.",
                       param, maximum, length);
}

static enum err_code empty_string(struct err *err, const char *param)
{
    return err_invalid(err, "empty_string", param,
                       "Invalid '%s': empty string. Expected a string with minimum length 1, "
                       "but got an empty string instead.",
                       param);
}

enum err_code param_no_base64(struct err *err, const char *param)
{
    return err_invalid(
        err, "invalid_value", param,
        "Invalid '%s'. Expected base64-encoded content, or a base64-encoded data URL "
        "(e.g. 'data:application/pdf;base64,cGRmIGJ5dGVzIGhlcmU=').",
        param);
}

enum err_code param_empty_array(struct err *err, const char *param)
{
    return err_invalid(err, "empty_array", param,
                       "Invalid '%s': empty array. Expected an array with minimum length 1, "
                       "but got an empty array instead.",
                       param);
}

/* 'a', 'b', and 'c', with `conjunction` before the last: OpenAI's list, with the comma before "and". */
static void list_words(struct buf *buf, const char *const *words, const char *conjunction)
{
    size_t count = 0;

    while (words[count])
        count++;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && count > 2)
            buf_add_char(buf, ',');
        if (i > 0)
            buf_add_char(buf, ' ');
        if (i > 0 && i + 1 == count)
            buf_addf(buf, "%s ", conjunction);
        buf_addf(buf, "'%s'", words[i]);
    }
}

enum err_code param_wrong_word(struct err *err, const char *param, const char *got,
                               const char *const *words)
{
    AUTO_BUF list = {0};

    list_words(&list, words, "and");
    return err_invalid(err, "invalid_value", param,
                       "Invalid value: '%s'. Supported values are: %s.", show(got).text,
                       list.data);
}

enum number_kind {
    INTEGER,
    DECIMAL,
};

enum bound {
    BELOW,
    ABOVE,
};

static enum err_code out_of_range(struct err *err, const char *param, enum number_kind kind,
                                  enum bound bound, double limit, double got)
{
    /* clang-format off */
    static const char *const codes[2][2] = {
        [INTEGER] = {[BELOW] = "integer_below_min_value", [ABOVE] = "integer_above_max_value"},
        [DECIMAL] = {[BELOW] = "decimal_below_min_value", [ABOVE] = "decimal_above_max_value"},
    };
    /* clang-format on */

    return err_invalid(err, codes[kind][bound], param,
                       "Invalid '%s': %s %s value. Expected a value %s %s, but got %s instead.",
                       param, kind == INTEGER ? "integer" : "decimal",
                       bound == ABOVE ? "above maximum" : "below minimum",
                       bound == ABOVE ? "<=" : ">=", show_number(limit).text,
                       show_number(got).text);
}

/* ---- Reading a key ---- */

/* object[key], or NULL when there is nothing to check. Then *ret_rc says whether that is an error. A
 * required key that is null comes back as it is: its type is wrong, and the caller says so. */
static json_t *find_value(const json_t *object, const char *param, const char *key,
                          enum param_need need, enum err_code *ret_rc, struct err *err)
{
    json_t *value = json_object_get(object, key);

    *ret_rc = ERR_OK;
    if (!value && need == PARAM_REQUIRED)
        *ret_rc = param_missing(err, param);
    if (need == PARAM_OPTIONAL && json_is_null(value))
        return NULL;
    return value;
}

enum err_code param_string(const json_t *object, const char *path, const char *key,
                           enum param_need need, size_t max_length, const char **ret_text,
                           struct err *err)
{
    struct param_path param = param_key(path, key);
    enum err_code rc;
    const json_t *value = find_value(object, param.text, key, need, &rc, err);
    const char *text;

    if (!value)
        return rc;
    if (!json_is_string(value))
        return param_wrong_type(err, param.text, "a string", value);
    text = json_string_value(value);
    if (need == PARAM_REQUIRED && !*text)
        return empty_string(err, param.text);
    /* A text has at least as many bytes as characters, so only a text with too many bytes is counted.
     * Input may be 10 MB, and this runs for every text of it. */
    if (max_length && json_string_length(value) > max_length &&
        utf8_count(text, strlen(text)) > max_length)
        return too_long(err, param.text, max_length, utf8_count(text, strlen(text)));
    *ret_text = text;
    return ERR_OK;
}

enum err_code param_length(const char *text, const char *param, size_t max_length,
                           struct err *err)
{
    size_t length = utf8_count(text, strlen(text));

    return length > max_length ? too_long(err, param, max_length, length) : ERR_OK;
}

enum err_code param_name(const json_t *object, const char *path, const char *key,
                         size_t max_length, const char **ret_name, struct err *err)
{
    struct param_path param = param_key(path, key);
    const char *name = NULL;
    enum err_code rc = param_string(object, path, key, PARAM_REQUIRED, max_length, &name, err);

    if (rc)
        return rc;
    for (const char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *c))
            return err_invalid(err, "invalid_value", param.text,
                               "Invalid '%s': string does not match pattern. Expected a string "
                               "that matches the pattern '" NAME_PATTERN "'.",
                               param.text);
    *ret_name = name;
    return ERR_OK;
}

enum err_code param_bool(const json_t *object, const char *path, const char *key,
                         bool *ret_value, struct err *err)
{
    struct param_path param = param_key(path, key);
    const json_t *value = json_object_get(object, key);

    if (json_absent(value))
        return ERR_OK;
    if (!json_is_boolean(value))
        return param_wrong_type(err, param.text, "a boolean", value);
    *ret_value = json_is_true(value);
    return ERR_OK;
}

/* JSON has no integers of its own: some clients write 1.0. */
static bool is_whole(const json_t *value)
{
    double whole;

    if (json_is_integer(value))
        return true;
    return json_is_real(value) && modf(json_real_value(value), &whole) == 0.0;
}

enum err_code param_int(const json_t *object, const char *path, const char *key, json_int_t min,
                        json_int_t max, json_int_t *ret_value, struct err *err)
{
    struct param_path param = param_key(path, key);
    const json_t *value = json_object_get(object, key);
    double number;

    if (json_absent(value))
        return ERR_OK;
    if (!is_whole(value))
        return param_wrong_type(err, param.text, "an integer", value);
    number = json_number_value(value);
    /* An integer is compared as one: as a double, one beyond 2^53 could pass its limit. */
    if (json_is_integer(value) ? json_integer_value(value) < min : number < (double)min)
        return out_of_range(err, param.text, INTEGER, BELOW, (double)min, number);
    /* 0x1p63 as well: (double)INT64_MAX rounds up to it, and the cast below would overflow. */
    if (json_is_integer(value) ? json_integer_value(value) > max
                               : number > (double)max || number >= 0x1p63)
        return out_of_range(err, param.text, INTEGER, ABOVE, (double)max, number);
    *ret_value = json_is_integer(value) ? json_integer_value(value) : (json_int_t)number;
    return ERR_OK;
}

enum err_code param_number(const json_t *object, const char *path, const char *key, double min,
                           double max, double *ret_value, struct err *err)
{
    struct param_path param = param_key(path, key);
    const json_t *value = json_object_get(object, key);
    double number;

    if (json_absent(value))
        return ERR_OK;
    if (!json_is_number(value))
        return param_wrong_type(err, param.text, "a decimal", value);
    number = json_number_value(value);
    if (number < min)
        return out_of_range(err, param.text, DECIMAL, BELOW, min, number);
    if (number > max)
        return out_of_range(err, param.text, DECIMAL, ABOVE, max, number);
    *ret_value = number;
    return ERR_OK;
}

/* Where a keyword is expected, OpenAI lists the keywords instead of saying "a string". */
static enum err_code wrong_type_of_word(struct err *err, const char *param,
                                        const char *const *words, const json_t *got)
{
    AUTO_BUF expected = {0};

    buf_add_text(&expected, "one of ");
    list_words(&expected, words, "or");
    return param_wrong_type(err, param, expected.data, got);
}

enum err_code param_enum(const json_t *object, const char *path, const char *key,
                         enum param_need need, const char *const *words, const char **ret_word,
                         struct err *err)
{
    struct param_path param = param_key(path, key);
    enum err_code rc;
    const json_t *value = find_value(object, param.text, key, need, &rc, err);

    if (!value)
        return rc;
    if (!json_is_string(value))
        return wrong_type_of_word(err, param.text, words, value);
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(words[i], json_string_value(value)) == 0) {
            *ret_word = words[i];
            return ERR_OK;
        }
    }
    return param_wrong_word(err, param.text, json_string_value(value), words);
}

enum err_code param_object(const json_t *object, const char *path, const char *key,
                           enum param_need need, json_t **ret_object, struct err *err)
{
    struct param_path param = param_key(path, key);
    enum err_code rc;
    json_t *value = find_value(object, param.text, key, need, &rc, err);

    if (!value)
        return rc;
    if (!json_is_object(value))
        return param_wrong_type(err, param.text, "an object", value);
    *ret_object = value;
    return ERR_OK;
}

enum err_code param_array(const json_t *object, const char *path, const char *key,
                          enum param_need need, size_t max_length, json_t **ret_array,
                          struct err *err)
{
    struct param_path param = param_key(path, key);
    enum err_code rc;
    json_t *value = find_value(object, param.text, key, need, &rc, err);

    if (!value)
        return rc;
    if (!json_is_array(value))
        return param_wrong_type(err, param.text, "an array", value);
    if (max_length && json_array_size(value) > max_length)
        return err_invalid(
            err, "array_above_max_length", param.text,
            "Invalid '%s': array too long. Expected an array with maximum length "
            "%zu, but got an array with length %zu instead.",
            param.text, max_length, json_array_size(value));
    *ret_array = value;
    return ERR_OK;
}

/* ---- metadata ---- */

/* What may stand under a key. */
enum property_values { PROPERTY_TEXTS, PROPERTY_SCALARS };

static enum err_code property_check(const char *path, const char *key, const json_t *value,
                                    enum property_values values, struct err *err)
{
    struct param_path param = param_key(path, show(key).text);
    size_t length = utf8_count(key, strlen(key));

    /* The path of a pair ends with its key, so a key that is too long is reported for the object. */
    if (length > METADATA_KEY)
        return err_invalid(err, "string_above_max_length", path,
                           "Invalid property name in '%s': string too long. Expected a string "
                           "with maximum length %zu, but got a string with length %zu instead.",
                           path, METADATA_KEY, length);
    if (values == PROPERTY_SCALARS && (json_is_number(value) || json_is_boolean(value)))
        return ERR_OK;
    if (!json_is_string(value))
        return param_wrong_type(
            err, param.text,
            values == PROPERTY_TEXTS ? "a string" : "one of a string, a number or a boolean",
            value);
    length = utf8_count(json_string_value(value), json_string_length(value));
    return length > METADATA_VALUE ? too_long(err, param.text, METADATA_VALUE, length) : ERR_OK;
}

static enum err_code properties_read(const json_t *object, const char *path, const char *name,
                                     enum property_values values, json_t **ret_object,
                                     struct err *err)
{
    struct param_path param = param_key(path, name);
    json_t *found = NULL;
    const char *key;
    json_t *value;
    enum err_code rc = param_object(object, path, name, PARAM_OPTIONAL, &found, err);

    if (rc || !found)
        return rc;
    if (json_object_size(found) > METADATA_PAIRS)
        return err_invalid(err, "object_above_max_properties", param.text,
                           "Invalid '%s': too many properties. Expected an object with at most "
                           "%zu properties, but got an object with %zu properties instead.",
                           param.text, METADATA_PAIRS, json_object_size(found));
    json_object_foreach (found, key, value) {
        rc = property_check(param.text, key, value, values, err);
        if (rc)
            return rc;
    }
    *ret_object = found;
    return ERR_OK;
}

enum err_code param_attributes(const json_t *object, const char *path, json_t **ret_attributes,
                               struct err *err)
{
    return properties_read(object, path, "attributes", PROPERTY_SCALARS, ret_attributes, err);
}

enum err_code param_metadata_at(const json_t *object, const char *path, json_t **ret_metadata,
                                struct err *err)
{
    return properties_read(object, path, "metadata", PROPERTY_TEXTS, ret_metadata, err);
}

enum err_code param_metadata(const json_t *object, json_t **ret_metadata, struct err *err)
{
    return param_metadata_at(object, "", ret_metadata, err);
}

enum err_code param_metadata_change(const json_t *object, char **ret_text, struct err *err)
{
    json_t *metadata = NULL;
    enum err_code rc = param_metadata(object, &metadata, err);

    if (rc || !json_object_get(object, "metadata"))
        return rc;
    *ret_text = metadata ? json_text(metadata) : mem_strdup("{}");
    return ERR_OK;
}

/* ---- Unknown keys ---- */

/* The known key that was probably meant: at most two edits away. Three would find a "neighbour" for
 * almost every short key. */
static const char *near_miss(const char *key, const char *const *known)
{
    const char *nearest = NULL;
    size_t least = 3;
    int64_t work = 0; /* which is little: */

    if (strlen(key) > WORD_LIMIT)
        return NULL;
    for (; *known; known++) {
        size_t distance = edit_distance((struct edit_span){key, strlen(key)},
                                        (struct edit_span){*known, strlen(*known)}, &work);

        if (distance < least) {
            least = distance;
            nearest = *known;
        }
    }
    return nearest;
}

static enum err_code unknown(struct err *err, const char *path, const char *key,
                             const char *const *known)
{
    struct param_path param = param_key(path, show(key).text);
    const char *nearest = near_miss(key, known);

    if (nearest)
        return err_invalid(err, "unknown_parameter", param.text,
                           "Unknown parameter: '%s'. Did you mean '%s'?", param.text,
                           param_key(path, nearest).text);
    return err_invalid(err, "unknown_parameter", param.text, "Unknown parameter: '%s'.",
                       param.text);
}

/* Whether a path is at or below an object "runnel". Its members loosen or tighten security, so a
 * misspelt one must never be ignored. */
static bool is_extension(const char *path)
{
    const char *last = strrchr(path, '.');

    return strcmp(path, "runnel") == 0 || strncmp(path, "runnel.", 7) == 0 ||
           strstr(path, ".runnel.") || (last && strcmp(last, ".runnel") == 0);
}

static bool contains(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

enum err_code param_unknown(const json_t *object, const char *path, const char *const *known,
                            struct err *err)
{
    if (unknown_policy == PARAM_UNKNOWN_IGNORE && !is_extension(path))
        return ERR_OK;
    return param_unknown_strict(object, path, known, err);
}

enum err_code param_unknown_strict(const json_t *object, const char *path,
                                   const char *const *known, struct err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        if (!contains(known, key))
            return unknown(err, path, key, known);
    }
    return ERR_OK;
}

enum err_code param_unknown_name(const char *name, const char *const *known, struct err *err)
{
    return contains(known, name) ? ERR_OK : unknown(err, "", name, known);
}

/* ---- Ids ---- */

/* The characters of all ids. Anything else is refused before it reaches the store. */
static bool is_id(const char *id)
{
    if (!*id)
        return false;
    for (; *id; id++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *id))
            return false;
    return true;
}

enum err_code param_id(const char *id, const char *prefix, const char *param, struct err *err)
{
    size_t word = strcspn(prefix, "_-"); /* OpenAI names the prefix without its separator */
    size_t length = strlen(id);

    if (length > ID_LIMIT)
        return too_long(err, param, ID_LIMIT, length);
    if (is_id(id) && id_has_prefix(id, prefix))
        return ERR_OK;
    return err_invalid(err, "invalid_value", param,
                       "Invalid '%s': '%s'. Expected an ID that begins with '%.*s'.", param,
                       show(id).text, (int)word, prefix);
}

/* A thread and a conversation are one row (GLOSSARY.md). Both APIs accept both prefixes; a complaint
 * names that of the API, `own`. */
static enum err_code one_thread(const char *id, const char *own, const char *other,
                                const char *param, char ret_id[ID_LIMIT + 1], struct err *err)
{
    const char *prefix = id_has_prefix(id, other) ? other : own;
    enum err_code rc = param_id(id, prefix, param, err);

    if (rc)
        return rc;
    (void)snprintf(ret_id, ID_LIMIT + 1, "thread_%s", id + strlen(prefix));
    return ERR_OK;
}

enum err_code param_thread_id(const char *id, const char *param, char ret_id[ID_LIMIT + 1],
                              struct err *err)
{
    return one_thread(id, "thread_", "conv_", param, ret_id, err);
}

enum err_code param_conversation_id(const char *id, const char *param,
                                    char ret_id[ID_LIMIT + 1], struct err *err)
{
    return one_thread(id, "conv_", "thread_", param, ret_id, err);
}

/* ---- Pages ---- */

/* A query parameter is text, so the type is checked here. strtol() would also accept leading blanks and
 * a plus, which is a blank that the client forgot to escape. */
static enum err_code page_limit(const char *text, int most, struct page *page, struct err *err)
{
    char *end;
    long limit;

    if (!text)
        return ERR_OK;
    errno = 0;
    limit = strtol(text, &end, 10);
    if (end == text || *end || strchr(" \t\n\v\f\r+", *text))
        return err_invalid(err, "invalid_type", "limit",
                           "Invalid type for 'limit': expected an integer, but got a string "
                           "instead.");
    if (limit < 0)
        return out_of_range(err, "limit", INTEGER, BELOW, 0, (double)limit);
    if (limit > most)
        return out_of_range(err, "limit", INTEGER, ABOVE, most, (double)limit);
    page->limit = (int)limit;
    return ERR_OK;
}

static enum err_code page_order(const char *text, struct page *page, struct err *err)
{
    static const char *const words[] = {"asc", "desc", NULL};

    if (!text)
        return ERR_OK;
    if (!contains(words, text))
        return param_wrong_word(err, "order", text, words);
    page->ascending = strcmp(text, "asc") == 0;
    return ERR_OK;
}

/* Only the form of the id: the store complains about an id that is not in the list. */
static enum err_code page_cursor(const char *text, const char *param, char ret_id[ID_LIMIT + 1],
                                 struct err *err)
{
    size_t length = text ? strlen(text) : 0;

    if (!length)
        return ERR_OK;
    if (length > ID_LIMIT)
        return too_long(err, param, ID_LIMIT, length);
    if (!is_id(text))
        return err_invalid(err, "invalid_value", param,
                           "Invalid '%s': '%s'. Expected an ID of the list.", param,
                           show(text).text);
    memcpy(ret_id, text, length + 1);
    return ERR_OK;
}

static enum err_code parse_page(const char *limit, const char *order, const char *after,
                                const char *before, int usual, int most, struct page *ret_page,
                                struct err *err)
{
    struct page page = {.limit = usual};
    enum err_code rc;

    rc = page_limit(limit, most, &page, err);
    if (!rc)
        rc = page_order(order, &page, err);
    if (!rc)
        rc = page_cursor(after, "after", page.after, err);
    if (!rc)
        rc = page_cursor(before, "before", page.before, err);
    if (!rc)
        *ret_page = page;
    return rc;
}

enum err_code param_page_parse(const char *limit, const char *order, const char *after,
                               const char *before, struct page *ret_page, struct err *err)
{
    return parse_page(limit, order, after, before, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, ret_page,
                      err);
}

enum err_code param_page_parse_of(const char *limit, const char *order, const char *after,
                                  const char *before, int most, struct page *ret_page,
                                  struct err *err)
{
    return parse_page(limit, order, after, before, most, most, ret_page, err);
}
