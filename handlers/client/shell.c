/*
 * shell -- commands that the client runs in its own shell.
 *
 * The server executes nothing here; in a container it does (hosted/container_shell.c).
 *
 * Unlike local_shell, a call without a proper list of commands is refused, and the model reads why. The
 * newer tool has a result for each command, so one that is left out could not be answered.
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/tool/arguments.h"
#include "handlers/handlers.h"
#include "handlers/items/shell_item.h"

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"commands\"],"
    " \"properties\": {"
    "  \"commands\": {\"type\": \"array\", \"items\": {\"type\": \"string\"},"
    "   \"description\": \"Command lines for the shell, run one after another.\"},"
    "  \"timeout_ms\": {\"type\": \"integer\", \"minimum\": 0,"
    "   \"description\": \"Milliseconds after which the commands are stopped.\"},"
    "  \"max_output_length\": {\"type\": \"integer\", \"minimum\": 0,"
    "   \"description\": \"How many characters of output are wanted at most.\"}}}";

/* An item with these commands. */
static json_t *item_fields(const json_t *arguments, json_t *commands)
{
    return shell_fields(arguments, commands, json_build("{s:s}", "type", "local"));
}

static enum err_code announce(const char *name, const char *arguments,
                              struct tool_announcement *ret, struct err *err)
{
    json_auto_t *object = NULL;
    json_t *commands = NULL;
    enum err_code rc = tool_arguments_read(name, NULL, arguments, NULL, &object, err);

    if (!rc)
        rc = shell_commands(object, &commands, err);
    if (rc)
        return rc;
    ret->opening = item_fields(object, json_array());
    ret->fields = item_fields(object, commands);
    return ERR_OK;
}

/* Those in a container are the server's. */
static bool is_local(const json_t *entry)
{
    const json_t *environment = json_object_get(entry, "environment");

    return strcmp(json_get_string(environment, "type", "local"), "local") == 0;
}

/* The skills on the client's machine. The model reads them there, with commands. */
static json_t *init(const struct tool_context *context)
{
    const json_t *environment = json_object_get(context->entry, "environment");
    AUTO_BUF note = {0};
    size_t i;
    json_t *skill;

    json_array_foreach (json_object_get(environment, "skills"), i, skill) {
        if (!note.length)
            buf_add_text(&note,
                         "Skills, folders of instructions for one kind of task each. Before "
                         "such a task, read SKILL.md in the folder:");
        buf_addf(&note, "\n- %s: %s (%s)", json_get_string(skill, "name", ""),
                 json_get_string(skill, "description", ""), json_get_string(skill, "path", ""));
    }
    return note.length ? json_build("{s:s}", "note", note.data) : json_object();
}

const struct tool_handler shell_handler = {
    .name = "shell",
    .description =
        "Runs commands in a shell on the user's machine and returns what they printed "
        "and how they ended.",
    .parameters = parameters,
    .announce = announce,
    .serves = is_local,
    .init = init,
    .item = &shell_item,
};
