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
