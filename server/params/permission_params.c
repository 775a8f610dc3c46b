#include "server/params/permission_params.h"

#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/permission.h"
#include "server/complaint.h"

/*
 * Declarations of policies decide whether a person is asked before a tool runs. So this file refuses
 * whatever it does not understand: a misspelt "execution" that passed would leave a tool without the
 * approval that its author wanted. core/domain/permission.c decodes afterwards, and takes an unknown
 * value from elsewhere for the strictest one.
 *
 * The same declarations come from four places: the request (`runnel.permissions`), the settings of
 * projects and users, the configuration file, and `require_approval` of a tool's entry. They all call
 * these functions, with the path at which they found the declaration. The setting unknown_parameters
 * does not apply to any of them.
 *
 * The table permission_keys (permission.h) has all keys and values, older names included. A declaration may
 * use the old form or the new one, and both at once, except a key and its synonym together.
 */

/* ---- Declarations ---- */

/* On the heap, unlike struct param_path: names of tools in a configuration file have no limit. struct err
 * cuts its text, between characters. */
static char *path_of(const char *path, const char *key)
{
    return mem_printf("%s.%s", path, key);
}

static const struct permission_key *find_key(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(permission_keys); i++) {
        if (strcmp(permission_keys[i].name, name) == 0 ||
            (permission_keys[i].same && strcmp(permission_keys[i].same, name) == 0))
            return &permission_keys[i];
    }
    return NULL;
}

static bool has_value(const char *const *values, const json_t *value)
{
    for (size_t i = 0; json_is_string(value) && i < PERMISSION_VALUE_COUNT; i++) {
        if (strcmp(values[i], json_string_value(value)) == 0)
            return true;
    }
    return false;
}

static enum err_code check_value(const struct permission_key *key, const json_t *value,
                                 const char *path, struct err *err)
{
    if (!key->values && !json_is_boolean(value))
        return err_invalid(err, "invalid_type", path,
                           "Invalid type for '%s': expected a boolean.", path);
    if (!key->values || has_value(key->values, value))
        return ERR_OK;
    return err_invalid(err, "invalid_value", path,
                       "Invalid value for '%s': expected one of '%s', '%s' and '%s'.", path,
                       key->values[0], key->values[1], key->values[2]);
}

enum err_code permission_check(const json_t *declared, const char *path, struct err *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(declared))
        return err_invalid(err, "invalid_type", path,
                           "Invalid type for '%s': expected an object.", path);
    json_object_foreach ((json_t *)(uintptr_t)declared, name, value) {
        const struct permission_key *key = find_key(name);
        AUTO_FREE char *here = path_of(path, name);
        enum err_code rc;

        if (!key)
            return err_invalid(err, "unknown_parameter", here, "Unknown parameter: '%s'.",
                               here);
        if (key->same && json_object_get(declared, key->name) &&
            json_object_get(declared, key->same))
            return err_invalid(err, "invalid_value", here,
                               "Invalid '%s': '%s' and '%s' are the same.", path, key->name,
                               key->same);
        rc = check_value(key, value, here, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code permissions_check(const json_t *set, const char *path, struct err *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(set))
        return err_invalid(err, "invalid_type", path,
                           "Invalid type for '%s': expected an object.", path);
    json_object_foreach ((json_t *)(uintptr_t)set, name, value) {
        AUTO_FREE char *here = path_of(path, name);
        enum err_code rc = permission_check(value, here, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- require_approval ---- */

static enum err_code check_names(const json_t *list, const char *path, struct err *err)
{
    AUTO_FREE char *here = path_of(path, "tool_names");
    size_t i;
    json_t *name;

    if (json_absent(list))
        return ERR_OK;
    if (!json_is_array(list))
        return err_invalid(err, "invalid_type", here,
                           "Invalid type for '%s': expected an array of strings.", here);
    json_array_foreach (list, i, name) {
        if (!json_is_string(name))
            return err_invalid(err, "invalid_type", here,
                               "Invalid type for '%s[%zu]': expected a string.", here, i);
    }
    return ERR_OK;
}

static enum err_code check_filter(const json_t *filter, const char *path, struct err *err)
{
    const json_t *read_only = json_object_get(filter, "read_only");
    const char *name;
    json_t *value;

    if (json_absent(filter))
        return ERR_OK;
    if (!json_is_object(filter))
        return err_invalid(err, "invalid_type", path,
                           "Invalid type for '%s': expected an object.", path);
    json_object_foreach ((json_t *)(uintptr_t)filter, name, value) {
        AUTO_FREE char *here = path_of(path, name);

        if (strcmp(name, "tool_names") != 0 && strcmp(name, "read_only") != 0)
            return err_invalid(err, "unknown_parameter", here, "Unknown parameter: '%s'.",
                               here);
    }
    if (!json_absent(read_only) && !json_is_boolean(read_only)) {
        AUTO_FREE char *here = path_of(path, "read_only");

        return err_invalid(err, "invalid_type", here,
                           "Invalid type for '%s': expected a boolean.", here);
    }
    return check_names(json_object_get(filter, "tool_names"), path, err);
}

/* A tool in both lists has two policies. `read_only` may be in both: it selects by annotation, and the
 * stricter side counts. */
static enum err_code check_both(const json_t *require, const char *path, struct err *err)
{
    const json_t *never = json_object_get(require, "never");
    size_t i;
    json_t *name;

    json_array_foreach (json_object_get(json_object_get(require, "always"), "tool_names"), i,
                        name) {
        if (json_list_has(json_object_get(never, "tool_names"), json_string_value(name)))
            return err_invalid(
                err, "invalid_value", path,
                "Invalid '%s': the tool '%s' is named in both 'always' and 'never'.", path,
                json_string_value(name));
    }
    return ERR_OK;
}

static enum err_code check_filters(const json_t *require, const char *path, struct err *err)
{
    const char *name;
    json_t *value;

    if (!json_object_size(require))
        return err_invalid(err, "invalid_value", path,
                           "Invalid '%s': expected 'always', 'never' or both.", path);
    json_object_foreach ((json_t *)(uintptr_t)require, name, value) {
        AUTO_FREE char *here = path_of(path, name);
        enum err_code rc;

        if (strcmp(name, "always") != 0 && strcmp(name, "never") != 0)
            return err_invalid(err, "unknown_parameter", here, "Unknown parameter: '%s'.",
                               here);
        rc = check_filter(value, here, err);
        if (rc)
            return rc;
    }
    return check_both(require, path, err);
}

enum err_code permission_require_check(const json_t *require, const char *path, struct err *err)
{
    const char *word = json_string_value(require);

    if (json_absent(require))
        return ERR_OK;
    if (json_is_object(require))
        return check_filters(require, path, err);
    if (!word)
        return err_invalid(err, "invalid_type", path,
                           "Invalid type for '%s': expected one of a string or an object.",
                           path);
    if (strcmp(word, "always") == 0 || strcmp(word, "never") == 0)
        return ERR_OK;
    return err_invalid(err, "invalid_value", path,
                       "Invalid value for '%s': expected one of 'always' and 'never'.", path);
}
