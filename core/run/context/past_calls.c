#include "core/run/context/past_calls.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/withheld.h"
#include "core/run/catalog/tool_set.h"

/* ---- Calls of the client ---- */

static json_t *input_of(const json_t *body)
{
    return json_build("{s:s}", "input", json_get_string(body, "input", ""));
}

static json_t *action_of(const json_t *body)
{
    return json_incref(json_object_get(body, "action"));
}

/* What was left open is left out. */
static json_t *commands_of(const json_t *body)
{
    json_t *action = json_copy(json_object_get(body, "action"));
    const char *key;
    void *next;
    json_t *value;

    json_object_foreach_safe(action, next, key, value)
    {
        if (json_is_null(value))
            json_object_del(action, key);
    }
    return action;
}

static json_t *operation_of(const json_t *body)
{
    return json_incref(json_object_get(body, "operation"));
}

static bool is_batch(const json_t *body)
{
    return json_is_array(json_object_get(body, "actions"));
}

static json_t *actions_of(const json_t *body)
{
    const char *key = is_batch(body) ? "actions" : "action";

    return json_build("{s:O}", key, json_object_get(body, key));
}

static json_t *query_of(const json_t *body)
{
    return json_incref(json_object_get(body, "arguments"));
}

/* clang-format off */
static const struct past_type {
    const char *type;
    const char *name; /* what the model calls it; NULL: the item says */
    json_t *(*arguments)(const json_t *body); /* NULL: the item has them as text */
} client_calls[] = {
    {"function_call",    NULL,          NULL},
    {"custom_tool_call", NULL,          input_of},
    {"local_shell_call", "local_shell", action_of},
    {"shell_call",       "shell",       commands_of},
    {"apply_patch_call", "apply_patch", operation_of},
    {"computer_call",    "computer",    actions_of},
    {"tool_search_call", "tool_search", query_of},
};
/* clang-format on */

static const struct past_type *find_type(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(client_calls); i++) {
        if (strcmp(type, client_calls[i].type) == 0)
            return &client_calls[i];
    }
    return NULL;
}

/* ---- Calls ---- */

/* A member of a call. Calls of hosted tools keep what the model said and heard under "runnel". */
static const char *call_text(const json_t *body, const char *key)
{
    const char *text = json_get_string(body, key, NULL);

    return text ? text : json_get_string(json_object_get(body, "runnel"), key, NULL);
}

/* A search that another server made for itself was no call of a function. */
static bool is_foreign(const char *type, const json_t *body)
{
    return strcmp(type, "tool_search_call") == 0 &&
           strcmp(json_get_string(body, "execution", ""), "server") == 0;
}

bool past_is_call(const char *type, const json_t *body)
{
    if (is_foreign(type, body))
        return false;
    if (find_type(type) || strcmp(type, "mcp_call") == 0)
        return true;
    return !past_is_output(type) &&
           json_object_get(json_object_get(body, "runnel"), "arguments");
}

bool past_is_client_call(const char *type)
{
    return find_type(type);
}

/* Without a name of its own, a call goes by its type. */
char *past_call_name(const char *type, const json_t *body)
{
    const struct past_type *known = find_type(type);
    const char *space = json_get_string(body, "namespace", NULL);
    const char *offered = json_get_string(json_object_get(body, "runnel"), "function", NULL);
    const char *name = offered ? offered : call_text(body, "name");

    if (strcmp(type, "computer_call") == 0 && !is_batch(body))
        return mem_strdup("computer_use_preview");
    if (known && known->name)
        return mem_strdup(known->name);
    if (name)
        return space ? tool_set_spaced_name(space, name) : mem_strdup(name);
    return mem_strndup(type, strlen(type) - strlen("_call"));
}

char *past_call_arguments(const char *type, const json_t *body)
{
    const struct past_type *known = find_type(type);
    json_auto_t *made = known && known->arguments ? known->arguments(body) : NULL;
    const char *text = call_text(body, "arguments");

    if (made)
        return json_text(made);
    return mem_strdup(text ? text : "");
}

/* ---- Outputs ---- */

bool past_is_output(const char *type)
{
    static const char suffix[] = "_call_output";
    size_t length = strlen(type);

    if (strcmp(type, "tool_search_output") == 0)
        return true;
    return length >= sizeof(suffix) &&
           strcmp(type + length - (sizeof(suffix) - 1), suffix) == 0;
}

static json_t *as_text(const json_t *value)
{
    AUTO_FREE char *text = json_text(value);

    return json_string_nocheck(text);
}

static json_t *patch_output(const json_t *body, const char *status)
{
    json_auto_t *said = json_build("{s:s}", "status", status);

    if (json_get_string(body, "output", NULL))
        json_object_set(said, "output", json_object_get(body, "output"));
    return as_text(said);
}

/* A picture of the screen is a picture. */
static json_t *screen_output(const json_t *body)
{
    json_t *image = json_copy(json_object_get(body, "output"));

    json_set_string(image, "type", "input_image");
    return json_build("[o]", image);
}

/* The tools themselves are offered with the next question. */
static json_t *search_output(const json_t *body)
{
    json_auto_t *names = json_array();
    json_auto_t *said = json_build("{s:O}", "loaded", names);
    size_t i;
    json_t *tool;

    json_array_foreach (json_object_get(body, "tools"), i, tool) {
        const char *fallback = json_get_string(tool, "type", "");

        json_array_append_new(names, json_string(json_get_string(tool, "name", fallback)));
    }
    return as_text(said);
}

json_t *past_output(const char *type, const char *status, const json_t *body)
{
    json_t *output = json_object_get(body, "output");

    if (strcmp(type, "apply_patch_call_output") == 0)
        return patch_output(body, status);
    if (strcmp(type, "computer_call_output") == 0 && json_is_object(output))
        return screen_output(body);
    if (strcmp(type, "tool_search_output") == 0)
        return search_output(body);
    if (strcmp(type, "shell_call_output") == 0 && !json_absent(output))
        return as_text(output);
    return json_incref(output);
}

const char *past_own_output(const char *type, const json_t *body)
{
    const json_t *hosted = json_object_get(body, "runnel");
    const json_t *error = json_object_get(body, "error");
    const char *output = json_get_string(body, "output", NULL);

    if (withheld_is(body))
        return withheld_told(body);
    if (strcmp(type, "mcp_call") != 0) {
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
