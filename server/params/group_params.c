#include "server/params/group_params.h"

#include "core/base/json.h"
#include "core/tool/registry.h"
#include "server/complaint.h"
#include "server/params/params.h"

static const char enabled_key[] = "enabled";

/*
 * `tool_groups` turns groups and tools on and off, at every level: project, user, assistant, thread and
 * request. The levels are merged later (core/tool); here the form of one level is checked, against the
 * registry of this server.
 *
 * A name that the registry does not have is an error. The registry is complete before the first
 * request, so the check and the later merge agree about it. A group that the operator has removed is
 * not in it either: a client that names it gets an error instead of a run without the group.
 */

static enum err_code check_tools(const json_t *override, const char *path, const char *group,
                                 struct err *err)
{
    const struct param_path here = param_key(path, "tools");
    json_t *tools = NULL;
    const char *name;
    json_t *value;
    enum err_code rc = param_object(override, path, "tools", PARAM_OPTIONAL, &tools, err);

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

static enum err_code check_override(const json_t *override, const char *path, const char *group,
                                    struct err *err)
{
    static const char *const known[] = {enabled_key, "tools", NULL};
    bool enabled = true;
    enum err_code rc;

    if (json_is_boolean(override) || json_is_null(override))
        return ERR_OK;
    if (!json_is_object(override))
        return param_wrong_type(err, path, "one of a boolean or an object", override);
    rc = param_unknown_strict(override, path, known, err);
    if (!rc)
        rc = param_bool(override, path, enabled_key, &enabled, err);
    return rc ? rc : check_tools(override, path, group, err);
}

enum err_code group_params_check(const json_t *object, const char *path, struct err *err)
{
    const struct param_path here = param_key(path, "tool_groups");
    json_t *groups = NULL;
    const char *name;
    json_t *override;
    enum err_code rc = param_object(object, path, "tool_groups", PARAM_OPTIONAL, &groups, err);

    if (rc || !groups)
        return rc;
    json_object_foreach (groups, name, override) {
        const struct param_path param = param_key(here.text, name);

        if (!tool_registry_has_group(name))
            return err_invalid(err, "invalid_value", param.text,
                               "Invalid value: there is no tool group '%.64s' on this server.",
                               name);
        rc = check_override(override, param.text, name, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}
