#include "core/run/context/past_calls.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
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
    const char *name; /* what the model calls it; NULL: the item says */
    json_t *(*arguments)(const json_t *body); /* NULL: the item has them as text */
} client_calls[ITEM_TYPE_COUNT] = {
    [ITEM_CUSTOM_TOOL_CALL] = {NULL,          input_of},
    [ITEM_LOCAL_SHELL_CALL] = {"local_shell", action_of},
    [ITEM_SHELL_CALL]       = {"shell",       commands_of},
    [ITEM_APPLY_PATCH_CALL] = {"apply_patch", operation_of},
    [ITEM_COMPUTER_CALL]    = {"computer",    actions_of},
    [ITEM_TOOL_SEARCH_CALL] = {"tool_search", query_of},
};
/* clang-format on */

/* ---- Calls ---- */

/* A member of a call. Calls of hosted tools keep what the model said and heard under "runnel". */
static const char *call_text(const json_t *body, const char *key)
{
    const char *text = json_get_string(body, key, NULL);

    return text ? text : json_get_string(notes_of(body), key, NULL);
}

/* A search that another server made for itself was no call of a function. */
static bool is_foreign(enum item_type type, const json_t *body)
{
    return type == ITEM_TOOL_SEARCH_CALL &&
           strcmp(json_get_string(body, "execution", ""), "server") == 0;
}

bool past_is_call(enum item_type type, const json_t *body)
{
    if (item_type_kind(type) == ITEM_KIND_HOSTED_CALL)
        return json_object_get(notes_of(body), "arguments") != NULL;
    return item_type_is_call(type) && !is_foreign(type, body);
}

/* Without a name of its own, a call goes by its type */
char *past_call_name(enum item_type type, const json_t *body)
{
    const char *known = client_calls[type].name;
    const char *space = json_get_string(body, "namespace", NULL);
    const char *offered = json_get_string(notes_of(body), "function", NULL);
    const char *name = offered ? offered : call_text(body, "name");
    const char *type_name = item_type_name(type);

    if (type == ITEM_COMPUTER_CALL && !is_batch(body))
        return mem_strdup("computer_use_preview");
    if (known)
        return mem_strdup(known);
    if (name)
        return space ? tool_set_spaced_name(space, name) : mem_strdup(name);
    return *type_name ? mem_strndup(type_name, strlen(type_name) - strlen("_call"))
                      : mem_strdup("tool");
}

char *past_call_arguments(enum item_type type, const json_t *body)
{
    json_t *(*arguments)(const json_t *) = client_calls[type].arguments;
    json_auto_t *made = arguments ? arguments(body) : NULL;
    const char *text = call_text(body, "arguments");

    if (made)
        return json_text(made);
    return mem_strdup(text ? text : "");
}

/* ---- Outputs ---- */

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

json_t *past_output(enum item_type type, const char *status, const json_t *body)
{
    json_t *output = json_object_get(body, "output");

    if (type == ITEM_APPLY_PATCH_CALL_OUTPUT)
        return patch_output(body, status);
    if (type == ITEM_COMPUTER_CALL_OUTPUT && json_is_object(output))
        return screen_output(body);
    if (type == ITEM_TOOL_SEARCH_OUTPUT)
        return search_output(body);
    if (type == ITEM_SHELL_CALL_OUTPUT && !json_absent(output))
        return as_text(output);
    return json_incref(output);
}

const char *past_own_output(enum item_type type, const json_t *body)
{
    const json_t *hosted = notes_of(body);
    const json_t *error = json_object_get(body, "error");
    const char *output = json_get_string(body, "output", NULL);

    if (withheld_is(body))
        return withheld_told(body);
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
