#ifndef RUNNEL_SERVER_PARAMS_PARAMS_H
#define RUNNEL_SERVER_PARAMS_PARAMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"

/*
 * params.h -- reading request bodies with OpenAI's exact complaints.
 *
 * Each function looks at object[key]. Absent or null (where null is allowed) leaves the output
 * untouched and is fine; a wrong value is ERR_INVALID with param set to the path, e.g.
 * "tools[0].function.name", and OpenAI's text and code:
 *
 *   Missing required parameter: 'model'.                                 missing_required_parameter
 *   Invalid type for 'stream': expected a boolean, but got a string instead.           invalid_type
 *   Invalid value: 'bogus'. Supported values are: 'auto' and 'disabled'.              invalid_value
 *   Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.
 *                                                                           decimal_above_max_value
 *   Invalid 'name': string too long. Expected a string with maximum length 256, but got a string
 *   with length 300 instead.                                                string_above_max_length
 *   ... and so on for the rest of openai's words.
 *
 * `path` is what stands before the key: "" at the top, "tools[0]" inside. Lengths are counted in
 * characters, not bytes; a maximum of 0 is none. Text that must be there may not be empty. A real
 * that is a whole number (1.0) is an integer too. What came from the client is shown shortened
 * and on one line.
 *
 * Pure functions but for params_set_unknown(), which is called once, before the first request.
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
/* Of a text that is at hand. */
enum err_code param_length(const char *text, const char *param, size_t max_length,
                           struct err *err) MUST_CHECK;
enum err_code param_bool(const json_t *object, const char *path, const char *key,
                         bool *ret_value, struct err *err) MUST_CHECK;
enum err_code param_int(const json_t *object, const char *path, const char *key, json_int_t min,
                        json_int_t max, json_int_t *ret_value, struct err *err) MUST_CHECK;
enum err_code param_number(const json_t *object, const char *path, const char *key, double min,
                           double max, double *ret_value, struct err *err) MUST_CHECK;
/* One of `words` (ends with NULL). */
enum err_code param_enum(const json_t *object, const char *path, const char *key,
                         enum param_need need, const char *const *words, const char **ret_word,
                         struct err *err) MUST_CHECK;
/* Borrowed; NULL when absent. */
enum err_code param_object(const json_t *object, const char *path, const char *key,
                           enum param_need need, json_t **ret_object,
                           struct err *err) MUST_CHECK;
enum err_code param_array(const json_t *object, const char *path, const char *key,
                          enum param_need need, size_t max_length, json_t **ret_array,
                          struct err *err) MUST_CHECK;
/* metadata: at most 16 string values of 512 with keys of 64. *ret_metadata borrowed, NULL when absent or null. */
enum err_code param_metadata(const json_t *object, json_t **ret_metadata,
                             struct err *err) MUST_CHECK;
/* The same inside another object. */
enum err_code param_metadata_at(const json_t *object, const char *path, json_t **ret_metadata,
                                struct err *err) MUST_CHECK;
/* metadata of a change, as the store takes it: NULL (nothing to change) when absent, "{}" when
 * null, which clears it. The caller frees. */
enum err_code param_metadata_change(const json_t *object, char **ret_text,
                                    struct err *err) MUST_CHECK;
/* Letters, digits, "_" and "-" only, as names of functions and formats must be. */
enum err_code param_name(const json_t *object, const char *path, const char *key,
                         size_t max_length, const char **ret_name, struct err *err) MUST_CHECK;

/* A required key that is not there. */
enum err_code param_missing(struct err *err, const char *param);
/* A list that needs at least one element and has none. */
enum err_code param_empty_array(struct err *err, const char *param);
/* A word that is not among `words`. */
enum err_code param_wrong_word(struct err *err, const char *param, const char *got,
                               const char *const *words);

/* A value of the wrong type: "expected X, but got Y instead". `expected` e.g. "one of a string or an object". */
enum err_code param_wrong_type(struct err *err, const char *param, const char *expected,
                               const json_t *got);

/* The setting unknown_parameters. */
enum param_unknown_policy {
    PARAM_UNKNOWN_IGNORE,
    PARAM_UNKNOWN_REJECT,
};
void params_set_unknown(enum param_unknown_policy policy);

/* Unknown keys of the object: an error when the setting unknown_parameters says reject
 * ("Unknown parameter: 'foo'." unknown_parameter, with a "Did you mean" for a near miss), and
 * always inside an object named "runnel". `known` ends with NULL. */
enum err_code param_unknown(const json_t *object, const char *path, const char *const *known,
                            struct err *err) MUST_CHECK;
/* The same, always: of objects that are all ours. */
enum err_code param_unknown_ours(const json_t *object, const char *path,
                                 const char *const *known, struct err *err) MUST_CHECK;

/* The same of one name that is no key, such as that of a parameter in the query. */
enum err_code param_unknown_name(const char *name, const char *const *known,
                                 struct err *err) MUST_CHECK;

/* limit, order, after, before from the query; NULL for each that is absent. */
enum err_code param_page_parse(const char *limit, const char *order, const char *after,
                               const char *before, struct page *ret_page,
                               struct err *err) MUST_CHECK;

/* Ids of the path or the body must look like ours: "Invalid 'thread_id': 'abc'. Expected an ID that
 * begins with 'thread'." invalid_value */
enum err_code param_id(const char *id, const char *prefix, const char *param,
                       struct err *err) MUST_CHECK;

/* The id of a thread, which may be written thread_X or conv_X; the store knows it as thread_X. */
enum err_code param_thread_id(const char *id, const char *param, char ret_id[ID_LIMIT + 1],
                              struct err *err) MUST_CHECK;
/* The same for the other face, which complains of what does not begin with 'conv'. */
enum err_code param_conversation_id(const char *id, const char *param,
                                    char ret_id[ID_LIMIT + 1], struct err *err) MUST_CHECK;

#endif
