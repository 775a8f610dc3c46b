/*
 * Python -- a script in a box of its own. It sees no variables of other calls and leaves none; the hosted code
 * interpreter keeps them.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/sandbox/workspace/workspace.h"
#include "handlers/handlers.h"
#include "handlers/support/script/one_shot.h"
#include "handlers/support/workspace_call.h"

/* Declares the variables and runs the script as the main module. Its own frame is left out of tracebacks. The
 * environment is for programs that the script starts. */
static const char runner[] =
    "import json, os, sys, traceback, types\n"
    "folder, path = '" ONE_SHOT_FOLDER "/', sys.argv[1]\n"
    "module = types.ModuleType('__main__')\n"
    "names = vars(module)\n"
    "names['__file__'] = path\n"
    "if os.path.exists(folder + 'vars.json'):\n"
    "    with open(folder + 'vars.json', encoding='utf-8') as file:\n"
    "        names.update(json.load(file))\n"
    "    with open(folder + 'exported', encoding='utf-8') as file:\n"
    "        for name in json.load(file):\n"
    "            with open(folder + 'vars/' + name, encoding='utf-8', newline='') as value:\n"
    "                os.environ[name] = value.read()\n"
    "with open(path, encoding='utf-8') as file:\n"
    "    code = file.read()\n"
    "sys.argv[:] = [path]\n"
    "sys.path[0] = os.getcwd()\n"
    "sys.modules['__main__'] = module\n"
    "try:\n"
    "    exec(compile(code, path, 'exec'), names)\n"
    "except SystemExit:\n"
    "    raise\n"
    "except BaseException as error:\n"
    "    traceback.print_exception(type(error), error, error.__traceback__.tb_next)\n"
    "    sys.exit(1)\n";

static enum err_code plan(struct tool_call *call, struct err *err)
{
    return one_shot_check(json_object_get(tool_call_args(call), "injectVar"), err);
}

/* A file that stays, in the folder where the script starts: "/mnt/data/a/script_4f2a.py". */
static enum err_code keep(struct tool_call *call, const char *folder, const char *code,
                          char **ret_path, struct err *err)
{
    const char *id = tool_call_id(call);
    size_t length = strlen(id);
    const struct workspace *workspace = NULL;
    AUTO_FREE char *path =
        mem_printf("%s/script_%s.py", folder, id + (length > 12 ? length - 12 : 0));
    const struct workspace_target target = {.path = path, .place = WORKSPACE_FREE};
    enum err_code rc = call_workspace(call, &workspace, err);

    rc = rc ? rc : workspace_write(workspace, &target, code, strlen(code), NULL, err);
    if (!rc)
        *ret_path = TAKE(path);
    return rc;
}

static enum err_code execute(struct tool_call *call, const char *folder, const char *kept,
                             struct one_shot_end *ret_end, struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *code = json_get_string(args, "code", "");
    const struct one_shot_file files[] = {
        {"run.py", runner, sizeof(runner) - 1}, {"script.py", code, strlen(code)}, {0}};
    const char *const arguments[] = {"/usr/bin/python3",
                                     "-u",
                                     "-B",
                                     ONE_SHOT_FOLDER "/run.py",
                                     kept ? kept : ONE_SHOT_FOLDER "/script.py",
                                     NULL};

    return one_shot_run(call,
                        &(struct one_shot){.files = files,
                                           .variables = json_object_get(args, "injectVar"),
                                           .folder = folder,
                                           .arguments = arguments},
                        ret_end, err);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    CLEANUP(one_shot_end_clear) struct one_shot_end end = {0};
    AUTO_FREE char *folder = NULL, *kept = NULL;
    enum err_code rc = one_shot_check(json_object_get(args, "injectVar"), err);

    rc =
        rc ? rc : one_shot_folder(call, json_get_string(args, "directory", NULL), &folder, err);
    if (!rc && json_is_true(json_object_get(args, "keepFile")))
        rc = keep(call, folder, json_get_string(args, "code", ""), &kept, err);
    rc = rc ? rc : execute(call, folder, kept, &end, err);
    if (rc)
        return rc;
    one_shot_report(call, "Python", &end, ret_result);
    if (kept) {
        AUTO_FREE char *line = mem_printf("[file]\n%s", kept);

        tool_result_add_text(ret_result, line);
    }
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"code\"],"
    " \"properties\": {"
    "\"code\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1048576,"
    "  \"description\": \"The script.\"},"
    "\"directory\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"Where it starts; /mnt/data if it is missing.\"},"
    "\"injectVar\": {\"type\": \"object\", \"description\": \"Variables that the script has: "
    "texts, numbers and other JSON. References such as $VAR_REF{{name}} may stand for a "
    "value.\"},"
    "\"keepFile\": {\"type\": \"boolean\", \"default\": false,"
    "  \"description\": \"Keep the script as a file in its directory.\"}}}";

static const char *const tags[] = {"script", "python", NULL};

const struct tool_handler script_python_handler = {
    .name = "Python",
    .group = "script",
    .description =
        "Runs a Python script in the workspace, /mnt/data. There is no network. Both "
        "output streams come back.",
    .parameters = parameters,
    .flags = TOOL_NEEDS_SANDBOX | TOOL_NEEDS_PYTHON | TOOL_TAKES_SEAT | TOOL_OWN_BOX |
             TOOL_IN_ORDER | TOOL_ACTS,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .returns = {"string", "[stdout] and [stderr]"},
    .tags = tags,
    .plan = plan,
    .run = run,
};
