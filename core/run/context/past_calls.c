/*
 * past_calls.c -- the way back from items to functions.
 *
 * A call goes out to the client in a form of its own, and comes back from the store, or from the client,
 * in that form: a shell_call has an action with commands, and no name or arguments. The model must read a
 * call of the function that it was offered, or it would learn to call in the wrong form. Each handler
 * therefore brings both ways in its tool_item. What this file does itself holds for all of them.
 *
 * Members are looked up in two places. An item shows clients what OpenAI's API has, and a hosted call
 * shows neither name nor arguments. What the model wrote is then in the item's notes, the object `runnel`
 * (core/domain/notes.h). Items of other servers have no such notes.
 */

#include "core/run/context/past_calls.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/domain/withheld.h"
#include "core/model/call_name.h"
#include "core/run/catalog/tool_set.h"
#include "core/tool/registry.h"

/* What the tool of such a call says about its items; NULL: they are as of any function. */
static const struct tool_item *item_of(enum item_type type)
{
    return tool_registry_item(item_type_name(type));
}

/* ---- Calls ---- */

/* A member of a call's item. Hosted calls have it in their notes. */
static const char *call_text(const json_t *body, const char *key)
{
    const char *text = json_get_string(body, key, NULL);

    return text ? text : json_get_string(notes_of(body), key, NULL);
}

/* The upstream has executed it, and nothing is known of its output. */
static bool is_silent(const json_t *body)
{
    const json_t *notes = notes_of(body);

    return json_is_true(json_object_get(notes, NOTE_PASSED)) &&
           !json_is_string(json_object_get(notes, "output"));
}

bool past_is_call(enum item_type type, const json_t *body)
{
    const struct tool_item *item;

    if (!item_type_is_call(type))
        return false;
    if (item_type_kind(type) == ITEM_KIND_HOSTED_CALL)
        return json_object_get(notes_of(body), "arguments") && !is_silent(body);
    item = item_of(type);
    return !item || !item->is_call || item->is_call(body);
}

/* A call whose item has no name is called by its type, without "_call". A client that keeps its history
 * itself may have kept a name that this server would have repaired. */
char *past_call_name(enum item_type type, const json_t *body)
{
    const struct tool_item *item = item_of(type);
    const char *space = json_get_string(body, "namespace", NULL);
    const char *offered = json_get_string(notes_of(body), "function", NULL);
    const char *given = offered ? offered : call_text(body, "name");
    AUTO_FREE char *name = given ? mem_strndup(given, call_name_length(given)) : NULL;
    const char *type_name = item_type_name(type);

    if (item && item->name)
        return mem_strdup(item->name(body));
    if (name)
        return space ? tool_set_spaced_name(space, name) : TAKE(name);
    if (item && item->function)
        return mem_strdup(item->function);
    return *type_name ? mem_strndup(type_name, strlen(type_name) - strlen("_call"))
                      : mem_strdup("tool");
}

char *past_call_arguments(enum item_type type, const json_t *body)
{
    const struct tool_item *item = item_of(type);
    json_auto_t *made = item && item->arguments ? item->arguments(body) : NULL;
    const char *text = call_text(body, "arguments");

    if (made)
        return json_text(made);
    return mem_strdup(text ? text : "");
}

/* ---- Outputs ---- */

json_t *past_output(enum item_type type, const char *status, const json_t *body)
{
    const struct tool_item *item = item_of(item_type_answers(type));

    if (withheld_is(body)) /* of a call that was executed here: struct item_answer */
        return json_string(withheld_placeholder(body));
    if (item && item->output)
        return item->output(body, status);
    return json_incref(json_object_get(body, "output"));
}

const char *past_own_output(enum item_type type, const json_t *body)
{
    const json_t *hosted = notes_of(body);
    const json_t *error = json_object_get(body, "error");
    const char *output = json_get_string(body, "output", NULL);

    /* A result that no person has approved yet must not reach the model: withheld.h. */
    if (withheld_is(body))
        return withheld_placeholder(body);
    if (type != ITEM_MCP_CALL) { /* a hosted call; a client's call has no such notes */
        output = json_get_string(hosted, "output", NULL);
        return output ? output : json_get_string(hosted, "error", NULL);
    }
    if (output)
        return output;
    output =
        json_get_string(json_array_get(json_object_get(error, "content"), 0), "text", NULL);
    if (!output)
        output = json_get_string(error, "message", NULL);
    return output ? output
                  : json_get_string(hosted, "output", NULL); /* a rejected call has it there */
}
