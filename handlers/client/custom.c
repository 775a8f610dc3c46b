/*
 * custom -- a tool of the application that takes free text instead of JSON.
 *
 * Chat Completions upstreams know functions only, so the model is offered a function with one
 * string, `input`, and the client gets that string. An upstream that has custom tools is offered the tool
 * as it is (TOOL_FREE_TEXT).
 *
 * The input is never an error. All that the model has written is text, and the application decides what it
 * is worth.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"input\"],"
    " \"properties\": {"
    "  \"input\": {\"type\": \"string\", \"description\": \"The text for the tool.\"}}}";

/* The input. When a model has left out the object around it, the whole text is the input. */
static char *find_input(const char *arguments)
{
    json_auto_t *object = NULL;
    const json_t *input;

    if (json_parse_exact(arguments, strlen(arguments), &object, NULL))
        return mem_strdup(arguments);
    if (json_is_text(object))
        return mem_strdup(json_string_value(object));
    input = json_object_get(object, "input");
    if (!input)
        return mem_strdup(arguments);
    return json_is_text(input) ? mem_strdup(json_string_value(input)) : json_text(input);
}

static enum err_code announce(const char *name, const char *arguments,
                              struct tool_announcement *ret, struct err *err)
{
    AUTO_FREE char *input = find_input(arguments);

    (void)err;
    ret->opening = json_build("{s:s, s:s}", "name", name, "input", "");
    ret->fields = json_build("{s:s, s:s}", "name", name, "input", input);
    return ERR_OK;
}

/* A server that knows functions only cannot enforce a grammar; so the description has it. */
static json_t *init(const struct tool_context *context)
{
    const json_t *format = json_object_get(context->entry, "format");
    const char *definition = json_get_string(format, "definition", NULL);
    const char *description = json_get_string(context->entry, "description", "");
    AUTO_FREE char *text = NULL;

    if (!definition)
        return json_build("{s:s}", "description", description);
    text = mem_printf("%s%sThe input must match this grammar (%s):\n%s", description,
                      *description ? "\n\n" : "", json_get_string(format, "syntax", ""),
                      definition);
    return json_build("{s:s}", "description", text);
}

/* ---- The way back ---- */

static json_t *arguments_of(const json_t *body)
{
    return json_build("{s:s}", "input", json_get_string(body, "input", ""));
}

static const struct tool_item item = {
    .type = "custom_tool_call",
    .arguments = arguments_of,
};

const struct tool_handler custom_handler = {
    .name = "custom",
    .flags = TOOL_NAMED | TOOL_FREE_TEXT,
    .parameters = parameters,
    .announce = announce,
    .item = &item,
    .init = init,
};
