/*
 * local_shell -- a command that the client runs on its own machine.
 *
 * The server executes nothing. It turns the arguments into the `action` of the call and leaves
 * out members of a wrong type. A call whose command cannot be read gets an empty command, so that no
 * client runs a part of one.
 *
 * Clear mistakes of models are repaired (a line instead of a list, 5 instead of "5"), because the intention
 * is clear. Everything else is left out rather than guessed: the client runs what it gets.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"command\"],"
    " \"properties\": {"
    "  \"command\": {\"type\": \"array\", \"items\": {\"type\": \"string\"},"
    "   \"description\": \"The program and its arguments, e.g. [\\\"ls\\\", \\\"-l\\\"].\"},"
    "  \"env\": {\"type\": \"object\", \"additionalProperties\": {\"type\": \"string\"},"
    "   \"description\": \"Environment variables to set.\"},"
    "  \"timeout_ms\": {\"type\": \"integer\", \"minimum\": 0,"
    "   \"description\": \"Milliseconds after which the command is stopped.\"},"
    "  \"user\": {\"type\": \"string\", \"description\": \"The user to run it as.\"},"
    "  \"working_directory\": {\"type\": \"string\","
    "   \"description\": \"The directory to run it in.\"}}}";

/* A value as the string it is to be on the wire: numbers and such as their JSON text. */
static json_t *as_string(const json_t *value)
{
    AUTO_FREE char *text = NULL;

    if (json_is_string(value))
        return json_build("s", json_string_value(value));
    text = json_text(value);
    return json_build("s", text);
}

/* The command as a list of words. A single string is a line for a shell. */
static json_t *make_command(const json_t *command)
{
    json_t *words = json_build("[]");
    const json_t *word;
    size_t i;

    if (json_is_string(command)) {
        json_decref(words);
        return json_build("[sss]", "sh", "-c", json_string_value(command));
    }
    json_array_foreach (command, i, word)
        json_array_append_new(words, as_string(word));
    return words;
}

static json_t *make_env(json_t *env)
{
    json_t *strings = json_build("{}");
    const char *name;
    json_t *value;

    json_object_foreach (env, name, value)
        json_set(strings, name, as_string(value));
    return strings;
}

static void copy_string(json_t *action, const json_t *arguments, const char *key)
{
    const char *text = json_get_string(arguments, key, NULL);

    if (text)
        json_set_string(action, key, text);
}

static enum err_code announce(const char *name, const char *arguments,
                              struct tool_announcement *ret, struct err *err)
{
    json_auto_t *object = NULL;
    const json_t *timeout;
    json_t *action;

    (void)name;
    (void)err;
    /* Arguments that are not JSON leave `object` NULL: an empty command. */
    (void)!json_parse_exact(arguments, strlen(arguments), &object, NULL);
    action = json_build("{s:s, s:o, s:o}", "type", "exec", "command",
                        make_command(json_object_get(object, "command")), "env",
                        make_env(json_object_get(object, "env")));
    timeout = json_object_get(object, "timeout_ms");
    if (json_is_numeric(timeout) && json_double(timeout) >= 0 && json_double(timeout) < 1e15)
        json_set_int(action, "timeout_ms", (json_int_t)json_double(timeout));
    copy_string(action, object, "user");
    copy_string(action, object, "working_directory");

    ret->fields = json_build("{s:o}", "action", action);
    return ERR_OK;
}

/* ---- The way back ---- */

static const char *name_of(const json_t *body)
{
    (void)body;
    return "local_shell";
}

static json_t *arguments_of(const json_t *body)
{
    return json_incref(json_object_get(body, "action"));
}

static const struct tool_item item = {
    .type = "local_shell_call",
    .name = name_of,
    .arguments = arguments_of,
};

const struct tool_handler local_shell_handler = {
    .name = "local_shell",
    .description = "Runs a command on the user's machine and returns what it printed.",
    .parameters = parameters,
    .announce = announce,
    .item = &item,
};
