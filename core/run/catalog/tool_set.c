/*
 * The tools of one request: a list of uses, and answers about it.
 *
 *   tools, tool_groups --> tool_entries.c --> uses --> tool_set_offer(): for the model
 *                                                  --> tool_set_find(): who executes a call
 *                                                  --> tool_set_listing(): mcp_list_tools items
 *
 * A use is one tool in one run: the handler, which is constant, with the entry of the request,
 * the name that the model calls, and what init() made for this run. The rest of the engine sees
 * uses only. It never asks whether a tool is a client's function, a member of a group or on a
 * remote server, except where its call is executed.
 *
 * Every run makes its own set, also after a crash, from its snapshot. A set shared between runs
 * of one assistant would save that work. But remote tools, loaded tools and init() differ from
 * run to run, and the set needs no lock as it is.
 *
 * Names are unique, so a call's name decides alone. A list of up to TOOL_SET_LIMIT is searched
 * linearly: a turn makes few calls, and most requests have a handful of tools.
 *
 * The order of the list is the order of the request, then of the registry, never of the network
 * or a hash table. The list begins every prompt, and an upstream's cache hits only if it is the
 * same each time.
 */

#include "core/run/catalog/tool_set.h"

#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_extra.h"
#include "core/mcp/mcp_named.h"
#include "core/mcp/mcp_tools.h"
#include "core/run/catalog/programmatic.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/catalog/tool_set_internal.h"
#include "core/tool/override.h"
#include "core/tool/registry.h"
#include "core/tool/rules.h"
#include "core/tool/tool_item.h"

/* The parameter of the request that an error about this use names. */
static void name_place(const struct tool_set *set, const struct tool_use *use, size_t index,
                       char *ret_param, size_t size)
{
    if (use->label && index == json_array_size(json_array_get(set->tools, 0)))
        (void)snprintf(ret_param, size, "runnel.tool_groups.%s", use->label);
    else
        (void)snprintf(ret_param, size, "tools[%zu]", index);
}

void tool_use_clear(struct tool_use *use)
{
    if (use->remote) {
        free(use->remote->name);
        free(use->remote->original);
        free(use->remote->title);
        free(use->remote->description);
        free(use->remote->parameters);
        free(use->remote);
    }
    free(use->made_name);
    json_decref(use->made);
    json_decref(use->read);
}

/* False: init() says that this run does not have the tool. */
static bool init_use(const struct tool_set *set, struct tool_use *use)
{
    const struct tool_context context = {.entry = use->entry, .settings = set->settings};

    if (!use->handler->init || use->made)
        return true;
    use->made = use->handler->init(&context);
    return use->made != NULL;
}

/* A tool of the request replaces an implied one of the same name: the request does not know
 * of that, and must not be refused because of it. */
static void drop_implied(struct tool_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        if (!set->uses[i].implied || strcmp(set->uses[i].name, name) != 0)
            continue;
        tool_use_clear(&set->uses[i]);
        memmove(&set->uses[i], &set->uses[i + 1], (--set->count - i) * sizeof(*set->uses));
        return;
    }
}

enum err_code tool_set_add(struct tool_set *set, struct tool_use *use, size_t index,
                           struct err *err)
{
    char param[128];

    drop_implied(set, use->name);
    name_place(set, use, index, param, sizeof(param));
    if (tool_set_find(set, use->name))
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, param,
                          "Invalid '%s': a tool named '%s' is offered twice.", param,
                          use->name);
    if (set->count == TOOL_SET_LIMIT)
        return err_refuse(err, ERR_INVALID, REASON_LIST_TOO_LONG, param,
                          "Invalid '%s': too many tools. A model is offered at most %zu, those "
                          "in namespaces and groups included.",
                          param, TOOL_SET_LIMIT);
    if (!init_use(set, use)) {
        tool_use_clear(use);
        return ERR_OK;
    }
    set->uses = mem_resize(set->uses, set->count + 1, sizeof(*set->uses));
    set->uses[set->count] = *use;
    set->uses[set->count].read = json_object();
    if (!use->own)
        set->uses[set->count].own = use->name;
    set->searched |= (use->handler->flags & TOOL_LOADS) != 0;
    set->uses[set->count].deferred = json_get_bool(use->entry, "defer_loading", false);
    set->count++;
    return ERR_OK;
}

/* ---- Text for the model about groups and servers ---- */

static bool offers(const struct tool_set *set, const struct tool_handler *handler)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->uses[i].handler == handler)
            return true;
    return false;
}

/* An entry with {"runnel": {"rules": false}} has tools, and no text about them. */
static bool wants_rules(const json_t *entry)
{
    return json_get_bool(mcp_extras_wanted(entry), "rules", true);
}

static bool has_silent(const struct tool_set *set, const struct tool_handler *handler)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->uses[i].handler == handler && !wants_rules(set->uses[i].entry))
            return true;
    return false;
}

/* What the request brings for the tools of a group, for example skills. Borrowed; NULL:
 * nothing. */
static const json_t *entries_of(const struct tool_set *set, const char *name)
{
    const struct tool_group *group = tool_registry_group(name);

    return group && group->entries ? group->entries(set->settings) : NULL;
}

/* The names of a group's tools that the text is about, ends with NULL; the caller frees the array. */
static const char **offered_names(const struct tool_set *set, const char *group)
{
    const char **names = mem_new_array(const char *, set->count + 1);
    const struct tool_handler *handler;
    size_t count = 0;

    for (size_t n = 0; (handler = tool_registry_member(group, n)); n++)
        if (offers(set, handler) && !has_silent(set, handler))
            names[count++] = handler->name;
    names[count] = NULL;
    return names;
}

/* Implied tools alone need no text about groups. */
static bool has_groups(const struct tool_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->uses[i].handler->group && set->uses[i].label && !set->uses[i].implied &&
            wants_rules(set->uses[i].entry))
            return true;
    return false;
}

static char *make_group_rules(const struct tool_set *set, enum language language)
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
        groups[count++] = (struct rules_group){
            .name = name, .tools = tools, .entries = entries_of(set, name)};
    }
    text = tool_rules_text(groups, count, language);
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)groups[i].tools);
    free(groups);
    return text;
}

/* The description of a server: the request's, else the operator's. */
static const char *description_of(const struct tool_set *set, json_t *entry)
{
    const char *own = json_get_string(entry, "server_description", NULL);
    const char *id = json_get_string(entry, "connector_id", NULL);
    const struct tool_handler *handler = tool_registry_offering(entry);
    const struct mcp_named *named = NULL;

    if (own && *own)
        return own;
    if (handler && handler->about)
        return handler->about(&(struct tool_context){entry, set->settings});
    if (json_absent(json_object_get(entry, "server_url")))
        named = mcp_named_find(id ? id : json_get_string(entry, "server_label", ""));
    return named ? named->description : NULL;
}

/* The text about remote servers, in the order of the request. Descriptions come from
 * strangers, so they are cleaned (mcp_tools.h). The caller frees. */
static char *describe_servers(const struct tool_set *set, const json_t *tools,
                              enum language language)
{
    struct rules_server *servers =
        mem_new_array(struct rules_server, json_array_size(tools) + 1);
    size_t count = 0;
    size_t i;
    json_t *entry;
    char *text;

    json_array_foreach (tools, i, entry) {
        const char *description = description_of(set, entry);

        if (strcmp(json_get_string(entry, "type", ""), "mcp") != 0 || !description ||
            !wants_rules(entry))
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

static char *make_rules(const struct tool_set *set, const json_t *tools, enum language language)
{
    AUTO_FREE char *groups = make_group_rules(set, language);
    AUTO_FREE char *servers = describe_servers(set, tools, language);

    return mem_printf("%s%s%s", groups, *groups && *servers ? "\n\n" : "", servers);
}

enum err_code tool_set_init(struct tool_set *set, json_t *tools,
                            const struct run_settings *settings, struct err *err)
{
    enum err_code rc;

    *set = (struct tool_set){
        .tools = json_array(),
        .settings = settings,
        .groups = overrides_merge(settings->project_tool_groups, settings->tool_groups)};
    rc = tool_entries_add(set, tools, err);
    if (!rc)
        rc = tool_entries_add_groups(set, tools, err);
    if (rc) {
        tool_set_clear(set);
        return rc;
    }
    tool_entries_add_implied(set);
    set->rules = make_rules(set, tools, settings->language);
    return ERR_OK;
}

void tool_set_clear(struct tool_set *set)
{
    json_decref(set->tools);
    json_decref(set->groups);
    for (size_t i = 0; i < set->count; i++)
        tool_use_clear(&set->uses[i]);
    free(set->uses);
    free(set->rules);
    free(set->servers);
    *set = (struct tool_set){0};
}

/* ---- Finding ---- */

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

const struct tool_use *tool_set_find_reader(const struct tool_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->uses[i].handler->flags & TOOL_READER)
            return &set->uses[i];
    }
    return NULL;
}

const struct tool_use *tool_set_find_passed(const struct tool_set *set, const char *item_type)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->uses[i].passed && strcmp(set->uses[i].handler->item->type, item_type) == 0)
            return &set->uses[i];
    }
    return NULL;
}

bool tool_set_passes(const struct tool_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->uses[i].passed)
            return true;
    }
    return false;
}

static const struct tool_server *find_server(const struct tool_set *set, const char *label)
{
    for (size_t i = 0; i < set->server_count; i++) {
        if (strcmp(set->servers[i].label, label) == 0)
            return &set->servers[i];
    }
    return NULL;
}

const char *tool_use_label(const struct tool_use *use)
{
    if (use->label)
        return use->label;
    return use->handler->flags & TOOL_HOSTED ? use->handler->group : use->type;
}

const struct tool_use *tool_set_find_labelled(const struct tool_set *set, const char *label,
                                              const char *own)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct tool_use *use = &set->uses[i];

        if (strcmp(tool_use_label(use), label) == 0 && strcmp(use->own, own) == 0)
            return use;
    }
    return NULL;
}

bool tool_set_has_server(const struct tool_set *set, const char *label)
{
    return find_server(set, label) != NULL;
}

bool tool_set_awaits(const struct tool_set *set, const json_t *choice)
{
    const char *label = json_get_string(choice, "server_label", NULL);

    if (strcmp(json_get_string(choice, "type", ""), "mcp") != 0)
        return false;
    return label ? find_server(set, label) != NULL : set->server_count > 0;
}

const char *tool_use_title(const struct tool_use *use)
{
    return use->remote && use->remote->title ? use->remote->title : use->own;
}

bool tool_use_is_clients(const struct tool_use *use)
{
    return !use->handler->run && !use->remote;
}

/* ---- What the model and the client see ---- */

const char *tool_use_description(const struct tool_use *use)
{
    const char *own = use->handler->description ? use->handler->description : "";

    return json_get_string(use->made, "description", own);
}

json_t *tool_use_parameters(const struct tool_use *use)
{
    json_t *made = json_object_get(use->made, "parameters");

    if (made)
        return json_incref(made);
    if (!use->read || !use->handler->parameters)
        return json_parse_own(use->handler->parameters);
    if (!json_object_size(use->read))
        json_set_own(use->read, "parameters", use->handler->parameters);
    return json_incref(json_object_get(use->read, "parameters"));
}

/* The function as the client wrote it: description, parameters and `strict` are passed on
 * unchanged. */
static json_t *given_function(const struct tool_use *use)
{
    const json_t *given = tool_entry_function(use->entry);
    json_t *function = json_build("{s:s}", "name", use->name);
    static const char *const keys[] = {"description", "parameters", "strict"};

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = json_object_get(given, keys[i]);

        if (!json_absent(value))
            json_object_set(function, keys[i], value);
    }
    return function;
}

/* The description, and what init() notes for this run. A tool that runs programs also lists what these may call. The
 * caller frees. */
static char *offered_description(const struct tool_set *set, const json_t *choice,
                                 const struct tool_use *use)
{
    bool programs = use->handler->flags & TOOL_PROGRAM;
    AUTO_FREE char *callable =
        programs ? tool_set_programmatic_text(set, choice) : mem_strdup("");
    const char *note = json_get_string(use->made, "note", "");

    return mem_printf("%s%s%s%s", tool_use_description(use), callable, *note ? "\n" : "", note);
}

/* A tool in the form of the Chat API. What an upstream of the other dialect executes keeps its own form. */
static json_t *offer_one(const struct tool_set *set, const json_t *choice,
                         const struct tool_use *use)
{
    json_t *function;

    if (use->passed)
        return use->handler->item->passed->entry(use->entry);
    if (use->handler->flags & TOOL_AS_WRITTEN) {
        function = given_function(use);
    } else {
        AUTO_FREE char *description = offered_description(set, choice, use);

        function = json_build("{s:s, s:s}", "name", use->name, "description", description);
        json_set(function, "parameters", tool_use_parameters(use));
    }
    return json_build("{s:s, s:o}", "type", "function", "function", function);
}

/* Implied tools come last, so that they can come and go without moving the others. */
json_t *tool_set_offer(const struct tool_set *set, const json_t *choice)
{
    json_t *offered = json_array();
    json_auto_t *along = json_array();

    for (size_t i = 0; i < set->count; i++) {
        const struct tool_use *use = &set->uses[i];

        if (tool_choice_lists(set, choice, use))
            json_array_append_new(use->implied ? along : offered, offer_one(set, choice, use));
    }
    json_array_extend(offered, along);
    if (json_array_size(offered))
        return offered;
    json_decref(offered);
    return NULL;
}

struct permission tool_use_permission(const struct tool_use *use)
{
    const json_t *own = json_object_get(use->made, "permission");
    struct permission permission = tool_registry_permission(use->handler);

    return own ? permission_override(permission, declared_permission_read(own)) : permission;
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

json_t *tool_set_listing(const struct tool_set *set, const char *label)
{
    json_t *tools = json_array();

    for (size_t i = 0; i < set->count; i++) {
        const struct tool_use *use = &set->uses[i];
        json_auto_t *extras = NULL;
        json_t *tool;

        if (!use->label || strcmp(use->label, label) != 0 || use->implied ||
            (use->handler->flags & TOOL_HIDDEN))
            continue;
        tool = json_build("{s:s, s:s, s:n}", "name", use->name, "description",
                          tool_use_description(use), "annotations");
        if (use->read_only)
            json_set(tool, "annotations", json_build("{s:b}", "readOnlyHint", true));
        json_set(tool, "input_schema", tool_use_parameters(use));
        extras = tool_extras(use->handler);
        if (json_object_size(extras)) /* OpenAI's listing has no fields for these */
            json_object_set(tool, "runnel", extras);
        json_array_append_new(tools, tool);
    }
    return tools;
}
