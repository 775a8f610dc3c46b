#include "server/group_params.h"

#include "core/base/json.h"
#include "core/tool/registry.h"
#include "server/params.h"

static const char enabled_key[] = "enabled";

static enum err_code check_tools(const json_t *wish, const char *path, const char *group,
                                 struct err *err)
{
    const struct param_path here = param_key(path, "tools");
    json_t *tools = NULL;
    const char *name;
    json_t *value;
    enum err_code rc = param_object(wish, path, "tools", PARAM_OPTIONAL, &tools, err);

    if (rc || !tools)
        return rc;
    json_object_foreach (tools, name, value) {
        const struct param_path param = param_key(here.text, name);

        if (!tool_registry_find(group, name))
            return err_invalid(err, "invalid_value", param.text,
                               "Invalid value: the tool group '%s' has no tool '%.64s'.", group,
                               name);
        if (!json_is_boolean(value))
            return param_wrong_type(err, param.text, "a boolean", value);
    }
    return ERR_OK;
}

static enum err_code check_wish(const json_t *wish, const char *path, const char *group,
                                struct err *err)
{
    static const char *const known[] = {enabled_key, "tools", NULL};
    bool enabled = true;
    enum err_code rc;

    if (json_is_boolean(wish) || json_is_null(wish))
        return ERR_OK;
    if (!json_is_object(wish))
        return param_wrong_type(err, path, "one of a boolean or an object", wish);
    rc = param_unknown(wish, path, known, err);
    if (!rc)
        rc = param_bool(wish, path, enabled_key, &enabled, err);
    return rc ? rc : check_tools(wish, path, group, err);
}

enum err_code group_params_check(const json_t *runnel, const char *path, struct err *err)
{
    const struct param_path here = param_key(path, "tool_groups");
    json_t *groups = NULL;
    const char *name;
    json_t *wish;
    enum err_code rc = param_object(runnel, path, "tool_groups", PARAM_OPTIONAL, &groups, err);

    if (rc || !groups)
        return rc;
    json_object_foreach (groups, name, wish) {
        const struct param_path param = param_key(here.text, name);

        if (!tool_registry_has_group(name))
            return err_invalid(err, "invalid_value", param.text,
                               "Invalid value: there is no tool group '%.64s' on this server.",
                               name);
        rc = check_wish(wish, param.text, name, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- Together ---- */

/* A word on a whole group, as an object. New reference. */
static json_t *spelled_out(json_t *wish)
{
    json_t *whole;

    if (json_is_boolean(wish))
        return json_build("{s:O}", enabled_key, wish);
    whole = json_deep_copy(wish);
    if (json_is_null(json_object_get(whole, enabled_key)))
        json_object_del(whole, enabled_key);
    if (json_is_null(json_object_get(whole, "tools")))
        json_object_del(whole, "tools");
    return whole;
}

static json_t *merge_one(json_t *wide, json_t *narrow)
{
    json_auto_t *over = spelled_out(narrow);
    json_t *both = spelled_out(wide);

    json_object_update_recursive(both, over);
    return both;
}

json_t *group_params_merge(const json_t *wide, const json_t *narrow)
{
    const char *name;
    json_t *wish;
    json_t *both;

    if (!json_is_object(wide) && !json_is_object(narrow))
        return NULL;
    both = json_is_object(wide) ? json_copy((json_t *)(uintptr_t)wide) : json_object();
    json_object_foreach ((json_t *)(uintptr_t)narrow, name, wish) {
        json_t *under = json_object_get(both, name);

        if (json_is_null(wish))
            continue;
        json_object_set_new(both, name,
                            json_absent(under) ? json_incref(wish) : merge_one(under, wish));
    }
    return both;
}
