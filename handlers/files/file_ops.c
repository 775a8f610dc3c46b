/*
 * fs-FileOps -- one program of a list, with its arguments, in the box of the container.
 *
 * There is no shell: the line is taken apart into words here, so no operator, pattern or variable means anything. The
 * list keeps models to what the tool is for. What confines the program is the box.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "handlers/handlers.h"
#include "handlers/support/box_call.h"
#include "handlers/support/shell_line.h"
#include "handlers/support/workspace_call.h"

#define OUTPUT_LIMIT ((size_t)30000) /* characters of each stream */
#define OUTPUT_BYTES (4 * OUTPUT_LIMIT + 4)
#define TIMEOUT_MS   60000
#define WORDS_LIMIT  ((size_t)1000)

static const char *const allowed[] = {
    "mkdir",   "cp",       "mv",       "rm",     "rmdir", "touch", "ln",   "chmod", "tar",
    "zip",     "unzip",    "gzip",     "gunzip", "cat",   "head",  "tail", "wc",    "diff",
    "stat",    "file",     "sort",     "uniq",   "cut",   "tr",    "sed",  "awk",   "basename",
    "dirname", "realpath", "readlink", "ls",     "tree",  "du",    "df",   "find",
};

static bool is_allowed(const char *program)
{
    for (size_t i = 0; i < COUNT_OF(allowed); i++) {
        if (strcmp(allowed[i], program) == 0)
            return true;
    }
    return false;
}

static enum err_code refuse_words(struct err *err)
{
    return err_set(
        err, ERR_INVALID,
        "Only one program with plain words is executed: no patterns, variables, pipes or "
        "redirections. Quote a word that has such characters.");
}

/* *ret_line owns the words of *ret_words, which end with NULL; the caller frees both. */
static enum err_code take_apart(const char *text, struct shell_line *line,
                                const char ***ret_words, struct err *err)
{
    const struct shell_command *command;
    const char **words;

    shell_line_parse(text, line);
    command = line->commands;
    if (!line->understood || line->count != 1 || command->assignments ||
        command->redirect_count || command->piped || !command->count ||
        command->count > WORDS_LIMIT)
        return refuse_words(err);
    for (size_t i = 0; i < command->count; i++) {
        if (!command->words[i].plain)
            return refuse_words(err);
    }
    if (!is_allowed(command->words[0].text))
        return err_set(err, ERR_FORBIDDEN, "The program \"%.64s\" is not on the list.",
                       command->words[0].text);
    words = mem_new_array(const char *, command->count + 1);
    for (size_t i = 0; i < command->count; i++)
        words[i] = command->words[i].text;
    words[command->count] = NULL;
    *ret_words = words;
    return ERR_OK;
}

/* What cannot be executed needs no approval. */
static enum err_code plan(struct tool_call *call, struct err *err)
{
    CLEANUP(shell_line_clear) struct shell_line line = {.count = 0};
    AUTO_FREE const char **words = NULL;

    return take_apart(json_get_string(tool_call_args(call), "command", ""), &line, &words, err);
}

struct output {
    struct tool_call *call;
    struct buf streams[2];
};

static bool take(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    struct output *output = argument;
    struct buf *buf = &output->streams[stream == BOX_STDERR];
    size_t room = OUTPUT_BYTES - buf->length;

    buf_add(buf, bytes, size < room ? size : room);
    return !tool_call_cancelled(output->call);
}

static void add_stream(struct buf *text, const char *name, const struct buf *bytes)
{
    const char *end;

    if (!bytes->length)
        return;
    end = utf8_at(bytes->data, OUTPUT_LIMIT);
    buf_addf(text, "%s[%s]\n%.*s%s", text->length ? "\n\n" : "", name, (int)(end - bytes->data),
             bytes->data, *end ? "\n... (cut)" : "");
}

static enum err_code report(const struct output *output, const struct box_result *result,
                            struct tool_result *ret_result, struct err *err)
{
    AUTO_BUF text = {0};

    add_stream(&text, "stdout", &output->streams[0]);
    add_stream(&text, "stderr", &output->streams[1]);
    if (!text.length)
        buf_add_text(&text, "(no output)");
    if (result->why == BOX_TIMED_OUT)
        return err_set(err, ERR_TIMEOUT, "timed out after %d s", TIMEOUT_MS / 1000);
    if (result->why == BOX_OVER_MEMORY)
        return err_set(err, ERR_LIMIT, "killed: more memory than the container may have");
    if (result->why == BOX_OVER_DISK)
        return err_set(err, ERR_FULL, "killed: the workspace is full; delete files");
    tool_result_add_bytes(ret_result, text.data, text.length);
    if (result->why != BOX_EXITED || result->status) {
        AUTO_FREE char *why =
            mem_printf(result->why == BOX_EXITED ? "Exit code: %d" : "Killed by signal %d",
                       result->status);

        buf_addf(&text, "\n\n%s", why);
        tool_result_clear(ret_result);
        tool_result_add_bytes(ret_result, text.data, text.length);
        tool_result_end(ret_result, TOOL_ERROR, why);
    }
    return ERR_OK;
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *command = json_get_string(args, "command", "");
    CLEANUP(shell_line_clear) struct shell_line line = {.count = 0};
    AUTO_FREE const char **words = NULL;
    AUTO_FREE char *path = NULL, *folder = NULL;
    struct output output = {.call = call};
    struct box_result result = {.why = BOX_GONE};
    enum err_code rc = take_apart(command, &line, &words, err);

    rc = rc ? rc : workspace_path_parse(json_get_string(args, "directory", "/"), &path, err);
    if (rc)
        return rc;
    folder = workspace_path_in_box(path);
    rc = box_call_run(call,
                      &(struct box_call){.folder = folder,
                                         .arguments = words,
                                         .timeout_ms = TIMEOUT_MS,
                                         .take_output = take,
                                         .argument = &output},
                      &result, err);
    rc = rc ? rc : report(&output, &result, ret_result, err);
    if (!rc)
        tool_result_describe(ret_result, words[0],
                             call_described(call, json_build("{s:s, s:i}", "command", command,
                                                             "exitCode", result.status)));
    buf_clear(&output.streams[0]);
    buf_clear(&output.streams[1]);
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"command\"],"
    " \"properties\": {"
    "\"command\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 12000,"
    "  \"description\": \"A program and its arguments: mkdir cp mv rm rmdir touch ln chmod tar "
    "zip"
    " unzip gzip gunzip cat head tail wc diff stat file sort uniq cut tr sed awk basename "
    "dirname"
    " realpath readlink ls tree du df find\"},"
    "\"directory\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"Where it starts; /mnt/data if it is missing.\"}}}";

static const char *const tags[] = {"files", "shell", NULL};

const struct tool_handler fs_file_ops_handler = {
    .name = "fs-FileOps",
    .group = "files",
    .description =
        "Runs one program on files of the workspace, /mnt/data: copies, moves, removes, "
        "packs. There is no shell.",
    .parameters = parameters,
    .flags = TOOL_NEEDS_SANDBOX | TOOL_TAKES_SEAT | TOOL_IN_ORDER | TOOL_ACTS,
    .permission = {EXECUTION_ASK_ALWAYS, RESULT_ALWAYS},
    .returns = {"string", "[stdout] and [stderr]"},
    .tags = tags,
    .plan = plan,
    .run = run,
};
