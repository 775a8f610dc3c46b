/*
 * Shell -- a script for bash, in a box of its own.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/script/one_shot.h"
#include "handlers/support/workspace_call.h"

/* Sets the variables from their files and leaves no trace of itself; 1 behind a name puts it into the environment. The
 * last character keeps line breaks, which $(...) takes away. */
static const char prelude[] =
    "while [ $# -gt 0 ]; do\n"
    "__value=$(cat \"" ONE_SHOT_FOLDER "/vars/$1\" && printf x) || exit\n"
    "printf -v \"$1\" %s \"${__value%x}\"\n"
    "[ \"$2\" = 0 ] || export \"$1\"\n"
    "shift 2\n"
    "done\n"
    "unset __value\n"
    ". " ONE_SHOT_FOLDER "/script.sh";

static enum err_code plan(struct tool_call *call, struct err *err)
{
    return one_shot_check(json_object_get(tool_call_args(call), "injectVar"), err);
}

static bool is_in(const json_t *names, const char *name)
{
    size_t i;
    json_t *each;

    json_array_foreach (names, i, each) {
        if (strcmp(json_string_value(each), name) == 0)
            return true;
    }
    return false;
}

static enum err_code execute(struct tool_call *call, const char *folder,
                             struct one_shot_end *ret_end, struct err *err)
{
    const char *command = json_get_string(tool_call_args(call), "command", "");
    json_t *variables = json_object_get(tool_call_args(call), "injectVar"), *value;
    json_auto_t *exported = one_shot_exported(variables);
    const struct one_shot_file files[] = {{"script.sh", command, strlen(command)}, {0}};
    const char *arguments[5 + 2 * ONE_SHOT_VARIABLES] = {"/bin/bash", "-c", prelude, "bash"};
    size_t count = 4;
    const char *name;

    json_object_foreach (variables, name, value) {
        arguments[count++] = name;
        arguments[count++] = is_in(exported, name) ? "1" : "0";
    }
    return one_shot_run(
        call,
        &(struct one_shot){
            .files = files, .variables = variables, .folder = folder, .arguments = arguments},
        ret_end, err);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    CLEANUP(one_shot_end_clear) struct one_shot_end end = {0};
    AUTO_FREE char *folder = NULL;
    enum err_code rc = one_shot_check(json_object_get(args, "injectVar"), err);

    rc =
        rc ? rc : one_shot_folder(call, json_get_string(args, "directory", NULL), &folder, err);
    rc = rc ? rc : execute(call, folder, &end, err);
    if (!rc)
        one_shot_report(call, "Shell", &end, ret_result);
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"command\"],"
    " \"properties\": {"
    "\"command\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1048576,"
    "  \"description\": \"The commands, or a whole script.\"},"
    "\"directory\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"Where they start; /mnt/data if it is missing.\"},"
    "\"injectVar\": {\"type\": \"object\", \"description\": \"Variables for the script, as "
    "$NAME: texts, numbers and other JSON. References such as $VAR_REF{{name}} may stand for a "
    "value.\"}}}";

static const char *const tags[] = {"script", "shell", NULL};

const struct tool_handler script_shell_handler = {
    .name = "Shell",
    .group = "script",
    .description = "Runs commands with bash in the workspace, /mnt/data. There is no network. "
                   "Both output streams come back.",
    .parameters = parameters,
    .flags = TOOL_NEEDS_SANDBOX | TOOL_TAKES_SEAT | TOOL_OWN_BOX | TOOL_IN_ORDER | TOOL_ACTS,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .returns = {"string", "[stdout] and [stderr]"},
    .tags = tags,
    .plan = plan,
    .run = run,
};
