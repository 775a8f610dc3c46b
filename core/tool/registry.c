#include "core/tool/registry.h"

#include <string.h>

static const struct tool_handler *const no_handlers[] = {NULL};
static const struct tool_handler *const *all = no_handlers;

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

const struct tool_handler *tool_registry_definition(const char *type)
{
    for (size_t i = 0; all[i]; i++)
        if (!all[i]->run && strcmp(all[i]->name, type) == 0)
            return all[i];
    return NULL;
}
