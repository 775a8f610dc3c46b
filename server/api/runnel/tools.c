#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/catalog/tool_set.h"
#include "core/tool/override.h"
#include "core/tool/registry.h"
#include "server/api/api.h"
#include "server/complaint.h"
#include "server/encode/encode.h"
#include "server/params/params.h"
#include "server/params/tool_settings_params.h"
#include "server/server.h"

/*
 * GET /v1/runnel/tools: the built-in tools of this server, for a client that offers its users a
 * choice. An extension.
 *
 * The list shows what the tools of a request would be if the request said nothing about them: with
 * the operator's settings, those of the project and, if the query names one, those of a user. A
 * request may then enable groups and tighten policies for itself.
 *
 * Nothing of it is stored. The registry is fixed at start, and the settings are one query.
 */

/* The filters of the query, and the settings that apply. */
struct wanted {
    const struct request *request;
    const json_t
        *groups; /* tool groups as the project, and the user in the query, have set them;
                           * or NULL */
    struct permission_set permissions; /* policies, from the same settings */
    const char *group;                 /* NULL: any */
    const char *level;                 /* of its permission; NULL: any */
    bool any_tag;                      /* one of the tags is enough */
};

static bool has_tag(const struct tool_handler *handler, const char *tag)
{
    for (size_t i = 0; handler->tags && handler->tags[i]; i++)
        if (strcmp(handler->tags[i], tag) == 0)
            return true;
    return false;
}

/* Whether the tool has the tags of the query: all of them, or one with match=any. A query without tags
 * matches every tool. */
static bool fits(const struct wanted *wanted, const struct tool_handler *handler)
{
    size_t at = 0;
    size_t asked = 0;
    size_t found = 0;
    const char *tag;

    while ((tag = request_query_next(wanted->request, "tag", &at))) {
        asked++;
        found += has_tag(handler, tag);
    }
    return !asked || (wanted->any_tag ? found > 0 : found == asked);
}

/* The policy that holds unless the request tightens it. The operator's setting overrides the tool's own;
 * the settings of project and user can make the result stricter only. */
static struct permission permission_of(const struct wanted *wanted,
                                       const struct tool_handler *handler)
{
    const struct config *config = request_server(wanted->request)->config;
    struct permission lax = {EXECUTION_AUTO, RESULT_NEVER};

    return permission_stricter(
        permission_override(
            tool_registry_permission(handler),
            permission_set_find(&config->permissions, handler->group, handler->name)),
        permission_override(
            lax, permission_set_find(&wanted->permissions, handler->group, handler->name)));
}

static bool has_level(const struct wanted *wanted, const struct tool_handler *handler)
{
    struct permission permission = permission_of(wanted, handler);

    return !wanted->level ||
           strcmp(wanted->level, execution_policy_level(permission.execution)) == 0;
}

static bool is_group_on(const json_t *overrides, const char *group)
{
    return !overrides_disable(overrides, group) &&
           (overrides_enable(overrides, group) || tool_registry_is_on(group));
}

/* The definition of some tools depends on the run. It is shown for a run with default settings. */
static json_t *encode_tool(const struct wanted *wanted, const struct tool_handler *handler)
{
    struct permission permission = permission_of(wanted, handler);
    AUTO_FREE char *id = mem_printf("%s/%s", handler->group, handler->name);
    json_auto_t *entry = json_object();
    struct run_settings unset = {0};
    json_auto_t *made =
        handler->init ? handler->init(&(struct tool_context){entry, &unset}) : NULL;
    json_auto_t *extras = tool_extras(handler);
    json_t *object =
        json_build("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:s, s:s, s:b}", "object",
                   "runnel.tool", "id", id, "group", handler->group, "name", handler->name,
                   "description", handler->description, "category", "builtin", "enabled",
                   !overrides_disable_tool(wanted->groups, handler->group, handler->name),
                   "group_enabled", is_group_on(wanted->groups, handler->group), "auto_execute",
                   permission.execution == EXECUTION_AUTO, "execution_policy",
                   execution_policy_name(permission.execution), "result_policy",
                   result_policy_name(permission.result), "final",
                   (int)((handler->flags & TOOL_FINAL) != 0));

    json_set_own(object, "parameters", handler->parameters);
    json_object_update(object, made);
    json_object_update(object, extras);
    if (tool_registry_lacks(handler))
        json_set_string(object, "unavailable", tool_registry_lacks(handler));
    return object;
}

static void add_group(const struct wanted *wanted, const char *group, json_t *data)
{
    const struct tool_handler *handler;

    for (size_t n = 0; (handler = tool_registry_member(group, n)); n++)
        if (fits(wanted, handler) && has_level(wanted, handler))
            json_array_append_new(data, encode_tool(wanted, handler));
}

static enum err_code read_match(const struct request *request, bool *ret_any, struct err *err)
{
    static const char *const words[] = {"all", "any", NULL};
    const char *match = request_query(request, "match");

    if (!match || strcmp(match, "all") == 0)
        return ERR_OK;
    if (strcmp(match, "any") != 0)
        return param_wrong_word(err, "match", match, words);
    *ret_any = true;
    return ERR_OK;
}

static enum err_code read_level(const struct request *request, const char **ret_level,
                                struct err *err)
{
    static const char *const words[] = {"public", "moderate", "sensitive", NULL};
    const char *level = request_query(request, "level");

    for (size_t i = 0; level && words[i]; i++)
        if (strcmp(level, words[i]) == 0)
            *ret_level = words[i];
    return level && !*ret_level ? param_wrong_word(err, "level", level, words) : ERR_OK;
}

static enum err_code load_settings(const struct request *request, json_t **ret_settings,
                                   struct err *err)
{
    const char *user = request_query(request, "user");
    struct tenant asking = *request_tenant(request);
    enum err_code rc = param_length(user ? user : "", "user", USER_LIMIT, err);

    asking.user = user ? user : "";
    return rc ? rc
              : tool_settings_load(request_server(request)->store, &asking, ret_settings, err);
}

enum err_code api_tool_list(struct request *request, struct err *err)
{
    static const char *const known[] = {"group", "level", "tag", "tag[]",
                                        "match", "user",  NULL};
    struct wanted wanted = {.request = request, .group = request_query(request, "group")};
    json_auto_t *settings = NULL;
    const char *group;
    json_t *data;
    enum err_code rc = param_query_unknown(request, known, err);

    if (!rc)
        rc = read_match(request, &wanted.any_tag, err);
    if (!rc)
        rc = read_level(request, &wanted.level, err);
    if (rc)
        return rc;
    if (wanted.group && !tool_registry_has_group(wanted.group))
        return err_invalid(err, "invalid_value", "group",
                           "Invalid value: there is no tool group '%.64s' on this server.",
                           wanted.group);
    rc = load_settings(request, &settings, err);
    if (rc)
        return rc;
    wanted.groups = json_object_get(settings, "tool_groups");
    permission_set_read(&wanted.permissions, json_object_get(settings, "permissions"));
    data = json_array();
    for (size_t n = 0; (group = tool_registry_group_name(n)); n++)
        if (!wanted.group || strcmp(group, wanted.group) == 0)
            add_group(&wanted, group, data);
    permission_set_clear(&wanted.permissions);
    request_answer(
        request, 200,
        json_build("{s:s, s:o, s:b}", "object", "list", "data", data, "has_more", 0));
    return ERR_OK;
}
