/*
 * handlers.c -- the lists of handlers.h as arrays.
 *
 * A plain list in one header instead of registration by constructors or linker sections: it has an order,
 * which models see, and a diff shows what a build has gained. A name without a file does not link.
 */

#include "handlers/handlers.h"

#include "core/tool/registry.h"

#define IN_LIST(name)       &name##_handler,
#define GROUP_IN_LIST(name) &name##_group,

const struct tool_handler *const all_handlers[] = {ALL_HANDLERS(IN_LIST) NULL};
const struct tool_group *const all_groups[] = {ALL_GROUPS(GROUP_IN_LIST) NULL};

void handlers_register(void)
{
    tool_registry_set(all_handlers);
    tool_registry_set_groups(all_groups);
}
