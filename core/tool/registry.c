/*
 * registry.c -- lists that are filled at start and only read afterwards.
 *
 * Three of them: the handlers in the order of handlers/handlers.h, the items of these handlers, and the
 * names of the groups that the operator has turned on. main() fills them before it starts a thread, so
 * readers need no lock. Nothing is registered later, because a tool that comes and goes at run time is a
 * tool of an MCP server.
 *
 * Order matters. The list of tools in a request to a model follows the registry, and equal requests are
 * equal bytes, which the prompt caches of upstreams need. So a second handler with the same name replaces
 * the first one in its place instead of going to the end.
 *
 * Items outlive their handlers. The operator may turn off a tool whose calls are stored in old runs, and
 * these items must still be encoded.
 *
 * A search is linear. There are a few dozen tools, and the searches are per request, not per token.
 */

#include "core/tool/registry.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"

static const struct tool_handler **all;
static size_t count;

/* Each item once, also those of removed handlers. */
static const struct tool_item **items;
static size_t item_count;

/* The names of the groups that have members, each once, in their order. */
static const char **group_names;
static size_t group_count;

/* Groups that the operator turned on. The names belong to handlers, which are constants. */
static const char **on;
static size_t on_count;

/* What tools need, and why it is missing. Nothing is executed before it was seen to work. */
static struct {
    enum tool_flags flag;
    const char *lacking;
} needs[] = {
    {TOOL_NEEDS_SANDBOX, "this server has no sandbox"},
    {TOOL_NEEDS_PYTHON, "this server has no Python"},
    {TOOL_NEEDS_RIPGREP, "this server has no ripgrep"},
    {TOOL_NEEDS_NODE, "this server has no Node.js"},
    {TOOL_NEEDS_PANDOC, "this server has no Pandoc"},
    {TOOL_NEEDS_WEB_SEARCH, "no search provider is configured"},
    {TOOL_DRAWS, "this server has no image model"},
};

static const struct tool_group *const no_groups[] = {NULL};
static const struct tool_group *const *described = no_groups;

void tool_registry_set_groups(const struct tool_group *const *groups)
{
    described = groups;
}

static bool is_same_tool(const struct tool_handler *a, const struct tool_handler *b)
{
    return strcmp(a->name, b->name) == 0 &&
           (a->group && b->group ? strcmp(a->group, b->group) == 0 : a->group == b->group);
}

static void put_item(const struct tool_item *item)
{
    if (!item || tool_registry_item(item->type))
        return;
    items = mem_resize(items, item_count + 1, sizeof(const struct tool_item *));
    items[item_count++] = item;
}

static void put(const struct tool_handler *handler)
{
    put_item(handler->item);
    for (size_t i = 0; i < count; i++) {
        if (!is_same_tool(all[i], handler))
            continue;
        log_warn("the tool %s%s%s is registered twice: the second one counts",
                 handler->group ? handler->group : "", handler->group ? "/" : "",
                 handler->name);
        all[i] = handler;
        return;
    }
    all = mem_resize(all, count + 1, sizeof(const struct tool_handler *));
    all[count++] = handler;
}

/* Definition-only handlers have no run() and belong to no group: the client executes them. A hosted tool needs an
 * entry of its own, so no group offers it. */
static bool is_member(const struct tool_handler *handler)
{
    return handler->run && handler->group && !(handler->flags & TOOL_HOSTED);
}

static bool is_noted(const char *group)
{
    for (size_t i = 0; i < group_count; i++)
        if (strcmp(group_names[i], group) == 0)
            return true;
    return false;
}

/* Each request looks at all groups, so they are gathered when the handlers change. */
static void note_groups(void)
{
    free(TAKE(group_names));
    group_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_member(all[i]) || is_noted(all[i]->group))
            continue;
        group_names = mem_resize(group_names, group_count + 1, sizeof(const char *));
        group_names[group_count++] = all[i]->group;
    }
}

void tool_registry_set(const struct tool_handler *const *handlers)
{
    free(TAKE(all));
    free(TAKE(on));
    free(TAKE(items));
    count = on_count = item_count = 0;
    for (; handlers && *handlers; handlers++)
        put(*handlers);
    note_groups();
}

static bool belongs_to(const struct tool_handler *handler, const char *group)
{
    return is_member(handler) && strcmp(handler->group, group) == 0;
}

void tool_registry_remove(const char *group, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (!belongs_to(all[i], group) || (name && strcmp(all[i]->name, name) != 0))
            all[kept++] = all[i];
    count = kept;
    note_groups();
}

const struct tool_handler *tool_registry_find(const char *group, const char *name)
{
    for (size_t i = 0; i < count; i++)
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
    for (size_t i = 0; i < count; i++)
        if (belongs_to(all[i], group) && n-- == 0)
            return all[i];
    return NULL;
}

const char *tool_registry_group_name(size_t n)
{
    return n < group_count ? group_names[n] : NULL;
}

const struct tool_group *tool_registry_group(const char *name)
{
    for (size_t i = 0; described[i]; i++)
        if (strcmp(described[i]->name, name) == 0)
            return described[i];
    return NULL;
}

/* Groups and hosted tools have policies alike. */
static bool has_policy(const char *group, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        const struct tool_handler *handler = all[i];

        if (handler->run && handler->group && strcmp(handler->group, group) == 0 &&
            (!name || strcmp(handler->name, name) == 0))
            return true;
    }
    return false;
}

bool tool_registry_names(const char *key)
{
    const char *slash = strchr(key, '/');
    AUTO_FREE char *group = slash ? mem_strndup(key, (size_t)(slash - key)) : NULL;

    return has_policy(slash ? group : key, slash ? slash + 1 : NULL);
}

void tool_registry_turn_on(const char *group)
{
    const struct tool_handler *first = tool_registry_member(group, 0);

    if (!first || tool_registry_is_on(group))
        return;
    on = mem_resize(on, on_count + 1, sizeof(const char *));
    on[on_count++] = first->group;
}

bool tool_registry_is_on(const char *group)
{
    for (size_t i = 0; i < on_count; i++)
        if (strcmp(on[i], group) == 0)
            return true;
    return false;
}

void tool_registry_lack(enum tool_flags need, const char *why)
{
    for (size_t i = 0; i < COUNT_OF(needs); i++) {
        if (needs[i].flag == need)
            needs[i].lacking = why;
    }
}

const char *tool_registry_lacks(const struct tool_handler *handler)
{
    for (size_t i = 0; i < COUNT_OF(needs); i++) {
        if (handler->flags & needs[i].flag && needs[i].lacking)
            return needs[i].lacking;
    }
    return NULL;
}

struct permission tool_registry_permission(const struct tool_handler *handler)
{
    bool registered =
        handler->group && tool_registry_find(handler->group, handler->name) == handler;
    const struct tool_group *group = registered ? tool_registry_group(handler->group) : NULL;
    struct permission permission = handler->permission;

    /* The safe default: a tool about which neither its handler nor its group says anything asks once. */
    if (registered && !(group && group->auto_execute) && permission.execution == EXECUTION_AUTO)
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

const struct tool_item *tool_registry_item(const char *type)
{
    for (size_t i = 0; i < item_count; i++)
        if (strcmp(items[i]->type, type) == 0)
            return items[i];
    return NULL;
}

void tool_registry_show(json_t *object, unsigned include)
{
    const struct tool_item *item = tool_registry_item(json_get_string(object, "type", ""));

    if (item && item->show)
        item->show(object, include);
}

/* Models know some tools by another name than OpenAI's API has for their entries. */
static const char *type_of(const struct tool_handler *handler)
{
    return handler->type ? handler->type : handler->name;
}

bool tool_registry_has_type(const struct tool_handler *handler, const char *type)
{
    const char *const *more = handler->more_types;

    if (strcmp(type_of(handler), type) == 0)
        return true;
    while (more && *more && strcmp(*more, type) != 0)
        more++;
    return more && *more;
}

static bool has_entries(const struct tool_handler *handler, const char *type)
{
    return (!handler->run || handler->flags & TOOL_HOSTED) && !(handler->flags & TOOL_ALONG) &&
           tool_registry_has_type(handler, type);
}

const struct tool_handler *tool_registry_definition(const char *type)
{
    for (size_t i = 0; i < count; i++)
        if (has_entries(all[i], type))
            return all[i];
    return NULL;
}

const struct tool_handler *tool_registry_serving(const json_t *entry)
{
    const char *type = json_get_string(entry, "type", "");

    for (size_t i = 0; i < count; i++)
        if (has_entries(all[i], type) && (!all[i]->serves || all[i]->serves(entry)))
            return all[i];
    return NULL;
}

const struct tool_handler *tool_registry_along(const struct tool_handler *handler,
                                               const json_t *entry, size_t n)
{
    for (size_t i = 0; i < count; i++)
        if (all[i]->flags & TOOL_ALONG && strcmp(all[i]->type, type_of(handler)) == 0 &&
            (!all[i]->serves || all[i]->serves(entry)) && n-- == 0)
            return all[i];
    return NULL;
}

const struct tool_handler *tool_registry_offering(const json_t *entry)
{
    for (size_t i = 0; i < count; i++)
        if (all[i]->members && all[i]->serves(entry))
            return all[i];
    return NULL;
}
