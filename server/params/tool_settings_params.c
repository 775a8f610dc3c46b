#include "server/params/tool_settings_params.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/run/catalog/tool_settings.h"
#include "core/store/tables/tool_settings.h"
#include "core/tool/registry.h"
#include "server/complaint.h"
#include "server/params/group_params.h"
#include "server/params/params.h"
#include "server/params/permission_params.h"

/*
 * Settings of tools have two halves here. The first checks what a client writes for a project or a
 * user. The second reads, for each new run, what counts for its project and its user.
 *
 * They are read once, when the run is accepted, and go into its settings. An operator who tightens a
 * policy changes new runs and not those under way: a run whose policies could change between a call
 * and its approval would be hard to explain, and every call would cost a query.
 *
 * The check knows the registry of this server, unlike that of the sets in requests: a client lists the
 * tools of its own remote servers there, under labels of its own choosing. Settings of a project are
 * about this server's tools, so a name that is not in the registry is a typing error.
 */

/* ---- Checking ---- */

static enum err_code check_permissions(const json_t *set, struct err *err)
{
    const char *key;
    json_t *declared;

    if (json_absent(set))
        return ERR_OK;
    json_object_foreach ((json_t *)(uintptr_t)set, key, declared) {
        const struct param_path here = param_key("permissions", key);

        if (!tool_registry_names(key))
            return err_invalid(err, "invalid_value", here.text,
                               "Invalid value: there is no tool '%.128s' on this server. "
                               "Expected 'group/tool' or 'group'.",
                               key);
    }
    return permissions_check(set, "permissions", err);
}

enum err_code tool_settings_check(const json_t *body, struct err *err)
{
    static const char *const known[] = {"tool_groups", "permissions", NULL};
    enum err_code rc = param_unknown_strict(body, "", known, err);

    if (!rc)
        rc = group_params_check(body, "", err);
    return rc ? rc : check_permissions(json_object_get(body, "permissions"), err);
}

enum err_code tool_settings_user_check(const json_t *body, struct err *err)
{
    const char *name;
    enum err_code rc = param_string(body, "", "user", PARAM_OPTIONAL, USER_LIMIT, &name, err);

    return rc ? rc
              : param_string(body, "", "safety_identifier", PARAM_OPTIONAL,
                             SAFETY_IDENTIFIER_LIMIT, &name, err);
}

/* ---- For a new run ---- */

/* NULL if the project or the user has no row. */
static json_t *parse_row(const struct tool_settings_row *row)
{
    json_t *settings;

    if (!*row->id)
        return NULL;
    settings = json_object();
    json_set_own(settings, "tool_groups", row->tool_groups);
    json_set_own(settings, "permissions", row->permissions);
    return settings;
}

enum err_code tool_settings_load(struct store *store, const struct tenant *tenant,
                                 json_t **ret_settings, struct err *err)
{
    CLEANUP(tool_settings_row_clear) struct tool_settings_row projects = {0};
    CLEANUP(tool_settings_row_clear) struct tool_settings_row users = {0};
    enum err_code rc = store_tool_settings_for(store, tenant, &projects, &users, err);
    json_auto_t *wide = NULL;
    json_auto_t *narrow = NULL;
    json_t *both;

    if (rc)
        return rc;
    wide = parse_row(&projects);
    narrow = parse_row(&users);
    both = tool_settings_merge(wide, narrow);
    if (both)
        *ret_settings = both;
    return ERR_OK;
}

enum err_code tool_settings_apply(struct store *store, const struct tenant *tenant,
                                  struct run_settings *settings, struct err *err)
{
    struct tenant asking = *tenant;
    json_t *found = NULL;
    enum err_code rc;

    /* The body names the user, and authentication has not read it. */
    asking.user = run_settings_user(settings);
    rc = tool_settings_load(store, &asking, &found, err);
    run_settings_set_tools(settings, found);
    return rc;
}
