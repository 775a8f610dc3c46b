#include "server/params/variable_params.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/complaint.h"

/*
 * Variables come from clients in two ways, through the endpoints of variables and as
 * `runnel.variables_in` of a request. Both follow the same rules, which are here; the rules of names
 * themselves are those of the core (core/domain/variable.h), because tools make variables too.
 *
 * Two kinds of names are refused only here. "stats" is a path of the endpoints, so a variable of that
 * name could never be fetched. Names of cached messages belong to the server, which fills them from the
 * conversation.
 *
 * Sizes are in bytes for a value, which is a matter of memory, and in characters for what people read.
 */

enum err_code variable_param_name(const json_t *object, const char *path, const char **ret_name,
                                  struct err *err)
{
    const struct param_path here = param_key(path, "name");
    const char *name;
    enum err_code rc = param_string(object, path, "name", PARAM_REQUIRED, 0, &name, err);

    if (rc)
        return rc;
    if (strcmp(name, VARIABLE_STATS_NAME) == 0)
        return err_invalid(err, "invalid_value", here.text,
                           "Invalid '%s': 'stats' is the name of something else here.",
                           here.text);
    if (variable_is_message(name))
        return err_invalid(err, "invalid_value", here.text,
                           "Invalid '%s': '%.128s' is a name of messages.", here.text, name);
    if (!variable_name_fits(name))
        return err_invalid(err, "invalid_value", here.text,
                           "Invalid '%s': '%.128s'. Expected at most %zu letters, digits, "
                           "underscores and hyphens.",
                           here.text, name, VARIABLE_NAME_LIMIT);
    *ret_name = name;
    return ERR_OK;
}

enum err_code variable_param_value(const json_t *object, const char *path, enum param_need need,
                                   const char **ret_value, struct err *err)
{
    const struct param_path here = param_key(path, "value");
    const char *value = NULL;
    enum err_code rc = param_string(object, path, "value", need, 0, &value, err);

    if (!rc && value && strlen(value) > VARIABLE_VALUE_LIMIT)
        return err_invalid(err, "string_above_max_length", here.text,
                           "Invalid '%s': string too long. Expected at most %zu bytes, but got "
                           "%zu instead.",
                           here.text, VARIABLE_VALUE_LIMIT, strlen(value));
    if (!rc)
        *ret_value = value;
    return rc;
}

enum err_code variable_param_tags(const json_t *object, const char *path,
                                  const json_t **ret_tags, struct err *err)
{
    const struct param_path here = param_key(path, "tags");
    json_t *tags = NULL, *tag;
    size_t i;
    enum err_code rc =
        param_array(object, path, "tags", PARAM_OPTIONAL, VARIABLE_TAG_LIMIT, &tags, err);

    if (rc)
        return rc;
    json_array_foreach (tags, i, tag) {
        const struct param_path param = param_index(here.text, i);

        if (!json_is_string(tag))
            return param_wrong_type(err, param.text, "a string", tag);
        rc = param_length(json_string_value(tag), param.text, VARIABLE_TAG_LENGTH, err);
        if (rc)
            return rc;
    }
    *ret_tags = tags;
    return ERR_OK;
}

/* ---- runnel.variables_in ---- */

static enum err_code check_one(const json_t *given, const char *path, const char **ret_name,
                               struct err *err)
{
    static const char *const known[] = {"desc", "name", "tags", "value", NULL};
    const json_t *tags;
    const char *text;
    enum err_code rc;

    if (!json_is_object(given))
        return param_wrong_type(err, path, "an object", given);
    rc = param_unknown(given, path, known, err);
    if (!rc)
        rc = variable_param_name(given, path, ret_name, err);
    if (!rc)
        rc = variable_param_value(given, path, PARAM_REQUIRED, &text, err);
    if (!rc)
        rc = param_string(given, path, "desc", PARAM_OPTIONAL, VARIABLE_TEXT_LIMIT, &text, err);
    return rc ? rc : variable_param_tags(given, path, &tags, err);
}

enum err_code variables_in_check(const json_t *runnel, const char *path, struct err *err)
{
    const struct param_path here = param_key(path, VARIABLES_IN_KEY);
    const char *names[VARIABLES_IN_LIMIT];
    json_t *list = NULL, *given;
    size_t i;
    enum err_code rc = param_array(runnel, path, VARIABLES_IN_KEY, PARAM_OPTIONAL,
                                   VARIABLES_IN_LIMIT, &list, err);

    if (rc)
        return rc;
    json_array_foreach (list, i, given) {
        const struct param_path param = param_index(here.text, i);

        rc = check_one(given, param.text, &names[i], err);
        /* At most 32 names, so each is compared with all before it. */
        for (size_t k = 0; !rc && k < i; k++)
            if (strcmp(names[k], names[i]) == 0)
                rc = err_invalid(err, "invalid_value", param_key(param.text, "name").text,
                                 "Invalid '%s.name': '%s' is given twice.", param.text,
                                 names[i]);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static struct variable read_one(const json_t *given, int64_t now)
{
    json_t *tags = json_object_get(given, "tags");
    const char *description = json_get_string(given, "desc", NULL);
    struct variable variable = {
        .type = VARIABLE_USER_ADD,
        .value = mem_strdup(json_get_string(given, "value", "")),
        .description = description ? mem_strdup(description) : NULL,
        .tags = json_is_array(tags) ? json_deep_copy(tags) : NULL,
        .created_at = now,
    };

    (void)snprintf(variable.name, sizeof(variable.name), "%s",
                   json_get_string(given, "name", ""));
    variable.length = (int64_t)variable_length(variable.value);
    return variable;
}

void variables_in_read(const json_t *body, struct variable **ret_variables, size_t *ret_count)
{
    const json_t *list = json_object_get(json_object_get(body, "runnel"), VARIABLES_IN_KEY);
    size_t count = json_array_size(list);
    int64_t now = clock_wall_us();

    *ret_count = count;
    *ret_variables = count ? mem_new_array(struct variable, count) : NULL;
    for (size_t i = 0; i < count; i++)
        (*ret_variables)[i] = read_one(json_array_get(list, i), now);
}
