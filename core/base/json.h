#ifndef RUNNEL_CORE_BASE_JSON_H
#define RUNNEL_CORE_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * json.h -- what this program adds to jansson.
 *
 * JSON is built with json_build() and read with json_unpack_ex() or the getters
 * below; it is never put together from strings, but for the event frames of the
 * token path. Values are counted references: "o" in a format gives one away,
 * "O" keeps one. A local that owns a value is a json_auto_t.
 *
 * A tree belongs to one thread. The counts of jansson are atomic, but they order nothing between
 * threads. A tree is handed to another thread whole, or copied with json_deep_copy().
 */

#define JSON_DEPTH_LIMIT ((size_t)64) /* nesting that is accepted from outside */
#define JSON_TOKEN_LIMIT \
    ((size_t)200000) /* values and keys: jansson needs up to 75 bytes for one */

/* Parses text from outside. Depth and number of values are checked before jansson
 * sees the text. Duplicate keys: the last one wins, as with other servers. \u0000 is refused in
 * strings and keys, because it ends a text in C and PostgreSQL cannot store it. Numbers may have any
 * size: in schemas, arguments and results they keep their text (json_number.h), elsewhere integers
 * outside 64 bits become reals. On failure ERR_INVALID and a text that says where, or
 * ERR_TOO_LARGE. The caller owns *ret_value. */
enum err_code json_parse(const char *text, size_t length, json_t **ret_value,
                         struct err *err) MUST_CHECK;

/* As json_parse(), but every number keeps its text: for arguments and results alone. */
enum err_code json_parse_exact(const char *text, size_t length, json_t **ret_value,
                               struct err *err) MUST_CHECK;

/* As json_parse_exact(), without the limits: for a file whose length is limited. */
enum err_code json_parse_huge(const char *text, size_t length, json_t **ret_value,
                              struct err *err) MUST_CHECK;

/* As json_parse(), but two keys of one name in an object are ERR_INVALID: for requests, where a
 * duplicate could mean either value. */
enum err_code json_parse_strict(const char *text, size_t length, json_t **ret_value,
                                struct err *err) MUST_CHECK;

/* Parses text that this server has written (from the store): a failure is a bug, and asserted.
 * Numbers keep their text: what had to be rounded was so before it was written. NULL gives NULL. */
json_t *json_parse_own(const char *text);

/* json_pack() that does not fail. json_pack() returns NULL when memory runs out, and for a wrong
 * format or text that is not UTF-8. No client can cause that: text from outside is checked where it
 * comes in. */
json_t *json_build(const char *format, ...) MUST_CHECK;

/* The type of a value, for a sentence: "an object", "a decimal" ... */
const char *json_kind(const json_t *value);

/* Compact text of a value, which the caller frees. Keys keep their order. NULL gives "null". */
char *json_text(const json_t *value);
void json_add_text(struct buf *buf, const json_t *value);

/* Elements of an array that are text already, with commas between them: they stand in object[key] before the element
 * `at`. Borrowed. */
struct json_splice {
    const char *key;
    size_t at;
    const char *text;
    size_t length; /* not 0 */
};
/* Adds the text of an object with these elements in it. */
void json_add_spliced(struct buf *buf, const json_t *object, const struct json_splice *splice);

/* Text for a person or a model, a line for each value. The caller frees. */
char *json_text_indented(const json_t *value, size_t blanks);

/* A value whose text is well-formed JSON already: sets object[key] to the parsed `text`,
 * or to null when text is NULL. */
void json_set_own(json_t *object, const char *key, const char *text);

/* object[key] = value; takes the reference. */
void json_set(json_t *object, const char *key, json_t *value);
/* NULL sets null. Text that is not UTF-8 is cleaned, so that a stranger's bytes never end the
 * process. */
void json_set_string(json_t *object, const char *key, const char *text);
void json_set_int(json_t *object, const char *key, json_int_t number);
void json_set_bool(json_t *object, const char *key, bool value);

/* The value of a key, or the fallback when it is absent, null or of another type.
 * Strings are borrowed from the object. */
const char *json_get_string(const json_t *object, const char *key, const char *fallback);
json_int_t json_get_int(const json_t *object, const char *key, json_int_t fallback);
bool json_get_bool(const json_t *object, const char *key, bool fallback);

/* True if the list contains this text. False for anything that is not a list. */
bool json_list_has(const json_t *list, const char *text);

/* True for NULL and JSON null alike. */
static inline bool json_absent(const json_t *value)
{
    return !value || json_is_null(value);
}

/* A copy of `length` bytes in which everything that is not valid UTF-8 became U+FFFD,
 * and NUL too: jansson and PostgreSQL refuse both. The caller frees. */
char *json_clean_utf8(const char *text, size_t length);

/* True if all of it is valid UTF-8 without NUL. */
bool json_valid_utf8(const char *text, size_t length);

#endif
