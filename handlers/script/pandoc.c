/*
 * Pandoc -- a document in another format, in a box of its own. There is no shell: arguments are taken apart here.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/script/one_shot.h"
#include "handlers/support/shell_line.h"
#include "handlers/support/workspace_call.h"

#define WORDS_LIMIT ((size_t)200)
#define PROGRAM     "/usr/bin/pandoc"

/* *ret_words points into the line and ends with NULL; the caller frees both. */
static enum err_code take_apart(const char *text, struct shell_line *line,
                                const char ***ret_words, struct err *err)
{
    const struct shell_command *command;
    const char **words;
    size_t count = 0, first;

    shell_line_parse(text, line);
    command = line->commands;
    if (!line->understood || line->count != 1 || command->assignments ||
        command->redirect_count || command->piped || command->count > WORDS_LIMIT)
        return err_set(err, ERR_INVALID,
                       "customCommand: only the arguments of pandoc can stand there, no "
                       "patterns, variables, pipes or redirections.");
    for (size_t i = 0; i < command->count; i++) {
        if (!command->words[i].plain)
            return err_set(err, ERR_INVALID,
                           "customCommand: quote a word that has characters of the shell.");
    }
    first = command->count && strcmp(command->words[0].text, "pandoc") == 0;
    words = mem_new_array(const char *, command->count + 2);
    words[count++] = PROGRAM;
    for (size_t i = first; i < command->count; i++)
        words[count++] = command->words[i].text;
    words[count] = NULL;
    *ret_words = words;
    return ERR_OK;
}

static enum err_code plan(struct tool_call *call, struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *custom = json_get_string(args, "customCommand", NULL);
    CLEANUP(shell_line_clear) struct shell_line line = {.count = 0};
    AUTO_FREE const char **words = NULL;
    AUTO_FREE char *path = NULL;
    enum err_code rc = workspace_path_parse(json_get_string(args, "file", ""), &path, err);

    return rc || !custom ? rc : take_apart(custom, &line, &words, err);
}

static enum err_code execute(struct tool_call *call, const char *path,
                             struct one_shot_end *ret_end, struct err *err)
{
    const char *custom = json_get_string(tool_call_args(call), "customCommand", NULL);
    CLEANUP(shell_line_clear) struct shell_line line = {.count = 0};
    AUTO_FREE const char **words = NULL;
    AUTO_FREE char *file = workspace_path_in_box(path), *folder = mem_strdup(file);
    const char *const usual[] = {PROGRAM, "-s", file, "--to", "markdown", NULL};
    enum err_code rc = custom ? take_apart(custom, &line, &words, err) : ERR_OK;

    *strrchr(folder, '/') = '\0';
    return rc ? rc
              : one_shot_run(
                    call,
                    &(struct one_shot){.folder = folder, .arguments = custom ? words : usual},
                    ret_end, err);
}

static void report(struct tool_call *call, const struct one_shot_end *end,
                   struct tool_result *ret_result)
{
    tool_result_describe(ret_result, "Pandoc", call_described(call, json_object()));
    if (end->fault) {
        AUTO_FREE char *why =
            mem_printf("Pandoc execution error: %s\n%s", end->fault, end->problems);

        tool_result_add_text(ret_result, why);
        tool_result_end(ret_result, TOOL_ERROR, why);
    } else {
        tool_result_add_text(ret_result,
                             *end->output ? end->output : "Pandoc has run, without output.");
    }
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const char *file = json_get_string(tool_call_args(call), "file", "");
    const struct workspace *workspace = NULL;
    struct workspace_stat stat;
    AUTO_FREE char *path = NULL;
    CLEANUP(one_shot_end_clear) struct one_shot_end end = {0};
    enum err_code rc = call_workspace(call, &workspace, err);

    rc = rc ? rc : workspace_path_parse(file, &path, err);
    rc = rc ? rc : workspace_stat(workspace, file, &stat, err);
    if (!rc && stat.kind != WORKSPACE_FILE)
        rc = err_set(err, ERR_INVALID, "%.200s is no file.", file);
    rc = rc ? rc : execute(call, path, &end, err);
    if (!rc)
        report(call, &end, ret_result);
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"file\"],"
    " \"properties\": {"
    "\"file\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The document, from /mnt/data on. Pandoc starts in its folder.\"},"
    "\"customCommand\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 12000,"
    "  \"description\": \"Arguments of pandoc instead of `-s <file> --to markdown`.\"}}}";

static const char *const tags[] = {"script", "documents", NULL};

const struct tool_handler script_pandoc_handler = {
    .name = "Pandoc",
    .group = "script",
    .description =
        "Converts a document of the workspace, /mnt/data, with `pandoc -s <file> --to "
        "markdown`, or with arguments of your own.",
    .parameters = parameters,
    .flags = TOOL_NEEDS_SANDBOX | TOOL_NEEDS_PANDOC | TOOL_TAKES_SEAT | TOOL_OWN_BOX |
             TOOL_IN_ORDER | TOOL_ACTS,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .returns = {"string", "the document, usually as Markdown"},
    .tags = tags,
    .plan = plan,
    .run = run,
};
