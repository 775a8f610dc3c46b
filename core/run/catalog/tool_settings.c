/*
 * Two levels of settings become one. They merge in opposite directions: an override of a group
 * replaces that of the wider level, because a user may turn on what the project has off. A
 * permission never replaces one: the stricter of both counts, so no user opens what the project
 * has closed.
 */

#include "core/run/catalog/tool_settings.h"

#include "core/base/json.h"
#include "core/domain/permission.h"
#include "core/tool/override.h"

json_t *tool_settings_merge(const json_t *project, const json_t *user)
{
    if (!project && !user)
        return NULL;
    return json_build("{s:o*, s:o*}", "tool_groups",
                      overrides_merge(json_object_get(project, "tool_groups"),
                                      json_object_get(user, "tool_groups")),
                      "permissions",
                      permissions_merge(json_object_get(project, "permissions"),
                                        json_object_get(user, "permissions")));
}
