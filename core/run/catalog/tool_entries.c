/*
 * The entries of a request's `tools`, resolved one by one into uses.
 *
 *   type "mcp"        a group of this server ("builtin:<group>"), a URL, or a server that the
 *                     operator has named
 *   type "namespace"  its members
 *   any other type    definition-only: the client executes it
 *
 * After the entries come the groups that are on without an entry, as if the request had one for
 * each; then the implied tools; and later the tools that items of the conversation or remote
 * servers bring.
 *
 * An entry that cannot be resolved refuses the request, with the parameter and a sentence that
 * says what to change. Dropping it would be worse: the model would work without a tool, and no
 * one would know. Only tools that nobody here can execute are left out, and unavailable.h says
 * how their client learns of it.
 *
 * Entries of items are another matter. They may come from another server or an older version,
 * long after the request that made them, so what cannot be resolved there is skipped.
 *
 * Names in policies are checked, too (allowed_tools, require_approval, permissions). A misspelt
 * name there would leave a tool open that the request wants to close. The tools of a remote
 * server are not known when the request is checked, so its names are accepted as they are.
 */

#include "core/run/catalog/tool_set.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/rows.h"
#include "core/mcp/mcp_extra.h"
#include "core/mcp/mcp_named.h"
#include "core/mcp/mcp_tools.h"
#include "core/net/egress.h"
#include "core/run/catalog/passed_tools.h"
#include "core/run/catalog/tool_set_internal.h"
#include "core/run/catalog/unavailable.h"
#include "core/tool/override.h"
#include "core/tool/registry.h"

#define BUILTIN "builtin:"

const json_t *tool_entry_function(const json_t *entry)
{
    const json_t *inner = json_object_get(entry, "function");

    return json_is_object(inner) ? inner : entry;
}

/* ---- Tools of groups ---- */

/* `allowed_tools` is a list of names, or a filter with such a list. */
static const json_t *allowed_names(const json_t *entry)
{
    const json_t *allowed = json_object_get(entry, "allowed_tools");

    return json_is_object(allowed) ? json_object_get(allowed, "tool_names") : allowed;
}

static bool is_read_only(const struct tool_handler *handler)
{
    return handler->flags & TOOL_READ_ONLY;
}

static bool is_allowed(const json_t *entry, const struct tool_handler *handler)
{
    const json_t *names = allowed_names(entry);
    const json_t *wanted =
        json_object_get(json_object_get(entry, "allowed_tools"), "read_only");

    if (!json_absent(names) && !json_list_has(names, handler->name))
        return false;
    return json_absent(wanted) || json_is_true(wanted) == is_read_only(handler);
}

static bool is_turned_off(const struct tool_set *set, const struct tool_handler *handler)
{
    return overrides_disable(set->groups, handler->group) ||
           overrides_disable_tool(set->groups, handler->group, handler->name);
}

/* The group is on by default only, and a tool of the request has the name: the request wins,
 * and is not refused because of a group that it does not mention. */
static bool yields(const struct tool_set *set, const struct tool_handler *handler, size_t index)
{
    return index == json_array_size(json_array_get(set->tools, 0)) &&
           !overrides_find(set->settings->tool_groups, handler->group) &&
           tool_set_find(set, handler->name);
}

static enum err_code add_members(struct tool_set *set, json_t *entry, size_t index,
                                 struct err *err)
{
    const char *group = json_get_string(entry, "server_url", "") + strlen(BUILTIN);
    const struct tool_handler *handler;

    for (size_t n = 0; (handler = tool_registry_member(group, n)); n++) {
        struct tool_use use = {.name = handler->name,
                               .type = "mcp",
                               .label = json_get_string(entry, "server_label", NULL),
                               .entry = entry,
                               .handler = handler,
                               .read_only = is_read_only(handler)};
        enum err_code rc;

        if (!is_allowed(entry, handler) || is_turned_off(set, handler) ||
            yields(set, handler, index) || tool_registry_lacks(handler))
            continue;
        rc = tool_set_add(set, &use, index, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- Tools of MCP entries ---- */

static bool is_builtin(const char *url)
{
    return strncmp(url, BUILTIN, strlen(BUILTIN)) == 0;
}

/* All names must be tools of the group. */
static enum err_code check_named(const char *group, const json_t *names, const char *param,
                                 struct err *err)
{
    size_t i;
    json_t *name;

    json_array_foreach (names, i, name) {
        if (!tool_registry_find(group, json_string_value(name)))
            return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                              "Invalid '%s': there is no tool '%.64s' in the group '%s'.",
                              param, json_string_value(name), group);
    }
    return ERR_OK;
}

static const json_t *names_of(const json_t *require, const char *key)
{
    return json_object_get(json_object_get(require, key), "tool_names");
}

/* Checks the names in `require_approval` of a group. */
static enum err_code check_approval(const char *url, const json_t *require, const char *param,
                                    struct err *err)
{
    const char *group = url + strlen(BUILTIN);
    enum err_code rc;

    if (!is_builtin(url) || !tool_registry_has_group(group))
        return ERR_OK;
    rc = check_named(group, names_of(require, "always"), param, err);
    return rc ? rc : check_named(group, names_of(require, "never"), param, err);
}

static enum err_code add_group(struct tool_set *set, json_t *entry, size_t index,
                               struct err *err)
{
    const char *url = json_get_string(entry, "server_url", "");
    const json_t *wanted = mcp_extras_wanted(entry);
    char param[64];
    enum err_code rc;

    (void)snprintf(param, sizeof(param), "tools[%zu].server_url", index);
    if (!tool_registry_has_group(url + strlen(BUILTIN)))
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                          "Invalid value: there is no tool group '%s' on this server.", url);
    if (mcp_extra_is_wanted(wanted, "resources") || mcp_extra_is_wanted(wanted, "prompts")) {
        (void)snprintf(param, sizeof(param), "tools[%zu].runnel", index);
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                          "Invalid '%s': a group has neither resources nor prompts.", param);
    }
    (void)snprintf(param, sizeof(param), "tools[%zu].allowed_tools", index);
    rc = check_named(url + strlen(BUILTIN), allowed_names(entry), param, err);
    return rc ? rc : add_members(set, entry, index, err);
}

/* ---- Entries that stand for several tools of one handler ---- */

static bool is_allowed_name(const json_t *entry, const char *name)
{
    const json_t *names = allowed_names(entry);

    return json_absent(names) || json_list_has(names, name);
}

/* The entry of one of them: that of the request, with what run() gets. The set owns it. */
static json_t *own_entry(struct tool_set *set, const json_t *entry, const json_t *made)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)entry);
    json_t *own = json_object_get(made, "own");

    if (own)
        json_object_set(copy, "own", own);
    json_array_append_new(set->tools, json_pack("[o]", copy));
    return copy;
}

static enum err_code add_offered(struct tool_set *set, json_t *entry, size_t index,
                                 const struct tool_handler *handler, struct err *err)
{
    const struct tool_context context = {.entry = entry, .settings = set->settings};
    json_auto_t *members = tool_registry_lacks(handler) ? NULL : handler->members(&context);
    const char *name;
    json_t *made;

    json_object_foreach (members, name, made) {
        struct tool_use use = {.type = "mcp",
                               .label = json_get_string(entry, "server_label", NULL),
                               .handler = handler};
        enum err_code rc;

        if (!is_allowed_name(entry, name))
            continue;
        use.entry = own_entry(set, entry, made);
        use.name = use.made_name = mem_strdup(name);
        use.made = json_incref(made);
        rc = tool_set_add(set, &use, index, err);
        if (rc) {
            tool_use_clear(&use);
            return rc;
        }
    }
    return ERR_OK;
}

static enum err_code add_server(struct tool_set *set, json_t *entry, size_t index,
                                const struct mcp_named *named, struct err *err)
{
    const char *label = json_get_string(entry, "server_label", "");
    char param[64];

    (void)snprintf(param, sizeof(param), "tools[%zu].server_label", index);
    if (tool_set_has_server(set, label))
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                          "Invalid '%s': there are two MCP servers labelled '%s'.", param,
                          label);
    set->servers = mem_resize(set->servers, set->server_count + 1, sizeof(*set->servers));
    set->servers[set->server_count++] = (struct tool_server){
        .label = label,
        .url = named ? named->url : json_get_string(entry, "server_url", ""),
        .named = named,
        .entry = entry,
        .index = index};
    return ERR_OK;
}

static enum err_code add_url(struct tool_set *set, json_t *entry, size_t index, struct err *err)
{
    const char *url = json_get_string(entry, "server_url", "");
    const struct tool_handler *handler = tool_registry_offering(entry);
    struct err why;
    char param[64];

    if (!json_absent(json_object_get(entry, "connector_id"))) {
        (void)snprintf(param, sizeof(param), "tools[%zu].connector_id", index);
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                          "Invalid '%s': a server has a 'server_url' or a 'connector_id', not "
                          "both.",
                          param);
    }
    if (is_builtin(url))
        return add_group(set, entry, index, err);
    if (handler)
        return add_offered(set, entry, index, handler, err);
    (void)snprintf(param, sizeof(param), "tools[%zu].server_url", index);
    if (egress_url_check(url, &why))
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                          "Invalid '%s': %s. A group of this server is 'builtin:<group>'.",
                          param, why.text);
    return add_server(set, entry, index, NULL, err);
}

/* The operator configures what a named server is sent. A request must not replace the token. */
static enum err_code check_no_secrets(const json_t *entry, size_t index, const char *name,
                                      struct err *err)
{
    static const char *const keys[] = {"authorization", "headers"};
    char param[64];

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (json_absent(json_object_get(entry, keys[i])))
            continue;
        (void)snprintf(param, sizeof(param), "tools[%zu].%s", index, keys[i]);
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                          "Invalid '%s': what the MCP server '%.64s' is sent is set by the "
                          "operator of this server.",
                          param, name);
    }
    return ERR_OK;
}

/* Resources and prompts are read with the operator's token, so only the operator can allow
 * them. */
static enum err_code check_extras(const json_t *entry, size_t index,
                                  const struct mcp_named *named, struct err *err)
{
    const json_t *wanted = mcp_extras_wanted(entry);
    const char *refused = NULL;
    char param[64];

    if (mcp_extra_is_wanted(wanted, "resources") && !named->resources)
        refused = "resources";
    else if (mcp_extra_is_wanted(wanted, "prompts") && !named->prompts)
        refused = "prompts";
    if (!refused)
        return ERR_OK;
    (void)snprintf(param, sizeof(param), "tools[%zu].runnel.%s", index, refused);
    return err_refuse(
        err, ERR_INVALID, REASON_BAD_VALUE, param,
        "Invalid '%s': the operator of this server does not offer the %s of the MCP "
        "server '%.64s'.",
        param, refused, named->name);
}

/* A server that the operator has named: by connector_id, else by its label. */
static enum err_code add_named(struct tool_set *set, json_t *entry, size_t index,
                               struct err *err)
{
    const char *id = json_get_string(entry, "connector_id", NULL);
    const char *name = id ? id : json_get_string(entry, "server_label", "");
    const struct mcp_named *named = mcp_named_find(name);
    char param[64];
    enum err_code rc;

    (void)snprintf(param, sizeof(param), "tools[%zu].%s", index,
                   id ? "connector_id" : "server_url");
    if (!named && !id)
        return err_refuse(err, ERR_INVALID, REASON_MISSING_MEMBER, param,
                          "Missing required parameter: '%s'.", param);
    if (!named || !named->url)
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                          "Invalid '%s': there is no MCP server '%.64s' on this server.", param,
                          name);
    if (named->command && mcp_named_obstacle())
        return err_refuse(err, ERR_INVALID, REASON_UNSUPPORTED, param,
                          "Unsupported value: the MCP server '%.64s' is not available on this "
                          "server: %s.",
                          name, mcp_named_obstacle());
    rc = check_no_secrets(entry, index, name, err);
    if (!rc)
        rc = check_extras(entry, index, named, err);
    return rc ? rc : add_server(set, entry, index, named, err);
}

static enum err_code add_mcp(struct tool_set *set, json_t *entry, size_t index, struct err *err)
{
    const char *url = json_get_string(entry, "server_url", NULL);
    const char *label = json_get_string(entry, "server_label", NULL);
    char param[64];
    enum err_code rc;

    (void)snprintf(param, sizeof(param), "tools[%zu].server_label", index);
    if (!label || !*label)
        return err_refuse(err, ERR_INVALID, REASON_MISSING_MEMBER, param,
                          "Missing required parameter: '%s'.", param);
    (void)snprintf(param, sizeof(param), "tools[%zu].require_approval", index);
    rc = check_approval(url ? url : "", json_object_get(entry, "require_approval"), param, err);
    if (rc)
        return rc;
    return url ? add_url(set, entry, index, err) : add_named(set, entry, index, err);
}

/* Takes `name`. The handler has no flags, whatever the server says of its tool: with
 * TOOL_IDEMPOTENT a call could be executed twice, because a stranger says that it is
 * harmless. */
static struct remote_tool *new_remote(const json_t *tool, char *name)
{
    struct remote_tool *remote = mem_new(struct remote_tool);
    const char *title = json_get_string(json_object_get(tool, "annotations"), "title", NULL);

    remote->name = mem_strdup(json_get_string(tool, "name", ""));
    remote->original = mem_strdup(mcp_tool_original_name(tool));
    remote->title = title ? mcp_clean_description(title) : NULL;
    remote->description = mcp_clean_description(json_get_string(tool, "description", ""));
    remote->parameters = json_text(json_object_get(tool, "input_schema"));
    remote->handler.name = name;
    remote->handler.description = remote->description;
    remote->handler.parameters = remote->parameters;
    remote->handler.flags = TOOL_FOREIGN;
    return remote;
}

void tool_set_add_remote(struct tool_set *set, const struct tool_server *server, json_t *tools)
{
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool) {
        const char *own = json_get_string(tool, "name", NULL);
        struct tool_use use = {.type = "mcp",
                               .label = server->label,
                               .entry = server->entry,
                               .named = server->named};

        if (!own || !json_is_object(json_object_get(tool, "input_schema")))
            continue;
        use.name = use.made_name = mcp_function_name(server->label, own);
        use.remote = new_remote(tool, use.made_name);
        use.extra = mcp_extra_of(tool, mcp_extras_wanted(server->entry));
        use.read_only = mcp_tool_is_read_only(tool);
        use.own = use.remote->name;
        use.original = use.remote->original;
        use.handler = &use.remote->handler;
        if (tool_set_add(set, &use, 0, NULL))
            tool_use_clear(&use);
    }
}

/* ---- Tools of the client ---- */

/* An entry of the list has this name, be the tool the client's or ours. */
static bool is_named(const json_t *tools, const char *name)
{
    size_t i;
    json_t *entry;

    json_array_foreach (tools, i, entry) {
        const struct tool_handler *handler =
            tool_registry_definition(json_get_string(entry, "type", ""));
        const char *own = json_get_string(tool_entry_function(entry), "name", "");

        if (handler && handler->flags & TOOL_NAMED && strcmp(own, name) == 0)
            return true;
    }
    return false;
}

/* A function of the client wins over a hosted tool of the same name, wherever it stands. */
static bool is_taken(const struct tool_set *set, const struct tool_use *use)
{
    return use->handler->flags & TOOL_HOSTED &&
           is_named(json_array_get(set->tools, 0), use->own);
}

/* The entry offers this tool, perhaps beside others. */
static enum err_code add_serving(struct tool_set *set, json_t *entry,
                                 const struct tool_handler *handler, const char *space,
                                 size_t index, struct err *err)
{
    struct tool_use use = {.type = json_get_string(entry, "type", ""),
                           .space = space,
                           .entry = entry,
                           .handler = handler,
                           .passed = !space && passed_tools_take(set->settings, entry)};
    char param[64];
    enum err_code rc;

    use.own = use.handler->flags & TOOL_NAMED
                  ? json_get_string(tool_entry_function(entry), "name", NULL)
                  : use.handler->name;
    if (!use.own || !*use.own) {
        (void)snprintf(param, sizeof(param), "tools[%zu].name", index);
        return err_refuse(err, ERR_INVALID, REASON_MISSING_MEMBER, param,
                          "Missing required parameter: '%s'.", param);
    }
    if (!space && is_taken(set, &use))
        space = use.handler->group;
    if (space)
        use.made_name = tool_set_spaced_name(space, use.own);
    use.name = space ? use.made_name : use.own;
    if (strcmp(use.name, RUN_APPROVAL_FUNCTION) == 0) {
        (void)snprintf(param, sizeof(param), "tools[%zu].name", index);
        free(use.made_name);
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                          "Invalid '%s': the name '" RUN_APPROVAL_FUNCTION "' is reserved.",
                          param);
    }
    rc = tool_set_add(set, &use, index, err);
    if (rc)
        free(use.made_name);
    return rc;
}

/* What nobody here can execute is left out (unavailable.h). Types that do not exist were refused
 * before, when the request was read. */
static enum err_code add_definition(struct tool_set *set, json_t *entry, const char *space,
                                    size_t index, struct err *err)
{
    const struct tool_handler *handler = tool_registry_serving(entry);
    const struct tool_handler *along = handler;
    enum err_code rc = ERR_OK;

    if (!handler || unavailable_reason(set->settings, entry) ||
        (handler->is_clients && !handler->is_clients(entry)))
        return ERR_OK;
    if (!space && passed_tools_take(set->settings, entry))
        return add_serving(set, entry, handler, space, index, err);
    for (size_t n = 0; along && !rc; n++) {
        rc = tool_registry_lacks(along) ? ERR_OK
                                        : add_serving(set, entry, along, space, index, err);
        along = tool_registry_along(handler, entry, n);
    }
    return rc;
}

static enum err_code add_namespace(struct tool_set *set, const json_t *entry, size_t index,
                                   struct err *err)
{
    const char *space = json_get_string(entry, "name", "");
    size_t i;
    json_t *member;

    json_array_foreach (json_object_get(entry, "tools"), i, member) {
        enum err_code rc = add_definition(set, member, space, index, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code add_entry(struct tool_set *set, json_t *entry, size_t index,
                               struct err *err)
{
    const char *type = json_get_string(entry, "type", NULL);
    char param[64];

    (void)snprintf(param, sizeof(param), "tools[%zu].type", index);
    if (!type)
        return err_refuse(err, ERR_INVALID, REASON_MISSING_MEMBER, param,
                          "Missing required parameter: '%s'.", param);
    if (strcmp(type, "mcp") == 0)
        return add_mcp(set, entry, index, err);
    if (strcmp(type, "namespace") == 0)
        return add_namespace(set, entry, index, err);
    return add_definition(set, entry, NULL, index, err);
}

enum err_code tool_entries_add(struct tool_set *set, json_t *tools, struct err *err)
{
    size_t i;
    json_t *entry;

    json_array_append_new(set->tools, tools ? json_incref(tools) : json_array());
    json_array_foreach (tools, i, entry) {
        enum err_code rc = add_entry(set, entry, i, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- Groups that are enabled by name ---- */

static bool has_entry(const json_t *tools, const char *url)
{
    size_t i;
    json_t *entry;

    json_array_foreach (tools, i, entry) {
        if (strcmp(json_get_string(entry, "type", ""), "mcp") == 0 &&
            strcmp(json_get_string(entry, "server_url", ""), url) == 0)
            return true;
    }
    return false;
}

/* Adds the group as if the request had an entry for it, unless it has one. */
static enum err_code add_named_group(struct tool_set *set, const json_t *tools, json_t *made,
                                     const char *group, struct err *err)
{
    AUTO_FREE char *url = mem_printf(BUILTIN "%s", group);
    json_t *entry;

    if (has_entry(tools, url))
        return ERR_OK;
    entry =
        json_build("{s:s, s:s, s:s}", "type", "mcp", "server_label", group, "server_url", url);
    json_array_append_new(made, entry);
    return add_members(set, entry, json_array_size(tools), err);
}

/* The group has to be looked at. True also if the request names it only to turn it off, or some
 * of its tools: add_members() skips what is off. */
static bool is_on(const struct tool_set *set, const char *name)
{
    const struct tool_group *group = tool_registry_group(name);

    return overrides_find(set->settings->tool_groups, name) ||
           overrides_enable(set->groups, name) || tool_registry_is_on(name) ||
           (group && group->entries && json_array_size(group->entries(set->settings)));
}

/* In the order of the registry and not of the names: equal overrides make equal requests to
 * the upstream, whose cache then hits. A name whose group no longer exists offers nothing. */
enum err_code tool_entries_add_groups(struct tool_set *set, const json_t *tools,
                                      struct err *err)
{
    json_t *made = NULL;
    const char *group;

    for (size_t n = 0; (group = tool_registry_group_name(n)); n++) {
        enum err_code rc;

        if (!is_on(set, group))
            continue;
        if (!made)
            json_array_append_new(set->tools, made = json_array());
        rc = add_named_group(set, tools, made, group, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- Implied tools ---- */

static bool has_server_side(const struct tool_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->uses[i].label && !set->uses[i].implied)
            return true;
    return set->server_count > 0;
}

/* False if the set is full. */
static bool add_implied(struct tool_set *set, const struct tool_group *group, const char *name)
{
    const struct tool_handler *handler = tool_registry_find(group->name, name);
    struct tool_use use = {
        .name = name, .type = "mcp", .label = group->name, .handler = handler, .implied = true};

    if (!handler || is_turned_off(set, handler) || tool_set_find(set, name))
        return true;
    return tool_set_add(set, &use, 0, NULL) == ERR_OK;
}

/* Results of server-side tools are kept in variables. The readers of variables are offered
 * with them, unless an override turns them off or the set is full. */
void tool_entries_add_implied(struct tool_set *set)
{
    const struct tool_group *group;

    if (!has_server_side(set))
        return;
    for (size_t n = 0; (group = tool_registry_described(n)); n++)
        for (size_t i = 0; group->along && group->along[i]; i++)
            if (!add_implied(set, group, group->along[i]))
                return;
}

/* ---- Permissions ---- */

/* The mcp entry with this label; or NULL. */
static const json_t *find_labelled(const struct tool_set *set, const char *label)
{
    size_t i, n;
    json_t *list, *entry;

    json_array_foreach (set->tools, i, list) {
        json_array_foreach (list, n, entry) {
            const char *own = json_get_string(entry, "server_label", "");

            if (strcmp(json_get_string(entry, "type", ""), "mcp") == 0 &&
                strcmp(own, label) == 0)
                return entry;
        }
    }
    return NULL;
}

/* The entry has the tool. True for a remote server: its tools are not known yet. */
static bool is_tool_of(const json_t *entry, const char *tool)
{
    const char *url = json_get_string(entry, "server_url", "");

    return !is_builtin(url) || tool_registry_find(url + strlen(BUILTIN), tool);
}

static bool has_label(const struct tool_set *set, const char *label)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct tool_use *use = &set->uses[i];
        bool ours = use->label || use->handler->flags & TOOL_HOSTED;

        if (ours && strcmp(tool_use_label(use), label) == 0)
            return true;
    }
    return false;
}

enum err_code tool_set_check_permissions(const struct tool_set *set, struct err *err)
{
    const struct permission_set *permissions = &set->settings->permissions;

    for (size_t i = 0; i < permissions->count; i++) {
        const char *key = permissions->lines[i].key;
        const char *slash = strchr(key, '/');
        AUTO_FREE char *label =
            slash ? mem_strndup(key, (size_t)(slash - key)) : mem_strdup(key);
        const json_t *entry = find_labelled(set, label);

        if (slash ? tool_set_find_labelled(set, label, slash + 1) != NULL
                  : has_label(set, label))
            continue;
        if (!entry || (slash && !is_tool_of(entry, slash + 1)))
            return err_refuse(
                err, ERR_INVALID, REASON_BAD_VALUE, "runnel.permissions",
                "Invalid 'runnel.permissions': '%.128s' is no tool of this request. "
                "Expected 'server_label/tool' or 'server_label'.",
                key);
    }
    return ERR_OK;
}

/* ---- Tools that items bring ---- */

/* Items bring no servers: only a request decides which servers may receive data of the
 * model. */
static bool is_server(const json_t *entry)
{
    return strcmp(json_get_string(entry, "type", ""), "mcp") == 0 &&
           !is_builtin(json_get_string(entry, "server_url", ""));
}

static void load_entry(struct tool_set *set, json_t *entry)
{
    size_t before = set->count;

    if (is_server(entry))
        return;
    if (add_entry(set, entry, 0, NULL) == ERR_OK)
        for (size_t i = before; i < set->count; i++)
            set->uses[i].deferred = false;
}

/* Removes a tool that an item brings again, so that it is added as described last, and not
 * deferred. */
static void forget(struct tool_set *set, const char *space, const char *own)
{
    for (size_t i = 0; i < set->count; i++) {
        struct tool_use *use = &set->uses[i];

        if (!own || strcmp(use->own, own) != 0 || !use->space != !space ||
            (space && strcmp(use->space, space) != 0))
            continue;
        tool_use_clear(use);
        memmove(use, use + 1, (--set->count - i) * sizeof(*use));
        return;
    }
}

static void replace_entry(struct tool_set *set, json_t *entry)
{
    const char *name = json_get_string(entry, "name", NULL);
    size_t i;
    json_t *member;

    if (strcmp(json_get_string(entry, "type", ""), "namespace") == 0) {
        json_array_foreach (json_object_get(entry, "tools"), i, member)
            forget(set, name, json_get_string(member, "name", NULL));
    } else {
        forget(set, NULL, name);
    }
    load_entry(set, entry);
}

static json_t *tools_of(const json_t *body)
{
    return json_object_get(body, "tools");
}

static bool brings_tools(const struct item_row *item)
{
    return item_type_brings_tools(item->type);
}

static size_t count_members(const json_t *tools)
{
    size_t members = 0;
    size_t i;
    json_t *entry;

    json_array_foreach (tools, i, entry)
        members += 1 + json_array_size(tools_of(entry));
    return members;
}

/* From the newest item back: the first item of those whose tools fit into TOOL_SET_LIMIT
 * together. */
static size_t load_start(const struct item_row *items, size_t count)
{
    size_t members = 0;

    while (count > 0) {
        json_auto_t *body =
            brings_tools(&items[count - 1]) ? json_parse_own(items[count - 1].body) : NULL;

        members += count_members(tools_of(body));
        if (members > TOOL_SET_LIMIT)
            break;
        count--;
    }
    return count;
}

void tool_set_load_items(struct tool_set *set, const struct item_row *items, size_t count)
{
    for (size_t i = load_start(items, count); i < count; i++) {
        json_auto_t *body = brings_tools(&items[i]) ? json_parse_own(items[i].body) : NULL;
        json_t *tools = tools_of(body);
        json_t *entry;
        size_t n;

        if (tools)
            json_array_append(set->tools, tools);
        json_array_foreach (tools, n, entry)
            replace_entry(set, entry);
    }
    tool_entries_add_implied(set);
}
