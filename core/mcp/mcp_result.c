/*
 * mcp_result.c -- blocks of content become parts of a tool's result.
 *
 * Nothing that a server returns is dropped. A block of a kind that is not known here becomes its JSON as
 * text, so the model can at least read it, and a newer version of MCP does not lose content.
 *
 * Structured content usually repeats the text in another form. It is used only if no block has text, so
 * the model does not read the same thing twice. The schema that a server declares for it is not checked:
 * the reader is a model, and an error would hide the content from it.
 */

#include "core/mcp/mcp_result.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

static void add_part(struct tool_result *result, enum tool_part_kind kind, const json_t *block,
                     const char *data_key, const char *url_key)
{
    const char *data = data_key ? json_get_string(block, data_key, NULL) : NULL;

    tool_result_add_part(
        result, (struct tool_part){
                    .kind = kind,
                    .mime_type = mem_strdup(json_get_string(block, "mimeType", NULL)),
                    .data = mem_strdup(data),
                    .length = data ? strlen(data) : 0,
                    .url = mem_strdup(url_key ? json_get_string(block, url_key, NULL) : NULL),
                });
}

static void add_resource(struct tool_result *result, const json_t *block)
{
    const json_t *resource = json_object_get(block, "resource");
    const char *text = json_get_string(resource, "text", NULL);

    if (text)
        tool_result_add_text(result, text);
    else
        add_part(result, TOOL_PART_FILE, resource, "blob", "uri");
}

/* A block of an unknown kind is shown as JSON. */
static void add_unknown(struct tool_result *result, const json_t *block)
{
    AUTO_FREE char *text = json_text(block);

    tool_result_add_text(result, text);
}

static void add_block(struct tool_result *result, const json_t *block)
{
    const char *type = json_get_string(block, "type", "");

    if (strcmp(type, "text") == 0)
        tool_result_add_text(result, json_get_string(block, "text", ""));
    else if (strcmp(type, "image") == 0)
        add_part(result, TOOL_PART_IMAGE, block, "data", NULL);
    else if (strcmp(type, "audio") == 0)
        add_part(result, TOOL_PART_FILE, block, "data", NULL);
    else if (strcmp(type, "resource") == 0)
        add_resource(result, block);
    else if (strcmp(type, "resource_link") == 0)
        add_part(result, TOOL_PART_URL, block, NULL, "uri");
    else
        add_unknown(result, block);
}

static bool has_text(const struct tool_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        if (result->parts[i].kind == TOOL_PART_TEXT)
            return true;
    }
    return false;
}

enum err_code mcp_result_read(const json_t *given, struct tool_result *ret_result,
                              bool *ret_failed, struct err *err)
{
    const json_t *content = json_object_get(given, "content");
    const json_t *structured = json_object_get(given, "structuredContent");
    struct tool_result result = {0};
    size_t i;
    json_t *block;

    if (!json_is_array(content) && !json_is_object(structured))
        return err_set(err, ERR_UPSTREAM, "its answer is no result of a tool");
    if (json_array_size(content) > MCP_CONTENT_LIMIT)
        return err_set(err, ERR_UPSTREAM, "its result has more than %zu parts",
                       MCP_CONTENT_LIMIT);
    json_array_foreach (content, i, block)
        add_block(&result, block);
    if (json_is_object(structured) && !has_text(&result))
        add_unknown(&result, structured);
    *ret_result = result;
    *ret_failed = json_get_bool(given, "isError", false);
    return ERR_OK;
}
