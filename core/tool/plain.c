#include "core/tool/plain.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/call_internal.h"

/* The handler comes first, so that it is found again from it. */
struct plain_handler {
    struct tool_handler handler;
    const struct plain_tool *tool;
    char *parameters;
};

static enum err_code run_plain(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    const struct plain_handler *plain = (const struct plain_handler *)call->handler;
    AUTO_FREE char *text = plain->tool->run(tool_call_args(call), err);

    if (!text)
        return err->code;
    tool_result_add_text(ret_result, text);
    return ERR_OK;
}

static json_t *property_of(const struct plain_parameter *parameter)
{
    json_t *property = json_build("{s:s, s:s}", "type", parameter->type, "description",
                                  parameter->description);
    json_t *words = json_array();

    for (size_t i = 0; parameter->words && parameter->words[i]; i++)
        json_array_append_new(words, json_string(parameter->words[i]));
    if (json_array_size(words))
        json_object_set(property, "enum", words);
    json_decref(words);
    if (parameter->fallback)
        json_set_own(property, "default", parameter->fallback);
    return property;
}

static char *schema_of(const struct plain_tool *tool)
{
    json_t *properties = json_object();
    json_t *required = json_array();
    json_auto_t *schema =
        json_build("{s:s, s:b, s:o, s:o}", "type", "object", "additionalProperties", 0,
                   "required", required, "properties", properties);

    for (const struct plain_parameter *at = tool->parameters; at->name; at++) {
        json_set(properties, at->name, property_of(at));
        if (at->required)
            json_array_append_new(required, json_string(at->name));
    }
    return json_text(schema);
}

struct tool_handler *plain_handler_new(const struct plain_tool *tool)
{
    struct plain_handler *plain = mem_new(struct plain_handler);

    plain->tool = tool;
    plain->parameters = schema_of(tool);
    plain->handler = (struct tool_handler){
        .name = tool->name,
        .group = tool->group,
        .description = tool->description,
        .parameters = plain->parameters,
        .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY,
        .run = run_plain,
        .returns = {tool->returns ? "string" : NULL, tool->returns},
        .tags = tool->tags,
    };
    return &plain->handler;
}

void plain_handler_free(const struct tool_handler *handler)
{
    struct plain_handler *plain = (struct plain_handler *)(uintptr_t)handler;

    if (handler->run != run_plain)
        return;
    free(plain->parameters);
    free(plain);
}
