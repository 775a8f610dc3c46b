#include "core/run/context/past_calls.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/domain/withheld.h"
#include "core/run/catalog/tool_set.h"
#include "core/tool/registry.h"

/* How the tool of such a call has it; NULL: as everybody. */
static const struct tool_item *look_of(enum item_type type)
{
    return tool_registry_item(item_type_name(type));
}

/* ---- Calls ---- */

/* A member of a call. Calls of hosted tools keep what the model said and heard under "runnel". */
static const char *call_text(const json_t *body, const char *key)
{
    const char *text = json_get_string(body, key, NULL);

    return text ? text : json_get_string(notes_of(body), key, NULL);
}

bool past_is_call(enum item_type type, const json_t *body)
{
    const struct tool_item *look;

    if (!item_type_is_call(type))
        return false;
    if (item_type_kind(type) == ITEM_KIND_HOSTED_CALL)
        return json_object_get(notes_of(body), "arguments") != NULL;
    look = look_of(type);
    return !look || !look->is_call || look->is_call(body);
}

/* Without a name of its own, a call goes by its type. */
char *past_call_name(enum item_type type, const json_t *body)
{
    const struct tool_item *look = look_of(type);
    const char *space = json_get_string(body, "namespace", NULL);
    const char *offered = json_get_string(notes_of(body), "function", NULL);
    const char *name = offered ? offered : call_text(body, "name");
    const char *type_name = item_type_name(type);

    if (look && look->name)
        return mem_strdup(look->name(body));
    if (name)
        return space ? tool_set_spaced_name(space, name) : mem_strdup(name);
    return *type_name ? mem_strndup(type_name, strlen(type_name) - strlen("_call"))
                      : mem_strdup("tool");
}

char *past_call_arguments(enum item_type type, const json_t *body)
{
    const struct tool_item *look = look_of(type);
    json_auto_t *made = look && look->arguments ? look->arguments(body) : NULL;
    const char *text = call_text(body, "arguments");

    if (made)
        return json_text(made);
    return mem_strdup(text ? text : "");
}

/* ---- Outputs ---- */

json_t *past_output(enum item_type type, const char *status, const json_t *body)
{
    const struct tool_item *look = look_of(item_type_answers(type));

    if (look && look->output)
        return look->output(body, status);
    return json_incref(json_object_get(body, "output"));
}

const char *past_own_output(enum item_type type, const json_t *body)
{
    const json_t *hosted = notes_of(body);
    const json_t *error = json_object_get(body, "error");
    const char *output = json_get_string(body, "output", NULL);

    if (withheld_is(body))
        return withheld_text(body);
    if (type != ITEM_MCP_CALL) {
        output = json_get_string(hosted, "output", NULL);
        return output ? output : json_get_string(hosted, "error", NULL);
    }
    if (output)
        return output;
    output =
        json_get_string(json_array_get(json_object_get(error, "content"), 0), "text", NULL);
    if (!output)
        output = json_get_string(error, "message", NULL);
    return output ? output : json_get_string(hosted, "output", NULL); /* it was rejected */
}
