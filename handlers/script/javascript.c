/*
 * JavaScript -- code for Node.js in a box of its own, and in a context without Node's own names.
 *
 * The context keeps honest code from files and processes, as the description says. It is no wall: code can leave a
 * context of Node. The box is the wall.
 *
 * Code is a script whose last expression counts, or, if it returns or awaits, the body of an async function.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/script/one_shot.h"
#include "handlers/support/workspace_call.h"

#define TIMEOUT_MS 5000

static const char runner[] =
    "'use strict';\n"
    "const fs = require('fs'), util = require('util'), vm = require('vm');\n"
    "const folder = '" ONE_SHOT_FOLDER "/';\n"
    "const code = fs.readFileSync(folder + 'script.js', 'utf8');\n"
    "const values = JSON.parse(fs.readFileSync(folder + 'vars.json', 'utf8'));\n"
    "const show = value => typeof value === 'string' ? value : util.inspect(value);\n"
    "let said = false;\n"
    "const out = (...list) => { said = true; process.stdout.write(list.map(show).join(' ') + "
    "'\\n'); };\n"
    "const err = (...list) => process.stderr.write(list.map(show).join(' ') + '\\n');\n"
    "const context = vm.createContext({console: {log: out, info: out, debug: out, warn: err, "
    "error: err},\n"
    "  setTimeout, clearTimeout, setInterval, clearInterval, queueMicrotask, structuredClone,\n"
    "  TextEncoder, TextDecoder, URL, URLSearchParams, atob, btoa});\n"
    "const fail = error => {\n"
    "  const stack = error && error.stack ? error.stack : String(error);\n"
    "  process.stderr.write(stack.split('\\n').filter(line => !/^ +at "
    ".*(run\\.js|node:)/.test(line)).join('\\n') + '\\n');\n"
    "  process.exit(1);\n"
    "};\n"
    "const names = Object.keys(values).join(', ');\n"
    "const options = {filename: 'script.js', lineOffset: -1};\n"
    "const whole = names ? `const {${names}} = ` + JSON.stringify(values) + ';' : '';\n"
    "const compile = () => {\n"
    "  try {\n"
    "    return new vm.Script(whole + '\\n' + code, options);\n"
    "  } catch (error) {\n"
    "    return new vm.Script('(async () => {' + whole + '\\n' + code + '\\n})()', options);\n"
    "  }\n"
    "};\n"
    "process.on('uncaughtException', fail).on('unhandledRejection', fail);\n"
    "(async () => {\n"
    "  const value = await compile().runInContext(context, {displayErrors: false});\n"
    "  if (value !== undefined && value !== null) {\n"
    "    let text = typeof value === 'string' ? value : undefined;\n"
    "    try { text = text ?? JSON.stringify(value); } catch { }\n"
    "    process.stdout.write((said ? '\\n' : '') + 'Return value: ' + (text ?? "
    "String(value)));\n"
    "  }\n"
    "  process.exit(0);\n"
    "})().catch(fail);\n";

static enum err_code plan(struct tool_call *call, struct err *err)
{
    return one_shot_check(json_object_get(tool_call_args(call), "injectVar"), err);
}

static enum err_code execute(struct tool_call *call, struct one_shot_end *ret_end,
                             struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *code = json_get_string(args, "code", "");
    const struct one_shot_file files[] = {
        {"run.js", runner, sizeof(runner) - 1}, {"script.js", code, strlen(code)}, {0}};
    static const char *const arguments[] = {"/usr/bin/node", "--max-old-space-size=256",
                                            ONE_SHOT_FOLDER "/run.js", NULL};
    json_auto_t *none = json_object();
    json_t *variables = json_object_get(args, "injectVar");

    return one_shot_run(call,
                        &(struct one_shot){.files = files,
                                           .variables = variables ? variables : none,
                                           .folder = ONE_SHOT_FOLDER,
                                           .arguments = arguments,
                                           .timeout_ms = TIMEOUT_MS},
                        ret_end, err);
}

static void report(struct tool_call *call, const struct one_shot_end *end,
                   struct tool_result *ret_result)
{
    AUTO_BUF text = {0};

    tool_result_describe(ret_result, "JavaScript", call_described(call, json_object()));
    if (end->fault) {
        bool said = end->result.why == BOX_EXITED && *end->problems;

        buf_add_text(&text, said ? end->problems : end->fault);
        if (!said && *end->output)
            buf_addf(&text, "; output so far:\n%s", end->output);
        tool_result_end(ret_result, TOOL_ERROR, text.data);
    } else {
        buf_add_text(&text, end->output);
        if (*end->problems)
            buf_addf(&text, "%sErrors:\n%s", text.length ? "\n\n" : "", end->problems);
        if (!text.length)
            buf_add_text(&text, "The code has run, without output.");
    }
    tool_result_add_text(ret_result, text.data);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    CLEANUP(one_shot_end_clear) struct one_shot_end end = {0};
    enum err_code rc = one_shot_check(json_object_get(tool_call_args(call), "injectVar"), err);

    rc = rc ? rc : execute(call, &end, err);
    if (!rc)
        report(call, &end, ret_result);
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"code\"],"
    " \"properties\": {"
    "\"code\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1048576,"
    "  \"description\": \"A script, or the body of an async function.\"},"
    "\"injectVar\": {\"type\": \"object\", \"description\": \"Constants that the code has: "
    "texts, "
    "numbers and other JSON. References such as $VAR_REF{{name}} may stand for a value.\"}}}";

static const char *const tags[] = {"script", "javascript", NULL};

const struct tool_handler script_javascript_handler = {
    .name = "JavaScript",
    .group = "script",
    .description = "Runs JavaScript for at most 5 seconds, without files or network. What it "
                   "prints and what it returns come back.",
    .parameters = parameters,
    .flags = TOOL_NEEDS_SANDBOX | TOOL_NEEDS_NODE | TOOL_TAKES_SEAT | TOOL_OWN_BOX |
             TOOL_IN_ORDER | TOOL_ACTS,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .returns = {"string", "what it prints, then \"Return value\" and \"Errors\""},
    .tags = tags,
    .plan = plan,
    .run = run,
};
