/*
 * one_shot.c -- two commands in one box: the first writes the files of the call from its input, the second is the
 * program.
 *
 * A mount of a folder of the host was the other way. It would be a folder to make, to give to the user of the box, and
 * to remove after each crash; the /tmp of the box is memory that ends with it.
 */

#include "handlers/support/script/one_shot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/container/kept_output.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/tool/tool_container.h"
#include "handlers/support/box_call.h"
#include "handlers/support/workspace_call.h"

/* Writing the files. */
#define FILES_MS 20000

static const struct tool_own_box own_box = {.read_only = false};

/* ---- Variables ---- */

static bool begins(const char *name, const char *head)
{
    return strncmp(name, head, strlen(head)) == 0;
}

/* Names that say which code runs, and not what it works on. */
static bool is_reserved(const char *name)
{
    static const char *const heads[] = {"LD_", "PYTHON", "GIT_", "BASH_FUNC_", "NODE_", NULL};
    static const char *const names[] = {"PATH",      "BASH_ENV", "ENV", "IFS",
                                        "SHELLOPTS", "BASHOPTS", NULL};

    for (size_t i = 0; heads[i]; i++) {
        if (begins(name, heads[i]))
            return true;
    }
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool is_name(const char *name)
{
    static const char usual[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = strlen(name);

    return length && length <= ONE_SHOT_NAME && strspn(name, usual) == length &&
           !(*name >= '0' && *name <= '9');
}

enum err_code one_shot_check(json_t *variables, struct err *err)
{
    const char *name;
    json_t *value;

    if (json_object_size(variables) > ONE_SHOT_VARIABLES)
        return err_set(err, ERR_INVALID, "injectVar has more than %d variables.",
                       ONE_SHOT_VARIABLES);
    json_object_foreach (variables, name, value) {
        if (!is_name(name))
            return err_set(err, ERR_INVALID,
                           "injectVar: \"%.80s\" cannot be the name of a variable. A name has "
                           "letters, digits and _, and begins with no digit.",
                           name);
        if (is_reserved(name))
            return err_set(err, ERR_INVALID, "injectVar: the variable %.80s must not be set.",
                           name);
    }
    return ERR_OK;
}

/* A text as it is, other values as JSON. The caller frees. */
static char *text_of(const json_t *value)
{
    return json_is_string(value) ? mem_strdup(json_string_value(value)) : json_text(value);
}

json_t *one_shot_exported(json_t *variables)
{
    json_t *names = json_array(), *value;
    const char *name;
    size_t all = 0;

    json_object_foreach (variables, name, value) {
        AUTO_FREE char *text = text_of(value);
        size_t size = strlen(text);

        if (size > ONE_SHOT_EXPORTED || size > ONE_SHOT_EXPORTED_ALL - all)
            continue;
        all += size;
        json_array_append_new(names, json_string(name));
    }
    return names;
}

/* ---- Files ---- */

/* The files one after the other, and what says how long each is. */
struct feed {
    struct buf bytes;
    struct buf sizes[ONE_SHOT_FILES + ONE_SHOT_VARIABLES + 2];
    char *names[ONE_SHOT_FILES + ONE_SHOT_VARIABLES + 2];
    size_t count;
};

static void feed_clear(struct feed *feed)
{
    buf_clear(&feed->bytes);
    for (size_t i = 0; i < feed->count; i++) {
        buf_clear(&feed->sizes[i]);
        free(feed->names[i]);
    }
}

static void feed_add(struct feed *feed, const char *name, const char *bytes, size_t size)
{
    assert(feed->count < COUNT_OF(feed->names));
    feed->names[feed->count] = mem_strdup(name);
    buf_addf(&feed->sizes[feed->count++], "%zu", size);
    buf_add(&feed->bytes, bytes, size);
}

static void feed_json(struct feed *feed, const char *name, const json_t *value)
{
    AUTO_FREE char *text = json_text(value);

    feed_add(feed, name, text, strlen(text));
}

static void feed_variables(struct feed *feed, json_t *variables)
{
    json_auto_t *exported = one_shot_exported(variables);
    const char *name;
    json_t *value;

    json_object_foreach (variables, name, value) {
        AUTO_FREE char *file = mem_printf("vars/%s", name);
        AUTO_FREE char *text = text_of(value);

        feed_add(feed, file, text, strlen(text));
    }
    feed_json(feed, "vars.json", variables);
    feed_json(feed, "exported", exported);
}

/* head takes exactly its bytes from a file, so the next one begins where it has stopped. */
static const char write_files[] =
    "umask 077; mkdir -p " ONE_SHOT_FOLDER "/vars && cd " ONE_SHOT_FOLDER " || exit\n"
    "while [ $# -gt 0 ]; do head -c \"$2\" >\"$1\" || exit; shift 2; done";

static bool drop_output(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    (void)stream;
    (void)bytes;
    (void)size;
    return !tool_call_cancelled(argument);
}

static enum err_code feed_box(struct tool_call *call, const struct feed *feed, struct err *err)
{
    const char *arguments[2 * COUNT_OF(feed->names) + 5] = {"/bin/sh", "-c", write_files, "sh"};
    struct box_result result = {.why = BOX_GONE};
    size_t count = 4;
    enum err_code rc;

    for (size_t i = 0; i < feed->count; i++) {
        arguments[count++] = feed->names[i];
        arguments[count++] = feed->sizes[i].data;
    }
    rc = box_call_run(call,
                      &(struct box_call){.folder = "/",
                                         .arguments = arguments,
                                         .input = &feed->bytes,
                                         .own_box = &own_box,
                                         .timeout_ms = FILES_MS,
                                         .take_output = drop_output,
                                         .argument = call},
                      &result, err);
    if (!rc && (result.why != BOX_EXITED || result.status))
        rc = err_set(err, ERR_LIMIT,
                     "The sandbox has no room for the script and its variables.");
    return rc;
}

static enum err_code bring(struct tool_call *call, const struct one_shot *shot, struct err *err)
{
    CLEANUP(feed_clear) struct feed feed = {.count = 0};

    for (const struct one_shot_file *file = shot->files; file && file->name; file++)
        feed_add(&feed, file->name, file->bytes, file->size);
    if (shot->variables)
        feed_variables(&feed, shot->variables);
    return feed.count ? feed_box(call, &feed, err) : ERR_OK;
}

/* ---- The program ---- */

struct kept {
    struct tool_call *call;
    struct kept_output streams[2];
};

static void kept_clear(struct kept *kept)
{
    kept_output_clear(&kept->streams[0]);
    kept_output_clear(&kept->streams[1]);
}

static bool keep(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    struct kept *kept = argument;

    kept_output_add(&kept->streams[stream == BOX_STDERR], bytes, size);
    return !tool_call_cancelled(kept->call);
}

static char *text_kept(const struct kept_output *kept)
{
    char *text = kept_output_text(kept, 0, kept->total);
    size_t length = strlen(text);

    while (length && strchr("\r\n", text[length - 1]))
        text[--length] = '\0';
    return text;
}

static char *fault_of(const struct box_result *result, uint32_t timeout_ms)
{
    switch (result->why) {
    case BOX_EXITED: return result->status ? mem_printf("exit code %d", result->status) : NULL;
    case BOX_SIGNALLED:
        return mem_printf("exit code %d (killed by signal %d)", 128 + result->status,
                          result->status);
    case BOX_OVER_MEMORY:
        return mem_strdup("exit code 137 (killed: more memory than the container may have)");
    case BOX_OVER_DISK:
        return mem_strdup("exit code 137 (killed: the workspace is full; delete files)");
    case BOX_TIMED_OUT: return mem_printf("timed out after %.6g s", timeout_ms / 1000.0);
    default: return mem_strdup("the program was ended"); /* box_call.h makes errors of these */
    }
}

void one_shot_end_clear(struct one_shot_end *end)
{
    free(end->output);
    free(end->problems);
    free(end->fault);
    *end = (struct one_shot_end){0};
}

enum err_code one_shot_run(struct tool_call *call, const struct one_shot *shot,
                           struct one_shot_end *ret_end, struct err *err)
{
    struct tool_container *container = NULL;
    CLEANUP(kept_clear) struct kept kept = {.call = call};
    struct box_call plan = {.folder = shot->folder,
                            .arguments = shot->arguments,
                            .own_box = &own_box,
                            .timeout_ms = shot->timeout_ms,
                            .take_output = keep,
                            .argument = &kept};
    struct box_result result = {.why = BOX_GONE};
    enum err_code rc = tool_call_container(call, &container, err);

    rc = rc ? rc : bring(call, shot, err);
    if (rc)
        return rc;
    plan.timeout_ms = plan.timeout_ms ? plan.timeout_ms : container->timeout_ms;
    kept.streams[0].limit = kept.streams[1].limit = container->output_limit;
    rc = box_call_run(call, &plan, &result, err);
    if (rc)
        return rc;
    *ret_end = (struct one_shot_end){.output = text_kept(&kept.streams[0]),
                                     .problems = text_kept(&kept.streams[1]),
                                     .fault = fault_of(&result, plan.timeout_ms),
                                     .result = result};
    return ERR_OK;
}

void one_shot_report(struct tool_call *call, const char *tool, const struct one_shot_end *end,
                     struct tool_result *ret_result)
{
    AUTO_FREE char *streams =
        mem_printf("[stdout]\n%s\n\n[stderr]\n%s", end->output, end->problems);
    AUTO_FREE char *why =
        mem_printf("%s execution error: %s", tool, end->fault ? end->fault : "");
    AUTO_FREE char *whole = mem_printf("%s\n%s", why, streams);

    tool_result_add_text(ret_result, end->fault ? whole : streams);
    tool_result_describe(
        ret_result, tool,
        call_described(call,
                       json_build("{s:i}", "exitCode",
                                  end->result.why == BOX_EXITED ? end->result.status : -1)));
    if (end->fault)
        tool_result_end(ret_result, TOOL_ERROR, why);
}

enum err_code one_shot_folder(struct tool_call *call, const char *text, char **ret_folder,
                              struct err *err)
{
    const struct workspace *workspace = NULL;
    struct workspace_stat stat;
    AUTO_FREE char *path = NULL;
    const char *wanted = text ? text : "/";
    enum err_code rc = call_workspace(call, &workspace, err);

    rc = rc ? rc : workspace_path_parse(wanted, &path, err);
    rc = rc ? rc : workspace_stat(workspace, wanted, &stat, err);
    if (!rc && stat.kind != WORKSPACE_FOLDER)
        rc = err_set(err, ERR_INVALID, "%.200s is no folder.", wanted);
    if (!rc)
        *ret_folder = workspace_path_in_box(path);
    return rc;
}
