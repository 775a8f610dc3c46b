#include "server/config/tools.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/registry.h"
#include "server/config/yaml.h"
#include "server/params/permission_params.h"

/*
 * What the operator says about tools acts in two ways. `groups` changes the registry of this process,
 * before any thread could read it: a group or a tool that is off is removed, and does not exist for
 * requests. No level that comes later has a way to turn it on.
 * `permissions` becomes a permission_set that is merged into every decision about a call.
 *
 * The names are checked against the registry, which main() fills before the configuration is read. A
 * typing error in a name would otherwise leave a dangerous tool on, silently.
 *
 * Both parts are JSON trees with texts as values, since YAML has no booleans here (yaml.h). Texts of
 * switches become booleans in place, and then the rules are those of requests.
 */

/* The text of a switch becomes a boolean. Another text stays, and a later check refuses it. */
static void read_switch(json_t *object, const char *key)
{
    const char *word = json_get_string(object, key, "");
    bool on;

    if (config_switch_parse(word, &on))
        json_set_bool(object, key, on);
}

/* ---- groups ---- */

static enum err_code no_switch(const char *path, const char *key, struct err *err)
{
    return err_set(err, ERR_INVALID, "%s.%.64s: expected true or false", path, key);
}

static enum err_code check_group_tools(const char *group, json_t *tools, const char *path,
                                       struct err *err)
{
    const char *name;
    json_t *value;

    if (json_absent(tools))
        return ERR_OK;
    if (!json_is_object(tools))
        return err_set(err, ERR_INVALID, "%s: expected keys and values", path);
    json_object_foreach (tools, name, value) {
        if (!tool_registry_find(group, name))
            return err_set(err, ERR_INVALID, "%s: the tool group '%s' has no tool '%.64s'",
                           path, group, name);
        read_switch(tools, name);
        if (!json_is_boolean(json_object_get(tools, name)))
            return no_switch(path, name, err);
    }
    return ERR_OK;
}

static enum err_code check_group(const char *group, json_t *said, const char *path,
                                 struct err *err)
{
    AUTO_FREE char *tools = mem_printf("%s.tools", path);
    const char *key;
    json_t *value;

    json_object_foreach (said, key, value) {
        if (strcmp(key, "enabled") != 0 && strcmp(key, "tools") != 0)
            return err_set(err, ERR_INVALID, "unknown key: %s.%.64s", path, key);
    }
    read_switch(said, "enabled");
    if (json_object_get(said, "enabled") && !json_is_boolean(json_object_get(said, "enabled")))
        return no_switch(path, "enabled", err);
    return check_group_tools(group, json_object_get(said, "tools"), tools, err);
}

static enum err_code check_groups(json_t *groups, struct err *err)
{
    const char *name;
    json_t *value;

    if (json_absent(groups))
        return ERR_OK;
    if (!json_is_object(groups))
        return err_set(err, ERR_INVALID, "tools.groups: expected keys and values");
    json_object_foreach (groups, name, value) {
        AUTO_FREE char *path = mem_printf("tools.groups.%.64s", name);
        enum err_code rc = ERR_OK;

        if (!tool_registry_has_group(name))
            return err_set(err, ERR_INVALID, "tools.groups: there is no tool group '%.64s'",
                           name);
        if (json_is_object(value)) {
            rc = check_group(name, value, path, err);
        } else {
            read_switch(groups, name);
            if (!json_is_boolean(json_object_get(groups, name)))
                rc = no_switch("tools.groups", name, err);
        }
        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* ---- permissions ---- */

static enum err_code check_permissions(const json_t *set, struct err *err)
{
    static const char *const switches[] = {"autoExecute", "requireExecutionApproval",
                                           "requireResultApproval"};
    const char *key;
    json_t *declared;

    if (json_absent(set))
        return ERR_OK;
    json_object_foreach ((json_t *)(uintptr_t)set, key, declared) {
        for (size_t i = 0; i < COUNT_OF(switches); i++)
            read_switch(declared, switches[i]);
        if (!tool_registry_names(key))
            return err_set(
                err, ERR_INVALID,
                "tools.permissions: there is no tool '%.128s': expected group/tool, or a "
                "group",
                key);
    }
    return permissions_check(set, "tools.permissions", err);
}

/* ---- Entry points ---- */

enum err_code config_tools_check(json_t *tools, struct err *err)
{
    enum err_code rc = check_groups(json_object_get(tools, "groups"), err);

    return rc ? rc : check_permissions(json_object_get(tools, "permissions"), err);
}

bool config_tools_ignore_taint(const json_t *tools)
{
    bool on = true;

    (void)config_switch_parse(json_get_string(tools, "taint", ""), &on);
    return !on;
}

/* Single tools first: tools that are off stay off when their group is turned on. */
static void apply_group(const char *group, const json_t *said)
{
    const json_t *enabled = json_is_object(said) ? json_object_get(said, "enabled") : said;
    const char *name;
    json_t *on;

    json_object_foreach (json_object_get(said, "tools"), name, on) {
        if (json_is_false(on))
            tool_registry_remove(group, name);
    }
    if (json_is_false(enabled))
        tool_registry_remove(group, NULL);
    else if (json_is_true(enabled))
        tool_registry_turn_on(group);
}

void config_tools_apply(const json_t *tools)
{
    const char *group;
    json_t *said;

    json_object_foreach (json_object_get(tools, "groups"), group, said)
        apply_group(group, said);
}
