/*
 * shell_item.c -- a shell call on its way to clients and back to models.
 *
 * Each command has events of its own (`parts`), so the item opens without commands and gets them one by one. The output
 * of a call that ran here is an item like the one that a client would send, so a model reads both alike.
 */

#include "handlers/items/shell_item.h"

#include "core/base/json.h"
#include "core/tool/tool.h"
#include "handlers/support/json_as_text.h"

/* The largest count; not much beyond it a double cannot hold every integer. */
#define COUNT_LIMIT 1e15

/* The exit code of a command that was not executed, as shells have it. */
#define NOT_EXECUTED 126

/* A number as an integer, null without one. New reference. */
static json_t *read_count(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_number(value) || json_number_value(value) < 0 ||
        json_number_value(value) >= COUNT_LIMIT)
        return json_null();
    return json_integer((json_int_t)json_number_value(value));
}

json_t *shell_fields(const json_t *arguments, json_t *commands, json_t *environment)
{
    json_t *action = json_build("{s:o, s:o, s:o}", "commands", commands, "timeout_ms",
                                read_count(arguments, "timeout_ms"), "max_output_length",
                                read_count(arguments, "max_output_length"));

    return json_build("{s:o, s:o}", "action", action, "environment", environment);
}

enum err_code shell_commands(const json_t *arguments, json_t **ret_commands, struct err *err)
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

/* ---- In a container ---- */

static json_t *call_fields(const json_t *args)
{
    json_t *given = NULL;

    return shell_fields(
        args, shell_commands(args, &given, NULL) ? json_array() : given,
        json_build("{s:s, s:s}", "type", "container_reference", "container_id", ""));
}

static void fill_output(json_t *fields, const json_t *args, const struct tool_result *result,
                        const char *why)
{
    json_t *output = result ? json_object_get(result->data, "output") : NULL;

    json_set(fields, "max_output_length", read_count(args, "max_output_length"));
    json_set(fields, "output",
             output ? json_incref(output)
                    : json_build("[{s:s, s:s, s:{s:s, s:i}}]", "stdout", "", "stderr",
                                 why ? why : "", "outcome", "type", "exit", "exit_code",
                                 NOT_EXECUTED));
}

static const struct item_answer answer = {
    .type = "shell_call_output",
    .fields = "{\"max_output_length\":null,\"output\":[]}",
    .event = "response.shell_call_output_content",
    .call = call_fields,
    .fill = fill_output,
};

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

const struct tool_item shell_item = {
    .type = "shell_call",
    .answer = &answer,
    .parts = &commands,
    .name = name_of,
    .arguments = arguments_of,
    .output = output_of,
};
