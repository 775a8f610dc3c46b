#include "core/run/tool_set.h"

#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_named.h"
#include "core/mcp/mcp_tools.h"
#include "core/net/egress.h"
#include "core/run/run_approvals.h"
#include "core/run/tool_choice.h"
#include "core/store/rows.h"
#include "core/tool/registry.h"
#include "core/tool/rules.h"
#include "core/tool/skill.h"

#define BUILTIN "builtin:"

/* A tool of a remote server: its handler says what it is, and is never run. */
struct remote_tool {
    struct tool_handler handler;
    char *name; /* the server's */
    char *description;
    char *parameters;
};

/* Types that OpenAI has and no part of this server executes yet, hosted ones first. */
static const char *const not_yet[] = {
    "image_generation",
    "file_search",
    "web_search",
    "code_interpreter",
    "web_search_preview",
    "programmatic_tool_calling",
    "web_search_2025_08_26",
    "web_search_preview_2025_03_11",
    NULL,
};

static bool in_list(const char *const *list, const char *word)
{
    for (; *list; list++) {
        if (strcmp(*list, word) == 0)
            return true;
    }
    return false;
}

/* Responses has the function's fields in the entry itself, Assistants one level down. */
static const json_t *function_of(const json_t *entry)
{
    const json_t *inner = json_object_get(entry, "function");

    return json_is_object(inner) ? inner : entry;
}

/* An entry that the request does not have stands for a group that it names. */
static void name_place(const struct tool_set *set, const struct tool_use *use, size_t index,
                       char *ret_param, size_t size)
{
    if (use->label && index == json_array_size(json_array_get(set->tools, 0)))
        (void)snprintf(ret_param, size, "runnel.tool_groups.%s", use->label);
    else
        (void)snprintf(ret_param, size, "tools[%zu]", index);
}

static void free_use(struct tool_use *use)
{
    if (use->remote) {
        free(use->remote->name);
        free(use->remote->description);
        free(use->remote->parameters);
        free(use->remote);
    }
    free(use->made_name);
    json_decref(use->made);
}

/* False: in this context there is no such tool. */
static bool init_use(const struct tool_set *set, struct tool_use *use)
{
    const struct tool_context context = {.entry = use->entry, .runnel = set->runnel};

    if (!use->handler->init)
        return true;
    use->made = use->handler->init(&context);
    return use->made != NULL;
}

/* Whoever names a tool that has come along is told nothing of that. */
static void make_way(struct tool_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        if (!set->uses[i].implied || strcmp(set->uses[i].name, name) != 0)
            continue;
        free_use(&set->uses[i]);
        memmove(&set->uses[i], &set->uses[i + 1], (--set->count - i) * sizeof(*set->uses));
        return;
    }
}

/* One that is refused stays the caller's. */
static enum err_code add_use(struct tool_set *set, struct tool_use *use, size_t index,
                             struct err *err)
{
    char param[128];

    make_way(set, use->name);
    name_place(set, use, index, param, sizeof(param));
    if (tool_set_find(set, use->name))
        return err_invalid(err, "invalid_value", param,
                           "Invalid '%s': a tool named '%s' is offered twice.", param,
                           use->name);
    if (set->count == TOOL_SET_LIMIT)
        return err_invalid(
            err, "array_above_max_length", param,
            "Invalid '%s': too many tools. A model is offered at most %zu, those "
            "in namespaces and groups included.",
            param, TOOL_SET_LIMIT);
    if (!init_use(set, use)) {
        free_use(use);
        return ERR_OK;
    }
    set->uses = mem_resize(set->uses, set->count + 1, sizeof(*set->uses));
    set->uses[set->count] = *use;
    if (!use->own)
        set->uses[set->count].own = use->name;
    set->uses[set->count].deferred = json_get_bool(use->entry, "defer_loading", false);
    set->count++;
    return ERR_OK;
}

static bool allowed(const json_t *entry, const char *name)
{
    const json_t *list = json_object_get(entry, "allowed_tools");
    size_t i;
    json_t *word;

    if (json_is_object(list))
        list = json_object_get(list, "tool_names");
    if (json_absent(list))
        return true;
    json_array_foreach (list, i, word) {
        if (json_is_string(word) && strcmp(json_string_value(word), name) == 0)
            return true;
    }
    return false;
}

/* What runnel.tool_groups says of a group; NULL when it does not name it. */
static const json_t *wish_for(const struct tool_set *set, const char *group)
{
    const json_t *wish = json_object_get(set->groups, group);

    return json_absent(wish) ? NULL : wish;
}

static bool is_turned_off(const struct tool_set *set, const struct tool_handler *handler)
{
    const json_t *wish = wish_for(set, handler->group);

    return json_is_false(wish) || !json_get_bool(wish, "enabled", true) ||
           !json_get_bool(json_object_get(wish, "tools"), handler->name, true);
}

/* Nobody asked for it, and what was asked for has its name. */
static bool gives_way(const struct tool_set *set, const struct tool_handler *handler,
                      size_t index)
{
    return index == json_array_size(json_array_get(set->tools, 0)) &&
           !wish_for(set, handler->group) && tool_set_find(set, handler->name);
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
                               .handler = handler};
        enum err_code rc;

        if (!allowed(entry, handler->name) || is_turned_off(set, handler) ||
            gives_way(set, handler, index))
            continue;
        rc = add_use(set, &use, index, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- Tools of servers ---- */

static bool is_builtin(const char *url)
{
    return strncmp(url, BUILTIN, strlen(BUILTIN)) == 0;
}

/* Tools that there are: a name with a typing error would leave one without a question. */
static enum err_code check_named(const char *group, const json_t *filter, const char *param,
                                 struct err *err)
{
    size_t i;
    json_t *name;

    json_array_foreach (json_object_get(filter, "tool_names"), i, name) {
        if (!tool_registry_find(group, json_string_value(name)))
            return err_invalid(err, "invalid_value", param,
                               "Invalid '%s': there is no tool '%.64s' in the group '%s'.",
                               param, json_string_value(name), group);
    }
    return ERR_OK;
}

/* Which tools a remote server has is not known yet. */
static enum err_code check_approval(const char *url, const json_t *require, const char *param,
                                    struct err *err)
{
    const char *group = url + strlen(BUILTIN);
    enum err_code rc = permission_require_check(require, param, err);

    if (rc || !is_builtin(url) || !tool_registry_has_group(group))
        return rc;
    rc = check_named(group, json_object_get(require, "always"), param, err);
    return rc ? rc : check_named(group, json_object_get(require, "never"), param, err);
}

static enum err_code add_group(struct tool_set *set, json_t *entry, size_t index,
                               struct err *err)
{
    const char *url = json_get_string(entry, "server_url", "");
    char param[64];

    (void)snprintf(param, sizeof(param), "tools[%zu].server_url", index);
    if (!tool_registry_has_group(url + strlen(BUILTIN)))
        return err_invalid(err, "invalid_value", param,
                           "Invalid value: there is no tool group '%s' on this server.", url);
    return add_members(set, entry, index, err);
}

static const struct tool_server *find_server(const struct tool_set *set, const char *label)
{
    for (size_t i = 0; i < set->server_count; i++) {
        if (strcmp(set->servers[i].label, label) == 0)
            return &set->servers[i];
    }
    return NULL;
}

static enum err_code add_server(struct tool_set *set, json_t *entry, size_t index,
                                const struct mcp_named *named, struct err *err)
{
    const char *label = json_get_string(entry, "server_label", "");
    char param[64];

    (void)snprintf(param, sizeof(param), "tools[%zu].server_label", index);
    if (find_server(set, label))
        return err_invalid(err, "invalid_value", param,
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
    struct err why;
    char param[64];

    if (!json_absent(json_object_get(entry, "connector_id"))) {
        (void)snprintf(param, sizeof(param), "tools[%zu].connector_id", index);
        return err_invalid(err, "invalid_value", param,
                           "Invalid '%s': a server has a 'server_url' or a 'connector_id', not "
                           "both.",
                           param);
    }
    if (is_builtin(url))
        return add_group(set, entry, index, err);
    (void)snprintf(param, sizeof(param), "tools[%zu].server_url", index);
    if (egress_url_check(url, &why))
        return err_invalid(err, "invalid_value", param,
                           "Invalid '%s': %s, or be 'builtin:<group>'.", param, why.text);
    return add_server(set, entry, index, NULL, err);
}

/* What the operator has not said a server of theirs is told is not for requests to say. */
static enum err_code check_plain(const json_t *entry, size_t index, const char *name,
                                 struct err *err)
{
    static const char *const keys[] = {"authorization", "headers"};
    char param[64];

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (json_absent(json_object_get(entry, keys[i])))
            continue;
        (void)snprintf(param, sizeof(param), "tools[%zu].%s", index, keys[i]);
        return err_invalid(err, "invalid_value", param,
                           "Invalid '%s': what the MCP server '%.64s' is sent is set by the "
                           "operator of this server.",
                           param, name);
    }
    return ERR_OK;
}

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
        return err_invalid(err, "missing_required_parameter", param,
                           "Missing required parameter: '%s'.", param);
    if (!named || !named->url)
        return err_invalid(err, "invalid_value", param,
                           "Invalid '%s': there is no MCP server '%.64s' on this server.",
                           param, name);
    rc = check_plain(entry, index, name, err);
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
        return err_invalid(err, "missing_required_parameter", param,
                           "Missing required parameter: '%s'.", param);
    (void)snprintf(param, sizeof(param), "tools[%zu].require_approval", index);
    rc = check_approval(url ? url : "", json_object_get(entry, "require_approval"), param, err);
    if (rc)
        return rc;
    return url ? add_url(set, entry, index, err) : add_named(set, entry, index, err);
}

/* Whatever the server says of a tool being harmless: a call that may have been executed is never
 * repeated, so it carries no flags. */
static struct remote_tool *new_remote(const json_t *tool, char *name)
{
    struct remote_tool *remote = mem_new(struct remote_tool);

    remote->name = mem_strdup(json_get_string(tool, "name", ""));
    remote->description = mcp_clean_description(json_get_string(tool, "description", ""));
    remote->parameters = json_text(json_object_get(tool, "input_schema"));
    remote->handler.name = name;
    remote->handler.description = remote->description;
    remote->handler.parameters = remote->parameters;
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
        use.own = use.remote->name;
        use.handler = &use.remote->handler;
        if (add_use(set, &use, 0, NULL))
            free_use(&use);
    }
}

bool tool_set_awaits(const struct tool_set *set, const json_t *choice)
{
    const char *label = json_get_string(choice, "server_label", NULL);

    if (strcmp(json_get_string(choice, "type", ""), "mcp") != 0)
        return false;
    return label ? find_server(set, label) != NULL : set->server_count > 0;
}

/* ---- Tools of the client ---- */

/* A container would be the server's. */
static enum err_code check_shell(const json_t *entry, size_t index, struct err *err)
{
    const json_t *environment = json_object_get(entry, "environment");
    const char *type = json_get_string(environment, "type", "local");
    char param[64];

    if (strcmp(json_get_string(entry, "type", ""), "shell") != 0 || strcmp(type, "local") == 0)
        return ERR_OK;
    (void)snprintf(param, sizeof(param), "tools[%zu].environment.type", index);
    return err_invalid(err, "unsupported_value", param,
                       "Unsupported value: the tool 'shell' with a '%s' is not available on "
                       "this server; its environment must be 'local'.",
                       type);
}

static bool is_search(const char *type)
{
    return strcmp(type, "tool_search") == 0;
}

static bool is_clients_search(const json_t *entry)
{
    return strcmp(json_get_string(entry, "execution", "server"), "client") == 0;
}

/* Tools that are given a name by the client; the others go by their type. */
static bool is_named(const char *type)
{
    return strcmp(type, "function") == 0 || strcmp(type, "custom") == 0;
}

static enum err_code add_definition(struct tool_set *set, json_t *entry, const char *space,
                                    size_t index, struct err *err)
{
    struct tool_use use = {
        .type = json_get_string(entry, "type", ""), .space = space, .entry = entry};
    char param[64];
    enum err_code rc;

    use.handler = tool_registry_definition(use.type);
    if (!use.handler) {
        (void)snprintf(param, sizeof(param), "tools[%zu].type", index);
        return err_invalid(err, "invalid_value", param,
                           "Invalid value: '%s' is not a tool of this server.", use.type);
    }
    use.own = is_named(use.type) ? json_get_string(function_of(entry), "name", NULL) : use.type;
    if (!use.own || !*use.own) {
        (void)snprintf(param, sizeof(param), "tools[%zu].name", index);
        return err_invalid(err, "missing_required_parameter", param,
                           "Missing required parameter: '%s'.", param);
    }
    if (space)
        use.made_name = tool_set_spaced_name(space, use.own);
    use.name = space ? use.made_name : use.own;
    if (strcmp(use.name, RUN_APPROVAL_FUNCTION) == 0) {
        (void)snprintf(param, sizeof(param), "tools[%zu].name", index);
        free(use.made_name);
        return err_invalid(err, "invalid_value", param,
                           "Invalid '%s': the name '" RUN_APPROVAL_FUNCTION "' is reserved.",
                           param);
    }
    rc = add_use(set, &use, index, err);
    if (rc)
        free(use.made_name);
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
    enum err_code rc;

    (void)snprintf(param, sizeof(param), "tools[%zu].type", index);
    if (!type)
        return err_invalid(err, "missing_required_parameter", param,
                           "Missing required parameter: '%s'.", param);
    if (strcmp(type, "mcp") == 0)
        return add_mcp(set, entry, index, err);
    if (strcmp(type, "namespace") == 0)
        return add_namespace(set, entry, index, err);
    if (in_list(not_yet, type))
        return err_invalid(err, "unsupported_value", param,
                           "Unsupported value: the tool '%s' is not available on this server.",
                           type);
    if (is_search(type) && !is_clients_search(entry))
        return ERR_OK; /* everything is offered: there is nothing to search for */
    set->searched |= is_search(type);
    rc = check_shell(entry, index, err);
    return rc ? rc : add_definition(set, entry, NULL, index, err);
}

static enum err_code add_entries(struct tool_set *set, json_t *tools, struct err *err)
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

/* As if the request had an entry for it. */
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

/* A wish may still be one that turns it off, which its members know. */
static bool is_on(const struct tool_set *set, const char *name)
{
    const struct tool_group *group = tool_registry_group(name);
    const char *key = group ? group->enabled_by : NULL;

    return wish_for(set, name) || tool_registry_is_on(name) ||
           (key && json_array_size(json_object_get(set->runnel, key)));
}

/* In the registry's order, whatever the order of the names: equal wishes, equal requests. A name
 * that is not there any more offers nothing. */
static enum err_code add_named_groups(struct tool_set *set, const json_t *tools,
                                      struct err *err)
{
    json_t *made = json_array();
    const char *group;

    json_array_append_new(set->tools, made);
    for (size_t n = 0; (group = tool_registry_group_name(n)); n++) {
        enum err_code rc;

        if (!is_on(set, group))
            continue;
        rc = add_named_group(set, tools, made, group, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- What comes along with the server's tools ---- */

static bool has_server_side(const struct tool_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->uses[i].label && !set->uses[i].implied)
            return true;
    return set->server_count > 0;
}

/* What tools gave is kept in variables, so whoever has tools can read them, unless they are turned
 * off or there is no room. */
static void add_readers(struct tool_set *set)
{
    static const char *const readers[] = {"ReadVar", "ListVars"};

    if (!has_server_side(set))
        return;
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        const struct tool_handler *handler = tool_registry_find("vars", readers[i]);
        struct tool_use use = {.name = readers[i],
                               .type = "mcp",
                               .label = "vars",
                               .handler = handler,
                               .implied = true};

        if (!handler || is_turned_off(set, handler) || tool_set_find(set, readers[i]))
            continue;
        if (add_use(set, &use, 0, NULL))
            return;
    }
}

/* ---- What the model is told of groups ---- */

static bool offers(const struct tool_set *set, const struct tool_handler *handler)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->uses[i].handler == handler)
            return true;
    return false;
}

static const json_t *skills_of(const struct tool_set *set, const char *group)
{
    return strcmp(group, SKILL_GROUP) == 0 ? json_object_get(set->runnel, SKILLS_KEY) : NULL;
}

/* The names of a group's tools that are offered, ends with NULL; the caller frees the array. */
static const char **offered_names(const struct tool_set *set, const char *group)
{
    const char **names = mem_new_array(const char *, set->count + 1);
    const struct tool_handler *handler;
    size_t count = 0;

    for (size_t n = 0; (handler = tool_registry_member(group, n)); n++)
        if (offers(set, handler))
            names[count++] = handler->name;
    names[count] = NULL;
    return names;
}

static bool has_groups(const struct tool_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->uses[i].handler->group && !set->uses[i].implied)
            return true;
    return false;
}

static char *make_group_rules(const struct tool_set *set, enum tool_language language)
{
    struct rules_group *groups = NULL;
    size_t count = 0;
    const char *name;
    char *text;

    if (!has_groups(set))
        return mem_strdup("");
    for (size_t n = 0; (name = tool_registry_group_name(n)); n++) {
        const char **tools = offered_names(set, name);

        if (!*tools) {
            free(tools);
            continue;
        }
        groups = mem_resize(groups, count + 1, sizeof(*groups));
        groups[count++] =
            (struct rules_group){.name = name, .tools = tools, .skills = skills_of(set, name)};
    }
    text = tool_rules_text(groups, count, language);
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)groups[i].tools);
    free(groups);
    return text;
}

/* By the request, else by the operator. */
static const char *description_of(const json_t *entry)
{
    const char *own = json_get_string(entry, "server_description", NULL);
    const char *id = json_get_string(entry, "connector_id", NULL);
    const struct mcp_named *named = NULL;

    if (own && *own)
        return own;
    if (json_absent(json_object_get(entry, "server_url")))
        named = mcp_named_find(id ? id : json_get_string(entry, "server_label", ""));
    return named ? named->description : NULL;
}

/* What servers are for, in the order of the request. The caller frees. */
static char *describe_servers(const json_t *tools, enum tool_language language)
{
    struct rules_server *servers =
        mem_new_array(struct rules_server, json_array_size(tools) + 1);
    size_t count = 0;
    size_t i;
    json_t *entry;
    char *text;

    json_array_foreach (tools, i, entry) {
        const char *description = description_of(entry);

        if (strcmp(json_get_string(entry, "type", ""), "mcp") != 0 || !description)
            continue;
        servers[count++] = (struct rules_server){json_get_string(entry, "server_label", ""),
                                                 mcp_clean_description(description)};
    }
    text = tool_rules_servers_text(servers, count, language);
    while (count > 0)
        free(servers[--count].description);
    free(servers);
    return text;
}

static char *make_rules(const struct tool_set *set, const json_t *tools,
                        enum tool_language language)
{
    AUTO_FREE char *groups = make_group_rules(set, language);
    AUTO_FREE char *servers = describe_servers(tools, language);

    return mem_printf("%s%s%s", groups, *groups && *servers ? "\n\n" : "", servers);
}

enum err_code tool_set_init(struct tool_set *set, json_t *tools, const json_t *runnel,
                            struct err *err)
{
    enum err_code rc;

    *set = (struct tool_set){.tools = json_array(),
                             .runnel = runnel,
                             .groups = json_object_get(runnel, "tool_groups")};
    rc = add_entries(set, tools, err);
    if (!rc)
        rc = add_named_groups(set, tools, err);
    if (rc) {
        tool_set_clear(set);
        return rc;
    }
    add_readers(set);
    set->rules = make_rules(set, tools, tool_language_of(runnel));
    return ERR_OK;
}

void tool_set_clear(struct tool_set *set)
{
    json_decref(set->tools);
    for (size_t i = 0; i < set->count; i++)
        free_use(&set->uses[i]);
    free(set->uses);
    free(set->rules);
    free(set->servers);
    *set = (struct tool_set){0};
}

/* ---- Permissions ---- */

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

/* Which tools a remote server has is not known yet. */
static bool is_tool_of(const json_t *entry, const char *tool)
{
    const char *url = json_get_string(entry, "server_url", "");

    return !is_builtin(url) || tool_registry_find(url + strlen(BUILTIN), tool);
}

static bool has_label(const struct tool_set *set, const char *label)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->uses[i].label && strcmp(set->uses[i].label, label) == 0)
            return true;
    }
    return false;
}

enum err_code tool_set_check_permissions(const struct tool_set *set, const json_t *permissions,
                                         struct err *err)
{
    const char *key;
    json_t *declared;

    json_object_foreach ((json_t *)(uintptr_t)permissions, key, declared) {
        const char *slash = strchr(key, '/');
        AUTO_FREE char *label =
            slash ? mem_strndup(key, (size_t)(slash - key)) : mem_strdup(key);
        const json_t *entry = find_labelled(set, label);

        if (slash ? tool_set_find_labelled(set, label, slash + 1) != NULL
                  : has_label(set, label))
            continue;
        if (!entry || (slash && !is_tool_of(entry, slash + 1)))
            return err_invalid(
                err, "invalid_value", "runnel.permissions",
                "Invalid 'runnel.permissions': '%.128s' is no tool of this request. "
                "Expected 'server_label/tool' or 'server_label'.",
                key);
    }
    return ERR_OK;
}

/* ---- Tools that come with items ---- */

/* Servers come with requests only. */
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

/* What is there already is taken out first, so that it may come in again: loaded, and as it was
 * described last. */
static void forget(struct tool_set *set, const char *space, const char *own)
{
    for (size_t i = 0; i < set->count; i++) {
        struct tool_use *use = &set->uses[i];

        if (!own || strcmp(use->own, own) != 0 || !use->space != !space ||
            (space && strcmp(use->space, space) != 0))
            continue;
        free_use(use);
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
    return strcmp(item->type, "tool_search_output") == 0 ||
           strcmp(item->type, "additional_tools") == 0;
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

/* The first of the newest items whose tools are not too many together. */
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
    add_readers(set);
}

/* ---- Asking ---- */

char *tool_set_spaced_name(const char *space, const char *own)
{
    return mem_printf("%s__%s", space, own);
}

const struct tool_use *tool_set_find(const struct tool_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->uses[i].name, name) == 0)
            return &set->uses[i];
    }
    return NULL;
}

const struct tool_use *tool_set_find_labelled(const struct tool_set *set, const char *label,
                                              const char *own)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct tool_use *use = &set->uses[i];

        if (strcmp(use->label ? use->label : use->type, label) == 0 &&
            strcmp(use->own, own) == 0)
            return use;
    }
    return NULL;
}

bool tool_set_has_server(const struct tool_set *set, const char *label)
{
    return find_server(set, label) != NULL;
}

bool tool_use_is_clients(const struct tool_use *use)
{
    return !use->handler->run && !use->remote;
}

const char *tool_use_description(const struct tool_use *use)
{
    const char *own = use->handler->description ? use->handler->description : "";

    return json_get_string(use->made, "description", own);
}

json_t *tool_use_parameters(const struct tool_use *use)
{
    json_t *made = json_object_get(use->made, "parameters");

    return made ? json_incref(made) : json_parse_own(use->handler->parameters);
}

const char *tool_use_item_type(const struct tool_use *use)
{
    if (tool_use_is_clients(use))
        return "function_call";
    return use->handler->item_type ? use->handler->item_type : "mcp_call";
}

/* The function as the client has described it. */
static json_t *given_function(const struct tool_use *use)
{
    const json_t *given = function_of(use->entry);
    json_t *function = json_build("{s:s}", "name", use->name);
    static const char *const keys[] = {"description", "parameters", "strict"};

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = json_object_get(given, keys[i]);

        if (!json_absent(value))
            json_object_set(function, keys[i], value);
    }
    return function;
}

/* The function as the model is offered it. */
static json_t *offer_one(const struct tool_use *use)
{
    json_t *function;

    if (strcmp(use->type, "function") == 0) {
        function = given_function(use);
    } else {
        function = json_build("{s:s, s:s}", "name", use->name, "description",
                              tool_use_description(use));
        json_set(function, "parameters", tool_use_parameters(use));
    }
    return json_build("{s:s, s:o}", "type", "function", "function", function);
}

/* With tool_choice "none" the tools are shown to the model all the same: it may have called them
 * before, and the beginning of what it reads stays as it was. */
json_t *tool_set_offer(const struct tool_set *set, const json_t *choice)
{
    json_t *offered = json_array();
    json_auto_t *along = json_array();

    if (json_is_string(choice))
        choice = NULL;
    for (size_t i = 0; i < set->count; i++) {
        const struct tool_use *use = &set->uses[i];

        if (tool_choice_offers(set, choice, use))
            json_array_append_new(use->implied ? along : offered, offer_one(use));
    }
    json_array_extend(offered, along);
    if (json_array_size(offered))
        return offered;
    json_decref(offered);
    return NULL;
}

json_t *tool_extras(const struct tool_handler *handler)
{
    json_t *extras = json_object();
    json_t *tags = json_array();

    if (handler->returns.type)
        json_set(extras, "returns",
                 json_build("{s:s, s:s*}", "type", handler->returns.type, "note",
                            handler->returns.note));
    for (size_t i = 0; handler->tags && handler->tags[i]; i++)
        json_array_append_new(tags, json_string(handler->tags[i]));
    if (json_array_size(tags))
        json_object_set(extras, "tags", tags);
    json_decref(tags);
    return extras;
}

/* What OpenAI's listing has no words for. */
static void note_listed(json_t *tool, const struct tool_handler *handler)
{
    json_t *extras = tool_extras(handler);

    if (json_object_size(extras))
        json_object_set(tool, "runnel", extras);
    json_decref(extras);
}

json_t *tool_set_listing(const struct tool_set *set, const char *label)
{
    json_t *tools = json_array();

    for (size_t i = 0; i < set->count; i++) {
        const struct tool_use *use = &set->uses[i];
        json_t *tool;

        if (!use->label || strcmp(use->label, label) != 0 || use->implied ||
            (use->handler->flags & TOOL_HIDDEN))
            continue;
        tool = json_build("{s:s, s:s, s:n}", "name", use->name, "description",
                          tool_use_description(use), "annotations");
        json_set(tool, "input_schema", tool_use_parameters(use));
        note_listed(tool, use->handler);
        json_array_append_new(tools, tool);
    }
    return tools;
}
