#ifndef RUNNEL_SERVER_PARAMS_PARAMS_H
#define RUNNEL_SERVER_PARAMS_PARAMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"

/*
 * params.h -- reads one key of a request body, and complains as OpenAI's API does.
 *
 * Each function reads object[key]. A key that is absent (or null, where null is allowed) leaves the
 * output untouched and is ERR_OK. A wrong value is ERR_INVALID. The error names the path of the key,
 * such as "tools[0].function.name", and has OpenAI's text and code:
 *
 *   Missing required parameter: 'model'.                                 missing_required_parameter
 *   Invalid type for 'stream': expected a boolean, but got a string instead.           invalid_type
 *   Invalid value: 'bogus'. Supported values are: 'auto' and 'disabled'.              invalid_value
 *   Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.
 *                                                                           decimal_above_max_value
 *   Invalid 'name': string too long. Expected a string with maximum length 256, but got a string
 *   with length 300 instead.                                                string_above_max_length
 *
 * Clients match on these texts and codes, so they change only when OpenAI's do.
 *
 * `path` is the path of the object: "" for the body itself, "tools[0]" for an entry. Lengths are in
 * characters, not bytes; a maximum of 0 means no limit. A required text must not be empty. A real
 * number without a fraction (1.0) is accepted as an integer. A message quotes at most 160 bytes of the
 * client's text, on one line.
 *
 * What is returned is borrowed from the object. All functions are pure, and any thread may call them.
 * The exception is params_set_unknown(), which serve calls once, before the first request.
 */

enum param_need {
    PARAM_OPTIONAL, /* may be absent or null */
    PARAM_REQUIRED,
};

/* The path of a key or an element: "tools", "tools[0]", "tools[0].function". */
struct param_path {
    char text[96];
};
struct param_path param_key(const char *path, const char *key);
struct param_path param_index(const char *path, size_t index);

enum err_code param_string(const json_t *object, const char *path, const char *key,
                           enum param_need need, size_t max_length, const char **ret_text,
                           struct err *err) MUST_CHECK;
/* Checks the length of a text that was read elsewhere. `param` is its full path. */
enum err_code param_length(const char *text, const char *param, size_t max_length,
                           struct err *err) MUST_CHECK;
enum err_code param_bool(const json_t *object, const char *path, const char *key,
                         bool *ret_value, struct err *err) MUST_CHECK;
enum err_code param_int(const json_t *object, const char *path, const char *key, json_int_t min,
                        json_int_t max, json_int_t *ret_value, struct err *err) MUST_CHECK;
enum err_code param_number(const json_t *object, const char *path, const char *key, double min,
                           double max, double *ret_value, struct err *err) MUST_CHECK;
/* One of `words`, a list that ends with NULL. *ret_word points into the list. */
enum err_code param_enum(const json_t *object, const char *path, const char *key,
                         enum param_need need, const char *const *words, const char **ret_word,
                         struct err *err) MUST_CHECK;
/* *ret_object stays NULL when the key is absent or null. */
enum err_code param_object(const json_t *object, const char *path, const char *key,
                           enum param_need need, json_t **ret_object,
                           struct err *err) MUST_CHECK;
enum err_code param_array(const json_t *object, const char *path, const char *key,
                          enum param_need need, size_t max_length, json_t **ret_array,
                          struct err *err) MUST_CHECK;
/* body["metadata"]: at most 16 strings of 512 characters, under keys of 64. Untouched when absent or null. */
enum err_code param_metadata(const json_t *object, json_t **ret_metadata,
                             struct err *err) MUST_CHECK;
/* The same for an object inside the body, at `path`. */
enum err_code param_metadata_at(const json_t *object, const char *path, json_t **ret_metadata,
                                struct err *err) MUST_CHECK;
/* object["attributes"], of files in vector stores: the same limits, and values may also be numbers and booleans. */
enum err_code param_attributes(const json_t *object, const char *path, json_t **ret_attributes,
                               struct err *err) MUST_CHECK;
/* The metadata of an update, in the store's form. Absent leaves *ret_text as it is: nothing changes. Null
 * gives "{}", which clears the metadata. The caller frees. */
enum err_code param_metadata_change(const json_t *object, char **ret_text,
                                    struct err *err) MUST_CHECK;
/* A required name of a function or a format: only letters, digits, "_" and "-". */
enum err_code param_name(const json_t *object, const char *path, const char *key,
                         size_t max_length, const char **ret_name, struct err *err) MUST_CHECK;

/* ---- Complaints, for callers that find the mistake themselves. `param` is the full path ---- */

/* A required key is missing. */
enum err_code param_missing(struct err *err, const char *param);
/* What should be the bytes of a file is no base64, nor a data URL with it. */
enum err_code param_no_base64(struct err *err, const char *param);
/* A list that must not be empty is empty. */
enum err_code param_empty_array(struct err *err, const char *param);
/* `got` is not one of `words`. */
enum err_code param_wrong_word(struct err *err, const char *param, const char *got,
                               const char *const *words);

/* "expected X, but got Y instead". `expected` is X, such as "one of a string or an object". */
enum err_code param_wrong_type(struct err *err, const char *param, const char *expected,
                               const json_t *got);

/* ---- Unknown keys ---- */

/* The setting unknown_parameters: what happens to keys that this server does not know. */
enum param_unknown_policy {
    PARAM_UNKNOWN_IGNORE,
    PARAM_UNKNOWN_REJECT,
};
void params_set_unknown(enum param_unknown_policy policy);

/* Complains about the first key of the object that is not in `known` (ends with NULL), if the setting is
 * `reject`: "Unknown parameter: 'foo'." with "Did you mean" for a near miss. Inside an object named
 * "runnel" it always complains. */
enum err_code param_unknown(const json_t *object, const char *path, const char *const *known,
                            struct err *err) MUST_CHECK;
/* The same whatever the setting is: for objects that only this server defines, and for those where a
 * misspelt key could weaken security. */
enum err_code param_unknown_strict(const json_t *object, const char *path,
                                   const char *const *known, struct err *err) MUST_CHECK;

/* The same for one name that is no key of an object, such as a query parameter. */
enum err_code param_unknown_name(const char *name, const char *const *known,
                                 struct err *err) MUST_CHECK;

/* ---- Pages and ids ---- */

/* Reads limit (0 to 100, default 20), order, after and before of a query. NULL for each that is absent. */
enum err_code param_page_parse(const char *limit, const char *order, const char *after,
                               const char *before, struct page *ret_page,
                               struct err *err) MUST_CHECK;

/* The same for a list whose pages have up to `most` rows, and that many by default. */
enum err_code param_page_parse_of(const char *limit, const char *order, const char *after,
                                  const char *before, int most, struct page *ret_page,
                                  struct err *err) MUST_CHECK;

/* An id from the path or the body must have this server's form: "Invalid 'thread_id': 'abc'. Expected an
 * ID that begins with 'thread'." invalid_value. Whether the object exists is for the store to say. */
enum err_code param_id(const char *id, const char *prefix, const char *param,
                       struct err *err) MUST_CHECK;

/* The id of a thread, written thread_X or conv_X. *ret_id is the store's form, thread_X. */
enum err_code param_thread_id(const char *id, const char *param, char ret_id[ID_LIMIT + 1],
                              struct err *err) MUST_CHECK;
/* The same for the Responses API, whose complaint asks for an id that begins with 'conv'. */
enum err_code param_conversation_id(const char *id, const char *param,
                                    char ret_id[ID_LIMIT + 1], struct err *err) MUST_CHECK;

#endif
