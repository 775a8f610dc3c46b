/*
 * container_shell -- the hosted shell: commands in the box of a container, one after another.
 *
 *   shell_call (commands) ─▶ for each: bash -c ─▶ delta ... delta, done ─▶ shell_call_output (entries)
 *
 * Each command is a process of its own: `cd` and variables end with it, files and what runs in the background stay.
 * A command that fails is no error of the call. One that could not be executed at all has the exit code 126, and says
 * why on its stderr; the commands behind it are not executed.
 *
 * Three lengths: what a program prints has no end, so a stream is kept up to the container's limit (kept_output.h).
 * Of that the model and the item have `max_output_length` characters, head and tail. What is sent live is limited for
 * the whole call: a client that wants all of it reads the files.
 */

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/container/kept_output.h"
#include "core/sandbox/box.h"
#include "handlers/handlers.h"
#include "handlers/items/shell_item.h"
#include "handlers/support/container_files.h"
#include "handlers/support/workspace_call.h"

/* Characters of a stream that the model reads, unless it asks for another number. */
#define SHOWN_LENGTH ((json_int_t)30000)

/* A delta is sent when it has so many bytes, or so long after the last one. */
#define PIECE    ((size_t)16 << 10)
#define PAUSE_MS 50

/* Bytes that are sent as deltas in a call. */
#define LIVE_LIMIT ((size_t)1 << 20)

/* Bytes of a stream that are kept at least, however many commands share the limit. */
#define KEPT_LEAST ((size_t)128 << 10)

#define NOT_EXECUTED 126
#define KILLED       137

/* ---- A stream of a command ---- */

struct stream {
    struct kept_output kept;
    uint64_t characters;
    struct buf unsent;
    uint64_t sent_ns; /* when a delta was sent last; 0: never */
};

struct shell {
    struct tool_call *call;
    struct tool_container *container;
    size_t index; /* of the command */
    struct stream streams[2];
    size_t live_left;
    uint64_t deadline_ns; /* of all commands */
    bool cancelled;
};

static const char *const stream_names[] = {[BOX_STDOUT] = "stdout", [BOX_STDERR] = "stderr"};

static void streams_clear(struct shell *shell)
{
    for (int i = BOX_STDOUT; i <= BOX_STDERR; i++) {
        kept_output_clear(&shell->streams[i].kept);
        buf_clear(&shell->streams[i].unsent);
    }
}

static void begin_streams(struct shell *shell, size_t count)
{
    size_t limit = shell->container->output_limit / count;

    streams_clear(shell);
    memset(shell->streams, 0, sizeof(shell->streams));
    for (int i = BOX_STDOUT; i <= BOX_STDERR; i++)
        shell->streams[i].kept.limit = limit > KEPT_LEAST ? limit : KEPT_LEAST;
}

/* Sends the first `size` bytes of what is unsent. */
static void send_piece(struct shell *shell, enum box_stream name, size_t size)
{
    struct stream *stream = &shell->streams[name];
    AUTO_FREE char *text = json_clean_utf8(stream->unsent.data, size);
    json_t *fields;

    buf_consume(&stream->unsent, size);
    stream->sent_ns = clock_mono_ns();
    if (size > shell->live_left) { /* the rest comes with the end of each command */
        shell->live_left = 0;
        return;
    }
    shell->live_left -= size;
    fields = json_build("{s:i, s:{s:s}}", "command_index", (int)shell->index, "delta",
                        stream_names[name], text);
    if (tool_call_emit_stage(shell->call, "delta", fields))
        shell->cancelled = true;
}

/* Whether what is unsent has waited long enough. */
enum due { DUE_IF_FULL_OR_LATE, DUE_NOW };

static void send_due(struct shell *shell, enum box_stream name, enum due due)
{
    struct stream *stream = &shell->streams[name];
    bool late = clock_mono_ns() - stream->sent_ns >= PAUSE_MS * NS_PER_MS;

    while (stream->unsent.length >= PIECE && !shell->cancelled)
        send_piece(shell, name, utf8_fit_bytes(stream->unsent.data, PIECE));
    if (stream->unsent.length && (late || due == DUE_NOW) && !shell->cancelled) {
        size_t size = utf8_fit_bytes(stream->unsent.data, stream->unsent.length);

        if (due == DUE_NOW) /* half a character has no other half */
            size = stream->unsent.length;
        if (size)
            send_piece(shell, name, size);
    }
}

static bool take(void *argument, enum box_stream name, const char *bytes, size_t size)
{
    struct shell *shell = argument;
    struct stream *stream = &shell->streams[name];

    kept_output_add(&stream->kept, bytes, size);
    stream->characters += utf8_count(bytes, size);
    buf_add(&stream->unsent, bytes, size);
    for (int i = BOX_STDOUT; i <= BOX_STDERR; i++)
        send_due(shell, (enum box_stream)i, DUE_IF_FULL_OR_LATE);
    return !shell->cancelled;
}

/* ---- What is shown of it ---- */

/* The whole stream, as far as it was kept. The caller frees. */
static char *whole_text(const struct stream *stream)
{
    return kept_output_text(&stream->kept, 0, stream->kept.total);
}

/* Its beginning and its end, `limit` characters together. The caller frees. */
static char *shown_text(const struct stream *stream, size_t limit)
{
    AUTO_FREE char *whole = whole_text(stream);
    size_t count = utf8_count(whole, strlen(whole));
    uint64_t all = kept_output_dropped(&stream->kept) ? stream->characters : count;
    size_t head = limit / 2;

    if (count <= limit)
        return TAKE(whole);
    return mem_printf("%.*s[… %llu characters omitted …]%s",
                      (int)(utf8_at(whole, head) - whole), whole,
                      (unsigned long long)(all - limit), utf8_at(whole, count - limit + head));
}

static size_t shown_length(const struct shell *shell)
{
    return (size_t)json_get_int(tool_call_args(shell->call), "max_output_length", SHOWN_LENGTH);
}

/* The entry of a command. Takes outcome and texts. */
static json_t *entry_of(json_t *outcome, char *output, char *problems)
{
    json_t *entry =
        json_build("{s:s, s:s, s:o}", "stdout", output, "stderr", problems, "outcome", outcome);

    free(output);
    free(problems);
    return entry;
}

static json_t *exit_outcome(int code)
{
    return json_build("{s:s, s:i}", "type", "exit", "exit_code", code);
}

static json_t *outcome_of(const struct box_result *result)
{
    switch (result->why) {
    case BOX_EXITED: return exit_outcome(result->status);
    case BOX_SIGNALLED: return exit_outcome(128 + result->status);
    case BOX_TIMED_OUT: return json_build("{s:s}", "type", "timeout");
    case BOX_OVER_COUNT: return exit_outcome(NOT_EXECUTED);
    case BOX_OVER_MEMORY:
    case BOX_OVER_DISK:
    case BOX_GONE:
    case BOX_CANCELLED:
    case BOX_UNWANTED: return exit_outcome(KILLED);
    }
    return NULL;
}

/* What the server has to say about an end, as a line of stderr. */
static const char *remark_on(const struct box_result *result)
{
    switch (result->why) {
    case BOX_OVER_MEMORY: return "killed: more memory than the container may have\n";
    case BOX_OVER_DISK: return "killed: the workspace is full; delete files\n";
    case BOX_OVER_COUNT: return "Too many processes.\n";
    case BOX_GONE:
        return "The sandbox was restarted; background processes are gone, files are there.\n";
    default: return NULL;
    }
}

static void add_remark(struct shell *shell, const char *remark)
{
    struct stream *problems = &shell->streams[BOX_STDERR];

    if (!remark)
        return;
    if (problems->kept.total && problems->unsent.length &&
        problems->unsent.data[problems->unsent.length - 1] != '\n')
        (void)take(shell, BOX_STDERR, "\n", 1);
    (void)take(shell, BOX_STDERR, remark, strlen(remark));
}

/* ---- Running ---- */

/* Milliseconds that a command has. */
static uint32_t time_for(const struct shell *shell)
{
    json_int_t asked = json_get_int(tool_call_args(shell->call), "timeout_ms", 0);
    uint64_t now = clock_mono_ns();
    uint64_t left = now < shell->deadline_ns ? (shell->deadline_ns - now) / NS_PER_MS : 0;
    uint64_t wanted = asked ? (uint64_t)asked : shell->container->timeout_ms;

    return (uint32_t)(wanted < left ? wanted : left);
}

static enum err_code execute(struct shell *shell, const char *command,
                             struct box_result *ret_result, struct err *err)
{
    const char *const arguments[] = {"/bin/bash", "-c", command, NULL};
    struct box_run plan = {
        .command = {.folder = WORKSPACE_MOUNT,
                    .arguments = arguments,
                    .environment = shell->container->environment},
        .input = -1,
        .timeout_ms = time_for(shell),
        .cancel = tool_call_cancel_fd(shell->call),
        .leftovers = BOX_KEEP_LEFTOVERS,
        .take_output = take,
        .pause_ms = PAUSE_MS,
        .argument = shell,
    };
    struct box *box = NULL;
    enum err_code rc = tool_call_box(shell->call, &box, err);

    if (rc)
        return rc;
    if (!plan.timeout_ms) { /* the commands before it took all the time */
        *ret_result = (struct box_result){.why = BOX_TIMED_OUT};
        return ERR_OK;
    }
    rc = box_run(box, &plan, ret_result, err);
    if (rc == ERR_TOO_LARGE)
        return err_set(err, rc, "The command is too long. Write it to a file first.");
    return rc;
}

/* What a call has come to: entries as the item shows them, and as they were printed. */
struct report {
    json_t *shown, *whole;
};

static void report_clear(struct report *report)
{
    json_decref(report->shown);
    json_decref(report->whole);
}

/* The command has ended: its entry is shown. Takes the outcome. */
static void end_command(struct shell *shell, json_t *outcome, struct report *report)
{
    const struct stream *streams = shell->streams;
    size_t limit = shown_length(shell);
    json_t *entry;

    for (int i = BOX_STDOUT; i <= BOX_STDERR; i++)
        send_due(shell, (enum box_stream)i, DUE_NOW);
    entry = entry_of(json_incref(outcome), shown_text(&streams[BOX_STDOUT], limit),
                     shown_text(&streams[BOX_STDERR], limit));
    json_array_append(report->shown, entry);
    json_array_append_new(report->whole, entry_of(outcome, whole_text(&streams[BOX_STDOUT]),
                                                  whole_text(&streams[BOX_STDERR])));
    if (tool_call_emit_stage(shell->call, "done",
                             json_build("{s:i, s:[o]}", "command_index", (int)shell->index,
                                        "output", json_deep_copy(entry))))
        shell->cancelled = true;
    json_decref(entry);
}

static enum err_code run_command(struct shell *shell, const char *command,
                                 struct report *report, struct err *err)
{
    struct box_result result = {.why = BOX_GONE};
    enum err_code rc = execute(shell, command, &result, err);

    if (rc == ERR_CANCELLED || shell->cancelled || result.why == BOX_CANCELLED)
        return err_set(err, ERR_CANCELLED, "The commands were interrupted.");
    if (rc)
        add_remark(shell, err->text);
    else
        add_remark(shell, remark_on(&result));
    end_command(shell, rc ? exit_outcome(NOT_EXECUTED) : outcome_of(&result), report);
    return rc;
}

/* In their order. One that could not be executed is the last. */
static enum err_code run_commands(struct shell *shell, const json_t *commands,
                                  struct report *report, struct err *err)
{
    enum err_code rc = ERR_OK;
    size_t i;
    json_t *command;

    shell->deadline_ns =
        clock_mono_ns() + shell->container->timeout_max_ms * (uint64_t)NS_PER_MS;
    json_array_foreach (commands, i, command) {
        shell->index = i;
        begin_streams(shell, json_array_size(commands));
        if (i == 0 && shell->container->lost) {
            AUTO_FREE char *line = mem_printf("%s\n", shell->container->lost);

            add_remark(shell, line);
            shell->container->lost_shown = true;
        }
        rc = run_command(shell, json_string_value(command), report, err);
        if (rc || shell->cancelled)
            break;
    }
    streams_clear(shell);
    return shell->cancelled ? ERR_CANCELLED : rc;
}

/* ---- Its end ---- */

static void describe(struct tool_call *call, const struct report *report,
                     struct tool_result *ret_result)
{
    size_t count = json_array_size(report->shown);
    AUTO_FREE char *title = mem_printf("Ran %zu command%s", count, count == 1 ? "" : "s");

    tool_result_describe(ret_result, title, call_described(call, json_object()));
}

static void put_report(struct tool_call *call, struct report *report,
                       struct tool_result *ret_result)
{
    AUTO_FREE char *text = json_text(report->whole);

    tool_result_add_text(ret_result, text);
    describe(call, report, ret_result);
    tool_result_set_data(ret_result, json_build("{s:O}", "output", report->shown));
}

static json_t *opened(const struct tool_container *container)
{
    return json_build("{s:{s:s, s:s}}", "environment", "type", "container_reference",
                      "container_id", container->id);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *commands = json_object_get(tool_call_args(call), "commands");
    struct shell shell = {.call = call, .live_left = LIVE_LIMIT};
    CLEANUP(report_clear) struct report report = {json_array(), json_array()};
    CLEANUP(tool_run_clear) struct tool_run ran = {0};
    struct err unnoted;
    enum err_code rc = tool_call_container(call, &shell.container, err);

    rc = rc ? rc : tool_call_open(call, opened(shell.container));
    if (rc)
        return rc;
    rc = run_commands(&shell, commands, &report, err);
    if (rc == ERR_CANCELLED)
        return rc;
    if (tool_call_note_files(call, &ran, &unnoted) == ERR_CONFLICT && !rc) {
        rc = ERR_CONFLICT;
        *err = unnoted;
    }
    put_report(call, &report, ret_result);
    tool_result_set_files(ret_result, ran.files ? TAKE(ran.files) : json_array());
    if (rc)
        tool_result_end(ret_result, TOOL_ERROR, err->text);
    return ERR_OK;
}

/* ---- The words for the model ---- */

static const char about[] =
    "Runs commands with bash in a container, one after another, and returns what each printed "
    "and "
    "how it ended. The working directory is /mnt/data, where the user's files are. Files and "
    "background processes stay from command to command; the directory and variables do not. "
    "There "
    "is no input. There is no network, unless the environment has HTTPS_PROXY: then programs "
    "reach "
    "through it the hosts that the user allows. A file that the user should get is saved in "
    "/mnt/data and "
    "named in "
    "the answer as a link: [report.csv](sandbox:/mnt/data/report.csv).";

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"commands\"],"
    " \"properties\": {"
    "  \"commands\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 32,"
    "   \"items\": {\"type\": \"string\", \"maxLength\": 60000},"
    "   \"description\": \"Command lines, run one after another.\"},"
    "  \"timeout_ms\": {\"type\": \"integer\", \"minimum\": 0,"
    "   \"description\": \"Milliseconds after which a command is stopped.\"},"
    "  \"max_output_length\": {\"type\": \"integer\", \"minimum\": 0,"
    "   \"description\": \"Characters of output that are wanted at most, of each stream.\"}}}";

static json_t *init(const struct tool_context *context)
{
    return container_note_of(context->settings);
}

const struct tool_handler container_shell_handler = {
    .name = "shell",
    .type = "shell",
    .group = "hosted",
    .description = about,
    .parameters = parameters,
    .flags = TOOL_HOSTED | TOOL_NEEDS_SANDBOX | TOOL_OPENS | TOOL_IN_ORDER | TOOL_TAKES_SEAT,
    .item = &shell_item,
    .init = init,
    .run = run,
};
