/*
 * Secrets of tools, taken apart from what is stored.
 *
 * The tools of a request are stored with the run and shown to clients again. So its secrets are
 * removed before that, when the request is read, and travel beside the tools in a tree of their
 * own. The position of the entry links the two.
 *
 * The alternative is to store secrets encrypted. OpenAI does not keep them either: clients send
 * them with every request. So a run that continues in another residency has lost them, and
 * run_servers.c says so in the output of its calls.
 */

#include "core/run/catalog/tool_secrets.h"

#include <stdint.h>

#include "core/base/compiler.h"
#include "core/base/json.h"

static const char *const keys[] = {"authorization", "headers"};

static bool is_empty(const json_t *value)
{
    return json_absent(value) || (json_is_object(value) && !json_object_size(value));
}

static bool has_secrets(const json_t *tool)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (!is_empty(json_object_get(tool, keys[i])))
            return true;
    }
    return false;
}

static json_t *secrets_of(const json_t *tool)
{
    json_t *secrets;

    if (!has_secrets(tool))
        return json_null();
    secrets = json_object();
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = json_object_get(tool, keys[i]);

        if (!is_empty(value))
            json_set(secrets, keys[i], json_deep_copy(value));
    }
    return secrets;
}

json_t *tool_secrets_of(const json_t *tools)
{
    json_t *all = json_array();
    bool any = false;
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool) {
        any |= has_secrets(tool);
        json_array_append_new(all, secrets_of(tool));
    }
    if (any)
        return all;
    json_decref(all);
    return NULL;
}

static json_t *strip(json_t *tool)
{
    bool marked = has_secrets(tool);
    json_t *copy = json_copy(tool);

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        json_object_del(copy, keys[i]);
    if (marked)
        json_set_bool(copy, TOOL_SECRETS_MARK, true);
    return copy;
}

json_t *tool_secrets_strip(const json_t *tools)
{
    json_t *all = json_array();
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool)
        json_array_append_new(all, json_is_object(tool) ? strip(tool) : json_incref(tool));
    return all;
}

bool tool_had_secrets(const json_t *tool)
{
    return json_get_bool(tool, TOOL_SECRETS_MARK, false);
}
