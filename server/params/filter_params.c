#include "server/params/filter_params.h"

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "server/complaint.h"
#include "server/params/params.h"

#define KEY_LIMIT ((size_t)64)

static const char *const type_words[] = {"eq", "ne",  "gt",  "gte", "lt", "lte",
                                         "in", "nin", "and", "or",  NULL};

struct reading {
    size_t comparisons;
};

void filter_free(struct filter *filter)
{
    if (filter)
        filter_clear(filter);
    free(filter);
}

/* ---- A comparison ---- */

static enum err_code check_one_of(const json_t *values, const char *path, struct err *err)
{
    const json_t *value;
    size_t i;

    if (!json_is_array(values))
        return param_wrong_type(err, path, "an array of strings or numbers", values);
    if (!json_array_size(values))
        return param_empty_array(err, path);
    if (json_array_size(values) > FILTER_VALUES_MAX)
        return err_invalid(
            err, "array_above_max_length", path,
            "Invalid '%s': array too long. Expected an array with maximum length "
            "%d, but got an array with length %zu instead.",
            path, FILTER_VALUES_MAX, json_array_size(values));
    json_array_foreach (values, i, value) {
        if (!json_is_string(value) && !json_is_number(value))
            return param_wrong_type(err, param_index(path, i).text,
                                    "one of a string or a number", value);
    }
    return ERR_OK;
}

static enum err_code check_value(enum filter_type type, const json_t *value, const char *path,
                                 struct err *err)
{
    if (!value)
        return param_missing(err, path);
    if (type == FILTER_IN || type == FILTER_NIN)
        return check_one_of(value, path, err);
    if (json_is_string(value) || json_is_number(value))
        return ERR_OK;
    if (type == FILTER_EQ || type == FILTER_NE)
        return json_is_boolean(value)
                   ? ERR_OK
                   : param_wrong_type(err, path, "one of a string, a number or a boolean",
                                      value);
    return param_wrong_type(err, path, "one of a string or a number", value);
}

static enum err_code read_comparison(struct reading *reading, const json_t *object,
                                     const char *path, struct filter *filter, struct err *err)
{
    static const char *const known[] = {"type", "key", "value", NULL};
    json_t *value = json_object_get(object, "value");
    const char *key;
    enum err_code rc = param_unknown(object, path, known, err);

    if (!rc)
        rc = param_string(object, path, "key", PARAM_REQUIRED, KEY_LIMIT, &key, err);
    if (!rc)
        rc = check_value(filter->type, value, param_key(path, "value").text, err);
    if (rc)
        return rc;
    if (++reading->comparisons > FILTER_COMPARISONS_MAX)
        return err_invalid(err, "invalid_value", path,
                           "Invalid '%s': a filter may have %d comparisons.", path,
                           FILTER_COMPARISONS_MAX);
    filter->key = mem_strdup(key);
    filter->value = json_deep_copy(value);
    return ERR_OK;
}

/* ---- A tree ---- */

static enum err_code read_filter(struct reading *reading, const json_t *object,
                                 const char *path, int depth, struct filter *filter,
                                 struct err *err);

/* NOLINTNEXTLINE(misc-no-recursion): the depth has a limit */
static enum err_code read_children(struct reading *reading, const json_t *object,
                                   const char *path, int depth, struct filter *filter,
                                   struct err *err)
{
    static const char *const known[] = {"type", "filters", NULL};
    const struct param_path at = param_key(path, "filters");
    json_t *list = NULL;
    enum err_code rc = param_unknown(object, path, known, err);

    if (!rc)
        rc = param_array(object, path, "filters", PARAM_REQUIRED, FILTER_COMPARISONS_MAX, &list,
                         err);
    if (!rc && !json_array_size(list))
        rc = param_empty_array(err, at.text);
    if (rc)
        return rc;
    filter->children = mem_zeroed(json_array_size(list), sizeof(*filter->children));
    for (size_t i = 0; !rc && i < json_array_size(list); i++) {
        filter->count++;
        rc = read_filter(reading, json_array_get(list, i), param_index(at.text, i).text,
                         depth + 1, &filter->children[i], err);
    }
    return rc;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static enum err_code read_filter(struct reading *reading, const json_t *object,
                                 const char *path, int depth, struct filter *filter,
                                 struct err *err)
{
    const char *word;
    enum err_code rc;

    if (!json_is_object(object))
        return param_wrong_type(err, path, "an object", object);
    if (depth > FILTER_DEPTH_MAX)
        return err_invalid(err, "invalid_value", path,
                           "Invalid '%s': a filter may be %d levels deep.", path,
                           FILTER_DEPTH_MAX);
    rc = param_enum(object, path, "type", PARAM_REQUIRED, type_words, &word, err);
    if (rc)
        return rc;
    (void)filter_type_parse(word, &filter->type);
    if (filter->type == FILTER_AND || filter->type == FILTER_OR)
        return read_children(reading, object, path, depth, filter, err);
    return read_comparison(reading, object, path, filter, err);
}

enum err_code filter_params_read(const json_t *object, const char *path, const char *key,
                                 struct filter **ret_filter, struct err *err)
{
    struct reading reading = {0};
    struct filter *filter;
    json_t *found = NULL;
    enum err_code rc = param_object(object, path, key, PARAM_OPTIONAL, &found, err);

    if (rc || !found)
        return rc;
    filter = mem_zeroed(1, sizeof(*filter));
    rc = read_filter(&reading, found, param_key(path, key).text, 1, filter, err);
    if (rc) {
        filter_free(filter);
        return rc;
    }
    *ret_filter = filter;
    return ERR_OK;
}
