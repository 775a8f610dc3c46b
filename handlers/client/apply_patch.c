/*
 * apply_patch -- one file that the client creates, changes or deletes.
 *
 * The server touches no file. An incomplete operation never reaches the client: a diff without a
 * file, or a file without its diff, could only do harm. The model gets the error instead, and writes the
 * operation again.
 *
 * The model is offered a function with the members of an operation, because Chat Completions upstreams
 * have functions only. The client sees OpenAI's item, with the operation as an object.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/tool/arguments.h"
#include "handlers/handlers.h"
#include "handlers/support/json_as_text.h"

static const char parameters[] =
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

static enum err_code make_operation(const json_t *given, json_t **ret_operation,
                                    struct err *err)
{
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

static enum err_code announce(const char *name, const char *arguments,
                              struct tool_announcement *ret, struct err *err)
{
    json_auto_t *object = NULL;
    json_t *operation = NULL;
    enum err_code rc = tool_arguments_read(name, NULL, arguments, NULL, &object, err);

    if (!rc)
        rc = make_operation(find_operation(object), &operation, err);
    if (rc)
        return rc;
    ret->fields = json_build("{s:o}", "operation", operation);
    return ERR_OK;
}

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

static json_t *output_of(const json_t *body, const char *status)
{
    json_auto_t *shown = json_build("{s:s}", "status", status);

    if (json_get_string(body, "output", NULL))
        json_object_set(shown, "output", json_object_get(body, "output"));
    return json_as_text(shown);
}

static const struct tool_item item = {
    .type = "apply_patch_call",
    .name = name_of,
    .arguments = arguments_of,
    .output = output_of,
};

const struct tool_handler apply_patch_handler = {
    .name = "apply_patch",
    .description = "Creates, changes or deletes one file of the user's workspace.",
    .parameters = parameters,
    .announce = announce,
    .item = &item,
};
