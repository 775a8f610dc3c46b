/*
 * Custom scripts -- functions of a module that a project has brought (server/api/runnel/scripts.c), as tools.
 *
 *   {"type": "mcp", "server_label": "weather", "server_url": "script:<id>"}
 *
 * The entry stands for all functions of the module. Their definitions were read by a parser when the script came, and
 * the run has taken a copy of the source when it was accepted. So what a person has approved is what is executed. The
 * hash of the source is the revision: a script that was changed is another tool for approvals.
 *
 * A call runs in a box of its own: the module, and a program that imports it, calls one function and prints one object
 * as JSON. What the module prints itself goes to the other stream.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/script/one_shot.h"
#include "handlers/support/workspace_call.h"

#define SCHEME     "script:"
#define TIMEOUT_MS 30000

static const char runner[] =
    "import importlib.util, inspect, json, os, sys, traceback\n"
    "folder = '" ONE_SHOT_FOLDER "/'\n"
    "out = os.fdopen(os.dup(1), 'w', encoding='utf-8')\n"
    "os.dup2(2, 1)\n"
    "def main(name):\n"
    "    with open(folder + 'args.json', encoding='utf-8') as file:\n"
    "        args = json.load(file)\n"
    "    spec = importlib.util.spec_from_file_location('module', folder + 'module.py')\n"
    "    module = importlib.util.module_from_spec(spec)\n"
    "    sys.modules['module'] = module\n"
    "    spec.loader.exec_module(module)\n"
    "    function = getattr(module, name)\n"
    "    result = function(**args)\n"
    "    if inspect.iscoroutine(result):\n"
    "        import asyncio\n"
    "        result = asyncio.run(result)\n"
    "    answer = {'success': True, 'result': result}\n"
    "    if callable(getattr(function, 'format', None)):\n"
    "        try:\n"
    "            text = function.format(result, args)\n"
    "            if isinstance(text, str):\n"
    "                answer['formattedText'] = text\n"
    "        except Exception as error:\n"
    "            answer['formatWarning'] = str(error)\n"
    "    return answer\n"
    "try:\n"
    "    text = json.dumps(main(sys.argv[1]), ensure_ascii=False, allow_nan=False)\n"
    "except Exception as error:\n"
    "    text = json.dumps({'success': False, 'error': str(error) or type(error).__name__,\n"
    "                       'traceback': traceback.format_exc()}, ensure_ascii=False)\n"
    "out.write(text)\n"
    "out.flush()\n";

/* ---- What the entry stands for ---- */

static bool serves(const json_t *entry)
{
    return strncmp(json_get_string(entry, "server_url", ""), SCHEME, strlen(SCHEME)) == 0;
}

static const json_t *script_of(const struct tool_context *context)
{
    const char *url = json_get_string(context->entry, "server_url", SCHEME);

    return json_object_get(context->settings->scripts, url + strlen(SCHEME));
}

static json_t *definition_of(const json_t *script, const json_t *function)
{
    return json_build("{s:s, s:O, s:s, s:{s:s, s:s}, s:{s:s, s:O}}", "description",
                      json_get_string(function, "description", ""), "parameters",
                      json_object_get(function, "parameters"), "revision",
                      json_get_string(script, "hash", ""), "permission", "execution",
                      json_get_string(function, "execution_policy", "ask-always"), "result",
                      json_get_string(function, "result_policy", "always"), "own", "function",
                      json_get_string(function, "name", ""), "source",
                      json_object_get(script, "source"));
}

static json_t *members(const struct tool_context *context)
{
    const json_t *script = script_of(context);
    json_t *found = json_object();
    json_t *function;
    size_t i;

    json_array_foreach (json_object_get(script, "functions"), i, function)
        json_set(found, json_get_string(function, "name", ""), definition_of(script, function));
    return found;
}

static const char *about(const struct tool_context *context)
{
    const char *rules = json_get_string(script_of(context), "rules", "");

    return *rules ? rules : NULL;
}

/* ---- A call ---- */

static enum err_code execute(struct tool_call *call, struct one_shot_end *ret_end,
                             struct err *err)
{
    const json_t *own = json_object_get(tool_call_config(call), "own");
    const char *source = json_get_string(own, "source", "");
    AUTO_FREE char *args = json_text(tool_call_args(call));
    const struct one_shot_file files[] = {{"run.py", runner, sizeof(runner) - 1},
                                          {"module.py", source, strlen(source)},
                                          {"args.json", args, strlen(args)},
                                          {0}};
    const char *const arguments[] = {"/usr/bin/python3",
                                     "-u",
                                     "-B",
                                     ONE_SHOT_FOLDER "/run.py",
                                     json_get_string(own, "function", ""),
                                     NULL};

    return one_shot_run(call,
                        &(struct one_shot){.files = files,
                                           .folder = ONE_SHOT_FOLDER,
                                           .arguments = arguments,
                                           .timeout_ms = TIMEOUT_MS},
                        ret_end, err);
}

static void fail(struct tool_result *ret_result, const char *text)
{
    tool_result_add_text(ret_result, text);
    tool_result_end(ret_result, TOOL_ERROR, text);
}

/* Without the object that the program prints, the output itself is the result. */
static void report(const struct one_shot_end *end, struct tool_result *ret_result)
{
    json_auto_t *answer = NULL;
    const char *formatted;
    struct err why_not;

    if (json_parse(end->output, strlen(end->output), &answer, &why_not))
        answer = NULL; /* the module has written there, too */
    formatted = json_get_string(answer, "formattedText", NULL);
    if (json_is_false(json_object_get(answer, "success"))) {
        AUTO_FREE char *why = mem_printf("Python execution error:\n%s\n\n%s",
                                         json_get_string(answer, "error", ""),
                                         json_get_string(answer, "traceback", ""));

        fail(ret_result, why);
    } else if (end->fault) {
        AUTO_FREE char *why = mem_printf("Python execution error: %s%s%s", end->fault,
                                         *end->problems ? "\n" : "", end->problems);

        fail(ret_result, why);
    } else if (!json_is_object(answer)) {
        tool_result_add_text(ret_result, end->output);
    } else if (formatted) {
        tool_result_add_text(ret_result, formatted);
    } else {
        tool_result_set_data(ret_result, json_incref(json_object_get(answer, "result")));
    }
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    CLEANUP(one_shot_end_clear) struct one_shot_end end = {0};
    enum err_code rc = execute(call, &end, err);

    if (rc)
        return rc;
    report(&end, ret_result);
    tool_result_describe(ret_result, NULL, call_described(call, json_object()));
    return ERR_OK;
}

static const char parameters[] = "{\"type\": \"object\"}";

const struct tool_handler script_custom_handler = {
    .name = "script_function",
    .group = "scripts",
    .description = "A function of a script that the project has brought.",
    .parameters = parameters,
    .serves = serves,
    .members = members,
    .about = about,
    .flags = TOOL_HOSTED | TOOL_NEEDS_SANDBOX | TOOL_NEEDS_PYTHON | TOOL_TAKES_SEAT |
             TOOL_ACTS | TOOL_OWN_BOX | TOOL_IN_ORDER,
    .permission = {EXECUTION_ASK_ONCE, RESULT_NEVER},
    .run = run,
};
