/*
 * patch_item.c -- a patch on its way to clients and back to models.
 *
 * The model is offered a function with the members of an operation, because Chat Completions upstreams have functions
 * only. The client sees OpenAI's item, with the operation as an object.
 */

#include "handlers/items/patch_item.h"

#include <string.h>

#include "core/base/json.h"
#include "core/tool/tool.h"
#include "handlers/support/json_as_text.h"

const char patch_parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"type\", \"path\"],"
    " \"properties\": {"
    "  \"type\": {\"type\": \"string\", \"description\": \"What to do with the file.\","
    "   \"enum\": [\"create_file\", \"update_file\", \"delete_file\"]},"
    "  \"path\": {\"type\": \"string\","
    "   \"description\": \"The file, relative to the root of the workspace.\"},"
    "  \"diff\": {\"type\": \"string\", \"description\":"
    "   \"For create_file all lines of the new file, each with '+' before it. For update_file "
    "the "
    "changes: '@@' begins a section, optionally with a line that tells where it is; then lines "
    "of "
    "context with ' ', removed lines with '-' and added lines with '+' before them. Not for "
    "delete_file.\"}}}";

static bool is_known(const char *type)
{
    return strcmp(type, "create_file") == 0 || strcmp(type, "update_file") == 0 ||
           strcmp(type, "delete_file") == 0;
}

/* Some models put the operation into an object of its own, as in the item. */
static const json_t *find_operation(const json_t *arguments)
{
    const json_t *inner = json_object_get(arguments, "operation");

    return json_is_object(inner) ? inner : arguments;
}

enum err_code patch_operation(const json_t *arguments, json_t **ret_operation, struct err *err)
{
    const json_t *given = find_operation(arguments);
    const char *type = json_get_string(given, "type", "");
    const char *path = json_get_string(given, "path", "");
    const char *diff = json_get_string(given, "diff", NULL);

    if (!is_known(type))
        return err_set(err, ERR_INVALID,
                       "'type' must be create_file, update_file or delete_file.");
    if (!*path)
        return err_set(err, ERR_INVALID, "'path' must name a file.");
    if (!diff && strcmp(type, "delete_file") != 0)
        return err_set(err, ERR_INVALID, "'diff' must say what the file is to contain.");
    *ret_operation = json_build("{s:s, s:s}", "type", type, "path", path);
    if (strcmp(type, "delete_file") != 0)
        json_set_string(*ret_operation, "diff", diff);
    return ERR_OK;
}

/* ---- In a container ---- */

/* As far as the model wrote it. */
static json_t *call_fields(const json_t *args)
{
    const json_t *given = find_operation(args);
    const char *type = json_get_string(given, "type", "");
    json_t *operation = json_build("{s:s, s:s}", "type", is_known(type) ? type : "update_file",
                                   "path", json_get_string(given, "path", ""));

    if (strcmp(type, "delete_file") != 0)
        json_set_string(operation, "diff", json_get_string(given, "diff", ""));
    return json_build("{s:o}", "operation", operation);
}

static void fill_output(json_t *fields, const json_t *args, const struct tool_result *result,
                        const char *why)
{
    const json_t *said = result ? json_object_get(result->data, "output") : NULL;

    (void)args;
    json_set_string(fields, "output", said ? json_string_value(said) : why ? why : "");
}

static const struct item_answer answer = {
    .type = "apply_patch_call_output",
    .fields = "{}",
    .call = call_fields,
    .fill = fill_output,
};

/* ---- The way back ---- */

static const char *name_of(const json_t *body)
{
    (void)body;
    return "apply_patch";
}

static json_t *arguments_of(const json_t *body)
{
    return json_incref(json_object_get(body, "operation"));
}

json_t *patch_outcome(bool applied, const char *output)
{
    json_auto_t *shown = json_build("{s:s}", "status", applied ? "completed" : "failed");

    if (output)
        json_set_string(shown, "output", output);
    return json_as_text(shown);
}

static json_t *output_of(const json_t *body, const char *status)
{
    return patch_outcome(strcmp(status, "completed") == 0,
                         json_get_string(body, "output", NULL));
}

const struct tool_item patch_item = {
    .type = "apply_patch_call",
    .answer = &answer,
    .name = name_of,
    .arguments = arguments_of,
    .output = output_of,
};
