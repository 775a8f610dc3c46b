/*
 * override.c -- merges overrides of tool groups, and answers questions about the merged result.
 *
 * A group has a short form (true or false) and a long form ({"enabled", "tools"}). Both mean the same, so
 * a merge of two levels writes both in the long form first. Members are then merged one by one: a thread
 * that turns off one tool does not repeat what its assistant says about the others.
 *
 * null means that the level says nothing. A level cannot take back what a wider level says; it can only
 * say the opposite.
 *
 * Nothing here looks at the registry. An override of a group that no longer exists is never looked up, so
 * stored assistants survive the removal of a tool.
 */

#include "core/tool/override.h"

#include <stdint.h>

#include "core/base/json.h"

static const char enabled_key[] = "enabled";

/* ---- Merging ---- */

/* The long form, without members that are null. New reference. */
static json_t *long_form(json_t *override)
{
    json_t *whole;

    if (json_is_boolean(override))
        return json_build("{s:O}", enabled_key, override);
    whole = json_deep_copy(override);
    if (json_is_null(json_object_get(whole, enabled_key)))
        json_object_del(whole, enabled_key);
    if (json_is_null(json_object_get(whole, "tools")))
        json_object_del(whole, "tools");
    return whole;
}

static json_t *merge_one(json_t *wide, json_t *narrow)
{
    json_auto_t *over = long_form(narrow);
    json_t *both = long_form(wide);

    json_object_update_recursive(both, over);
    return both;
}

json_t *overrides_merge(const json_t *wide, const json_t *narrow)
{
    const char *name;
    json_t *override;
    json_t *both;

    if (!json_is_object(wide) && !json_is_object(narrow))
        return NULL;
    /* A shallow copy: merge_one() makes new values instead of changing those that `wide` shares. */
    both = json_is_object(wide) ? json_copy((json_t *)(uintptr_t)wide) : json_object();
    json_object_foreach ((json_t *)(uintptr_t)narrow, name, override) {
        json_t *under = json_object_get(both, name);

        if (json_is_null(override))
            continue;
        json_object_set_new(both, name,
                            json_absent(under) ? json_incref(override)
                                               : merge_one(under, override));
    }
    return both;
}

/* ---- Reading ---- */

const json_t *overrides_find(const json_t *overrides, const char *group)
{
    const json_t *override = json_object_get(overrides, group);

    return json_absent(override) ? NULL : override;
}

static const json_t *enabled_of(const json_t *overrides, const char *group)
{
    const json_t *override = overrides_find(overrides, group);

    return json_is_object(override) ? json_object_get(override, enabled_key) : override;
}

bool overrides_enable(const json_t *overrides, const char *group)
{
    return json_is_true(enabled_of(overrides, group));
}

bool overrides_disable(const json_t *overrides, const char *group)
{
    return json_is_false(enabled_of(overrides, group));
}

bool overrides_disable_tool(const json_t *overrides, const char *group, const char *tool)
{
    const json_t *tools = json_object_get(overrides_find(overrides, group), "tools");

    return json_is_false(json_object_get(tools, tool));
}
