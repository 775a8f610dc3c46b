/*
 * bash -- a command line in the box of a container.
 *
 * What it may do is decided before it runs (bash_class.h); that it cannot do more is the box's business. Both output
 * streams are one, as on a terminal.
 */

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/sandbox/box.h"
#include "handlers/handlers.h"
#include "handlers/support/bash_class.h"
#include "handlers/support/box_call.h"
#include "handlers/support/root_call.h"
#include "handlers/support/workspace_call.h"

/* Characters of output that the model sees; the rest is read and dropped. */
#define OUTPUT_LIMIT ((size_t)30000)
/* A character has four bytes at most. */
#define OUTPUT_BYTES (4 * OUTPUT_LIMIT + 4)

#define DEFAULT_TIMEOUT_MS 120000

/* Characters of the command in a title. */
#define TITLE_LIMIT        ((size_t)40)
#define FAILED_TITLE_LIMIT ((size_t)30)

static const char *command_of(const struct tool_call *call)
{
    return json_get_string(tool_call_args(call), "command", "");
}

static char *shortened(const char *text, size_t limit)
{
    const char *end = utf8_at(text, limit);

    return mem_printf("%.*s%s", (int)(end - text), text, *end ? "..." : "");
}

/* ---- Before it runs ---- */

static const char *folder_of(const struct tool_call *call)
{
    return json_get_string(tool_call_args(call), "working_directory", "/");
}

/* The roots of the line and of its folder. The kernel shows it no others. */
static void find_roots(const struct tool_call *call, struct root_names *ret_roots)
{
    *ret_roots = (struct root_names){.count = 0};
    root_names_find(command_of(call), ret_roots);
    root_names_find(folder_of(call), ret_roots);
}

static enum err_code ask(struct tool_call *call, const char *type, const char *const *patterns,
                         struct err *err)
{
    const char *command = command_of(call);

    return tool_call_ask(call,
                         &(struct tool_permission){
                             .type = type,
                             .patterns = patterns,
                             .title = command,
                             .metadata = json_build("{s:s}", "command", command),
                         },
                         err);
}

/* A call asks once. So a line that would be asked for itself is a pattern of its own, beside the roots. */
static enum err_code ask_for_roots(struct tool_call *call, const struct root_names *roots,
                                   enum bash_class class, struct err *err)
{
    const char *patterns[OPERATOR_ROOTS_LIMIT + 2] = {NULL};
    char *owned[OPERATOR_ROOTS_LIMIT + 1] = {NULL};
    size_t count = 0;
    enum err_code rc;

    for (; count < roots->count; count++)
        patterns[count] = owned[count] = mem_printf("%s:/*", roots->names[count]);
    if (class == BASH_ASK) {
        patterns[count] = owned[count] = bash_line_pattern(command_of(call));
        count++;
    }
    rc = ask(call, ROOT_PERMISSION, patterns, err);
    while (count)
        free(owned[--count]);
    return rc;
}

/* Where it starts: in the workspace, or in a root. */
static enum err_code find_folder(struct tool_call *call, char **ret_folder, struct err *err)
{
    const char *wanted = folder_of(call);
    const struct workspace *workspace = NULL;
    AUTO_FREE char *path = NULL;
    struct workspace_stat stat;
    enum err_code rc = call_workspace_at(call, wanted, &workspace, err);

    rc = rc ? rc : workspace_parse(workspace, wanted, &path, err);
    rc = rc ? rc : workspace_stat(workspace, wanted, &stat, err);
    if (!rc && stat.kind != WORKSPACE_FOLDER)
        rc = err_set(err, ERR_INVALID, "%.200s is no folder.", wanted);
    if (!rc)
        *ret_folder = workspace_in_box(workspace, path);
    return rc;
}

static enum err_code check_folder(const struct tool_call *call, struct err *err)
{
    AUTO_FREE char *path = NULL, *root = workspace_path_root(folder_of(call), NULL);

    return root ? ERR_OK : workspace_path_parse(folder_of(call), &path, err);
}

static enum err_code plan(struct tool_call *call, struct err *err)
{
    CLEANUP(bash_verdict_clear) struct bash_verdict verdict = {.class = BASH_ASK};
    struct root_names roots;
    enum err_code rc = check_folder(call, err);

    if (rc)
        return rc;
    bash_classify(command_of(call), &verdict);
    if (verdict.class == BASH_DENY)
        return err_set(err, ERR_FORBIDDEN,
                       "Command \"%.200s\" is forbidden for security reasons", verdict.head);
    find_roots(call, &roots);
    if (roots.count)
        return ask_for_roots(call, &roots, verdict.class, err);
    return verdict.class == BASH_ASK
               ? ask(call, "bash", (const char *const *)verdict.patterns, err)
               : ERR_OK;
}

/* ---- Running ---- */

struct running {
    struct tool_call *call;
    struct buf output;
    size_t shown; /* bytes that the client has seen */
    bool cancelled;
};

/* Whole characters; what is left begins the next piece. */
static void show(struct running *running)
{
    const char *at = running->output.data + running->shown;
    size_t size = utf8_fit_bytes(at, running->output.length - running->shown);

    if (size && tool_call_emit_text(running->call, at, size) != ERR_OK)
        running->cancelled = true;
    running->shown += size;
}

static bool take(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    struct running *running = argument;
    size_t room = OUTPUT_BYTES - running->output.length;

    (void)stream;
    /* One byte more says that something is missing. */
    buf_add(&running->output, bytes, size < room ? size : room);
    show(running);
    return !running->cancelled;
}

/* Settings of git by which others name programs; those of the environment come before all files. What cannot be named
 * here (filters, differences by the name of a file) runs where it cannot write. */
static const char *const without_programs[] = {
    "GIT_CONFIG_COUNT=9",           "GIT_CONFIG_KEY_0=core.fsmonitor",
    "GIT_CONFIG_VALUE_0=false",     "GIT_CONFIG_KEY_1=core.hooksPath",
    "GIT_CONFIG_VALUE_1=/dev/null", "GIT_CONFIG_KEY_2=core.pager",
    "GIT_CONFIG_VALUE_2=cat",       "GIT_CONFIG_KEY_3=log.showSignature",
    "GIT_CONFIG_VALUE_3=false",     "GIT_CONFIG_KEY_4=gpg.program",
    "GIT_CONFIG_VALUE_4=false",     "GIT_CONFIG_KEY_5=core.sshCommand",
    "GIT_CONFIG_VALUE_5=false",     "GIT_CONFIG_KEY_6=protocol.allow",
    "GIT_CONFIG_VALUE_6=never",     "GIT_CONFIG_KEY_7=protocol.ext.allow",
    "GIT_CONFIG_VALUE_7=never",     "GIT_CONFIG_KEY_8=credential.helper",
    "GIT_CONFIG_VALUE_8=",          "GIT_OPTIONAL_LOCKS=0",
    "GIT_TERMINAL_PROMPT=0",        NULL,
};

/* A line that runs unasked only reads. If it has programs such as git, whose settings in the workspace may name other
 * programs, it runs in a box that cannot change the workspace and ends with the call: what a stranger's .git/config
 * names can change nothing that stays. To ask for each `git status` was the other way; people would soon answer
 * "always", and that covers what the settings name. */
static bool only_reads(const struct running *running)
{
    CLEANUP(bash_verdict_clear) struct bash_verdict verdict = {.class = BASH_ASK};

    bash_classify(command_of(running->call), &verdict);
    return verdict.class == BASH_ALLOW && verdict.reads_settings;
}

static enum err_code execute(struct running *running, const char *folder,
                             struct box_result *ret_result, struct err *err)
{
    bool reads = only_reads(running);
    struct root_names roots;
    struct tool_own_box own = {.read_only = reads};
    const char *const arguments[] = {"/bin/bash", "-c", "exec \"$@\" 2>&1",        "bash",
                                     "/bin/bash", "-c", command_of(running->call), NULL};
    struct box_call plan = {
        .folder = folder,
        .arguments = arguments,
        .own_box = reads ? &own : NULL,
        .environment = reads ? without_programs : NULL,
        .timeout_ms = (uint32_t)json_get_int(tool_call_args(running->call), "timeout",
                                             DEFAULT_TIMEOUT_MS),
        .take_output = take,
        .argument = running,
    };

    find_roots(running->call, &roots);
    if (roots.count) {
        own.roots = roots.names;
        plan.own_box = &own;
    }
    return box_call_run(running->call, &plan, ret_result, err);
}

/* ---- Its end ---- */

/* The exit status as a shell has it; -1: it did not come to one. */
static int status_of(const struct box_result *result)
{
    switch (result->why) {
    case BOX_EXITED: return result->status;
    case BOX_SIGNALLED: return 128 + result->status;
    case BOX_OVER_MEMORY:
    case BOX_OVER_DISK: return 137;
    default: return -1;
    }
}

static void add_end(const struct box_result *result, long timeout_ms, struct buf *notes)
{
    if (result->why == BOX_SIGNALLED)
        buf_addf(notes, "Exit code: %d (killed by signal %d)\n", status_of(result),
                 result->status);
    else if (result->why == BOX_OVER_MEMORY)
        buf_add_text(notes,
                     "Exit code: 137 (killed: more memory than the container may have)\n");
    else if (result->why == BOX_OVER_DISK)
        buf_add_text(notes, "Exit code: 137 (killed: the workspace is full; delete files)\n");
    else if (result->why == BOX_TIMED_OUT)
        buf_addf(notes, "timed out after %ld ms\n", timeout_ms);
    else if (result->status)
        buf_addf(notes, "Exit code: %d\n", result->status);
}

static void report(const struct running *running, const struct box_result *result,
                   struct tool_result *ret_result)
{
    const json_t *args = tool_call_args(running->call);
    const char *output = running->output.data ? running->output.data : "";
    const char *end = utf8_at(output, OUTPUT_LIMIT);
    struct tool_container *container = NULL;
    AUTO_BUF text = {0}, notes = {0};

    buf_add(&text, output, (size_t)(end - output));
    if (*end)
        buf_addf(&notes, "Output truncated at %zu characters\n", OUTPUT_LIMIT);
    add_end(result, (long)json_get_int(args, "timeout", DEFAULT_TIMEOUT_MS), &notes);
    if (tool_call_container(running->call, &container, NULL) == ERR_OK && container->lost) {
        buf_addf(&notes, "%s\n", container->lost);
        container->lost_shown = true;
    }
    if (!text.length)
        buf_add_text(&text, "(no output)");
    if (notes.length)
        buf_addf(&text, "\n\n<bash_metadata>\n%s</bash_metadata>", notes.data);
    tool_result_add_bytes(ret_result, text.data, text.length);
}

static void describe(struct tool_call *call, const struct box_result *result,
                     const char *folder, struct tool_result *ret_result)
{
    const char *command = command_of(call);
    int status = status_of(result);
    AUTO_FREE char *head = shortened(command, status ? FAILED_TITLE_LIMIT : TITLE_LIMIT);
    AUTO_FREE char *title = status ? mem_printf("Failed (exit %d): %s", status, head)
                                   : mem_printf("Executed: %s", head);

    tool_result_describe(
        ret_result, title,
        call_described(call, json_build("{s:s, s:s, s:i}", "command", command,
                                        "workingDirectory", folder, "exitCode", status)));
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    struct running running = {.call = call};
    struct box_result result = {.why = BOX_GONE};
    AUTO_FREE char *folder = NULL;
    enum err_code rc = find_folder(call, &folder, err);

    if (rc)
        return rc;
    rc = execute(&running, folder, &result, err);
    if (!rc) {
        report(&running, &result, ret_result);
        describe(call, &result, folder, ret_result);
    }
    buf_clear(&running.output);
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"command\"],"
    " \"properties\": {"
    "\"command\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 12000,"
    "  \"description\": \"The command line.\"},"
    "\"working_directory\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"Where it starts; /mnt/data if it is missing.\"},"
    "\"timeout\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 600000,"
    "  \"default\": 120000, \"description\": \"Milliseconds until it is killed.\"}}}";

static const char *const tags[] = {"code", "shell", NULL};

const struct tool_handler bash_handler = {
    .name = "bash",
    .group = "code",
    .description = "Runs a command line with bash in the workspace, /mnt/data. There is no "
                   "network, unless HTTPS_PROXY is set. Both output streams come back, up to "
                   "30000 characters.",
    .parameters = parameters,
    .flags = TOOL_NEEDS_SANDBOX | TOOL_TAKES_SEAT | TOOL_IN_ORDER | TOOL_ACTS,
    .shown_limit = OUTPUT_LIMIT + 1000,
    .permission = {EXECUTION_AUTO, RESULT_NEVER},
    .returns = {"string", "the output"},
    .tags = tags,
    .init = root_call_note,
    .plan = plan,
    .run = run,
};
