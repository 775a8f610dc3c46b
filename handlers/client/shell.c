/*
 * shell -- commands that the client runs in its own shell.
 *
 * The server executes nothing. Each command has events of its own (`parts`), so the item opens without
 * commands and gets them one by one.
 *
 * Unlike local_shell, a call without a proper list of commands is refused, and the model reads why. The
 * newer tool has a result for each command, so one that is left out could not be answered.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/arguments.h"
#include "handlers/handlers.h"
#include "handlers/support/json_as_text.h"

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

/* The largest count; not much beyond it a double cannot hold every integer. */
#define COUNT_LIMIT 1e15

/* A number as an integer, null without one. New reference. */
static json_t *read_count(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_number(value) || json_number_value(value) < 0 ||
        json_number_value(value) >= COUNT_LIMIT)
        return json_null();
    return json_integer((json_int_t)json_number_value(value));
}

static json_t *make_action(const json_t *arguments, json_t *commands)
{
    return json_build("{s:o, s:o, s:o}", "commands", commands, "timeout_ms",
                      read_count(arguments, "timeout_ms"), "max_output_length",
                      read_count(arguments, "max_output_length"));
}

static json_t *make_fields(json_t *action)
{
    return json_build("{s:o, s:{s:s}}", "action", action, "environment", "type", "local");
}

/* One string is one command. */
static enum err_code read_commands(const json_t *arguments, json_t **ret_commands,
                                   struct err *err)
{
    json_t *given = json_object_get(arguments, "commands");
    json_auto_t *commands = NULL;
    size_t i;
    json_t *command;

    if (json_is_string(given))
        commands = json_build("[O]", given);
    else if (json_is_array(given))
        commands = json_incref(given);
    if (!json_array_size(commands))
        return err_set(err, ERR_INVALID,
                       "'commands' must be a list of at least one command line.");
    json_array_foreach (commands, i, command) {
        if (!json_is_string(command))
            return err_set(err, ERR_INVALID, "Each of 'commands' must be a string.");
    }
    *ret_commands = json_incref(commands);
    return ERR_OK;
}

static enum err_code announce(const char *name, const char *arguments,
                              struct tool_announcement *ret, struct err *err)
{
    json_auto_t *object = NULL;
    json_t *commands = NULL;
    enum err_code rc = tool_arguments_read(name, NULL, arguments, NULL, &object, err);

    if (!rc)
        rc = read_commands(object, &commands, err);
    if (rc)
        return rc;
    ret->opening = make_fields(make_action(object, json_array()));
    ret->fields = make_fields(make_action(object, commands));
    return ERR_OK;
}

static const json_t *commands_of(const json_t *body)
{
    return json_object_get(json_object_get(body, "action"), "commands");
}

static const struct item_parts commands = {
    .event = "response.shell_call_command",
    .key = "command",
    .index = "command_index",
    .list = commands_of,
};

/* A container would be the server's. */
static const char *unavailable(const json_t *entry)
{
    const json_t *environment = json_object_get(entry, "environment");

    return strcmp(json_get_string(environment, "type", "local"), "local") == 0
               ? NULL
               : "it has no containers, so the environment must be 'local'";
}

/* ---- The way back ---- */

static const char *name_of(const json_t *body)
{
    (void)body;
    return "shell";
}

/* What was left open is left out. */
static json_t *arguments_of(const json_t *body)
{
    json_t *action = json_copy(json_object_get(body, "action"));
    const char *key;
    void *next;
    json_t *value;

    json_object_foreach_safe(action, next, key, value)
    {
        if (json_is_null(value))
            json_object_del(action, key);
    }
    return action;
}

/* A list, one entry for each command. */
static json_t *output_of(const json_t *body, const char *status)
{
    json_t *output = json_object_get(body, "output");

    (void)status;
    return json_absent(output) ? json_incref(output) : json_as_text(output);
}

static const struct tool_item item = {
    .type = "shell_call",
    .parts = &commands,
    .name = name_of,
    .arguments = arguments_of,
    .output = output_of,
};

const struct tool_handler shell_handler = {
    .name = "shell",
    .description =
        "Runs commands in a shell on the user's machine and returns what they printed "
        "and how they ended.",
    .parameters = parameters,
    .announce = announce,
    .unavailable = unavailable,
    .item = &item,
};
