/*
 * tool_search -- the client searches among tools that it has not offered yet.
 *
 * How the client searches is its own affair: the entry may have a description and a schema. The tools that
 * it finds come with the output, and are offered to the model from then on (TOOL_LOADS).
 *
 * The model sees of the output only the names of the tools. Their definitions are in the next request
 * anyway, and would otherwise be paid for twice.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/tool/arguments.h"
#include "handlers/handlers.h"
#include "handlers/support/json_as_text.h"

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"query\"],"
    " \"properties\": {"
    "  \"query\": {\"type\": \"string\", \"description\": \"What the tool should do.\"}}}";

static enum err_code announce(const char *name, const char *arguments,
                              struct tool_announcement *ret, struct err *err)
{
    json_t *object = NULL;
    enum err_code rc =
        tool_arguments_read(name, NULL, *arguments ? arguments : "{}", NULL, &object, err);

    if (rc)
        return rc;
    ret->fields = json_build("{s:s, s:o}", "execution", "client", "arguments", object);
    return ERR_OK;
}

static json_t *init(const struct tool_context *context)
{
    static const char *const keys[] = {"description", "parameters"};
    json_t *described = json_object();

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = json_object_get(context->entry, keys[i]);

        if (!json_absent(value))
            json_object_set(described, keys[i], value);
    }
    return described;
}

/* An entry for a search by the server is skipped: this server offers all tools at once. */
static bool is_clients(const json_t *entry)
{
    return strcmp(json_get_string(entry, "execution", "server"), "client") == 0;
}

/* ---- The way back ---- */

static const char *name_of(const json_t *body)
{
    (void)body;
    return "tool_search";
}

/* A search that another server made for itself was no call of a function. */
static bool is_call(const json_t *body)
{
    return strcmp(json_get_string(body, "execution", ""), "server") != 0;
}

static json_t *arguments_of(const json_t *body)
{
    return json_incref(json_object_get(body, "arguments"));
}

/* The tools themselves are offered with the next request to the model. */
static json_t *output_of(const json_t *body, const char *status)
{
    json_auto_t *names = json_array();
    json_auto_t *shown = json_build("{s:O}", "loaded", names);
    size_t i;
    json_t *tool;

    (void)status;
    json_array_foreach (json_object_get(body, "tools"), i, tool) {
        const char *fallback = json_get_string(tool, "type", "");

        json_array_append_new(names, json_string(json_get_string(tool, "name", fallback)));
    }
    return json_as_text(shown);
}

static const struct tool_item item = {
    .type = "tool_search_call",
    .name = name_of,
    .is_call = is_call,
    .arguments = arguments_of,
    .output = output_of,
};

const struct tool_handler tool_search_handler = {
    .name = "tool_search",
    .description = "Looks for further tools. Those that are found can be called afterwards.",
    .parameters = parameters,
    .flags = TOOL_LOADS,
    .announce = announce,
    .is_clients = is_clients,
    .item = &item,
    .init = init,
};
