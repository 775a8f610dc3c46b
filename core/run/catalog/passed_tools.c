#include "core/run/catalog/passed_tools.h"

#include <string.h>

#include "core/base/json.h"
#include "core/tool/registry.h"
#include "core/tool/tool_item.h"

static struct {
    const struct model_upstream *upstreams;
    size_t count;
    const struct permission_set *permissions;
} table;

void passed_tools_set(const struct model_upstream *upstreams, size_t count,
                      const struct permission_set *permissions)
{
    table.upstreams = upstreams;
    table.count = count;
    table.permissions = permissions;
}

/* The operator's words are types of tools, and all types of one tool mean the same. */
static bool is_passed_by(const struct model_upstream *upstream,
                         const struct tool_handler *handler)
{
    const char *const *word = upstream->passes;

    while (word && *word && !tool_registry_has_type(handler, *word))
        word++;
    return word && *word && upstream->dialect == MODEL_DIALECT_RESPONSES;
}

static bool asks(const struct tool_handler *handler, const struct permission_set *set)
{
    struct permission lax = {EXECUTION_AUTO, RESULT_NEVER};

    lax = permission_override(lax, permission_set_find(set, handler->group, handler->name));
    return lax.execution != EXECUTION_AUTO || lax.result != RESULT_NEVER;
}

/* As core/run/approval/run_approvals.c decides about a call. */
static bool needs_approval(const struct tool_handler *handler,
                           const struct run_settings *settings, const json_t *entry)
{
    struct permission own = permission_override(
        tool_registry_permission(handler),
        permission_set_find(table.permissions, handler->group, handler->name));
    enum execution_policy required = permission_required(
        json_object_get(entry, "require_approval"), handler->name, true, EXECUTION_AUTO);

    return own.execution != EXECUTION_AUTO || own.result != RESULT_NEVER ||
           required != EXECUTION_AUTO || asks(handler, &settings->permissions) ||
           asks(handler, &settings->project_permissions);
}

bool passed_tools_take(const struct run_settings *settings, const json_t *entry)
{
    const struct tool_handler *handler = tool_registry_serving(entry);
    const struct item_passed *passed = handler && handler->item ? handler->item->passed : NULL;
    const struct model_upstream *upstream =
        passed && settings && settings->model
            ? model_upstream_find(table.upstreams, table.count, settings->model)
            : NULL;

    return upstream && is_passed_by(upstream, handler) &&
           !(passed->keeps && passed->keeps(entry)) &&
           !needs_approval(handler, settings, entry);
}
