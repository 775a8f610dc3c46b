#include "core/tool/registry.h"

#include <string.h>

static const struct tool_handler *const no_handlers[] = {NULL};
static const struct tool_handler *const *all = no_handlers;

static const struct tool_group *const no_groups[] = {NULL};
static const struct tool_group *const *described = no_groups;

void tool_registry_set_groups(const struct tool_group *const *groups)
{
    described = groups;
}

void tool_registry_set(const struct tool_handler *const *handlers)
{
    all = handlers;
}

static bool belongs_to(const struct tool_handler *handler, const char *group)
{
    return handler->run && handler->group && strcmp(handler->group, group) == 0;
}

const struct tool_handler *tool_registry_find(const char *group, const char *name)
{
    for (size_t i = 0; all[i]; i++)
        if (belongs_to(all[i], group) && strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

bool tool_registry_has_group(const char *group)
{
    return tool_registry_member(group, 0) != NULL;
}

const struct tool_handler *tool_registry_member(const char *group, size_t n)
{
    for (size_t i = 0; all[i]; i++)
        if (belongs_to(all[i], group) && n-- == 0)
            return all[i];
    return NULL;
}

static bool is_first_of_group(size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (belongs_to(all[i], all[at]->group))
            return false;
    return true;
}

const char *tool_registry_group_name(size_t n)
{
    for (size_t i = 0; all[i]; i++)
        if (all[i]->run && all[i]->group && is_first_of_group(i) && n-- == 0)
            return all[i]->group;
    return NULL;
}

const struct tool_group *tool_registry_group(const char *name)
{
    for (size_t i = 0; described[i]; i++)
        if (strcmp(described[i]->name, name) == 0)
            return described[i];
    return NULL;
}

struct permission tool_registry_permission(const struct tool_handler *handler)
{
    bool ours = handler->group && tool_registry_find(handler->group, handler->name) == handler;
    const struct tool_group *group = ours ? tool_registry_group(handler->group) : NULL;
    struct permission permission = handler->permission;

    if (ours && !(group && group->auto_execute) && permission.execution == EXECUTION_AUTO)
        permission.execution = EXECUTION_ASK_ONCE;
    return permission;
}

const struct tool_group *tool_registry_described(size_t n)
{
    for (size_t i = 0; described[i]; i++)
        if (n-- == 0)
            return described[i];
    return NULL;
}

const struct tool_handler *tool_registry_definition(const char *type)
{
    for (size_t i = 0; all[i]; i++)
        if (!all[i]->run && strcmp(all[i]->name, type) == 0)
            return all[i];
    return NULL;
}
