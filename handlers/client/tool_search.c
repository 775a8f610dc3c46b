/*
 * tool_search -- the client looks for tools that it has and has not shown yet.
 *
 * What it searches by is its own affair: it may bring a description and a schema. The tools that it
 * finds come back with the output and are offered from then on.
 */

#include "core/base/json.h"
#include "core/tool/arguments.h"
#include "handlers/handlers.h"

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

static const struct tool_item item = {
    .type = "tool_search_call",
};

const struct tool_handler tool_search_handler = {
    .name = "tool_search",
    .description = "Looks for further tools. Those that are found can be called afterwards.",
    .parameters = parameters,
    .announce = announce,
    .item = &item,
    .init = init,
};
