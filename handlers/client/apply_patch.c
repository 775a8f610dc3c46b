/*
 * apply_patch -- one file that the client creates, changes or deletes.
 *
 * The server touches no file here; in a container it does (hosted/container_patch.c). An incomplete operation never
 * reaches the client: a diff without a file, or a file without its diff, could only do harm. The model gets the error
 * instead, and writes the operation again.
 */

#include "core/base/json.h"
#include "core/domain/notes.h"
#include "core/tool/arguments.h"
#include "handlers/handlers.h"
#include "handlers/items/patch_item.h"

static enum err_code announce(const char *name, const char *arguments,
                              struct tool_announcement *ret, struct err *err)
{
    json_auto_t *object = NULL;
    json_t *operation = NULL;
    enum err_code rc = tool_arguments_read(name, NULL, arguments, NULL, &object, err);

    if (!rc)
        rc = patch_operation(object, &operation, err);
    if (rc)
        return rc;
    ret->fields = json_build("{s:o}", "operation", operation);
    return ERR_OK;
}

/* Those that name this server are the server's. */
static bool is_clients(const json_t *entry)
{
    return !json_get_bool(notes_of(entry), "execute", false);
}

const struct tool_handler apply_patch_handler = {
    .name = "apply_patch",
    .description = "Creates, changes or deletes one file of the user's workspace.",
    .parameters = patch_parameters,
    .announce = announce,
    .serves = is_clients,
    .item = &patch_item,
};
