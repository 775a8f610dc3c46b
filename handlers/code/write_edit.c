/*
 * write and edit -- the text of a file of the container becomes another one.
 *
 * The change is made twice: for the question, which shows a person the difference, and again when the call is executed.
 * The second one counts. An edit is put into place only if the file is still the one that it was made of.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/text_file.h"
#include "handlers/handlers.h"
#include "handlers/support/changes.h"
#include "handlers/support/document_change.h"
#include "handlers/support/workspace_call.h"

/* ---- What is different between them ---- */

struct file_change {
    const char *verb;  /* in "Failed to edit a.txt: ..." */
    const char *title; /* "Edited", before the path */
    bool whole;        /* the old bytes do not matter, so they may be of any kind and size */
    /* The bytes as they become. `bytes.at` NULL: there is no file yet. */
    enum err_code (*make)(const json_t *args, struct edit_span bytes,
                          struct text_change *ret_change, struct err *err);
    /* What the model reads. */
    void (*report)(const json_t *args, const char *path, bool created,
                   const struct text_change *change, struct buf *out);
};

static enum err_code make_whole(const json_t *args, struct edit_span bytes,
                                struct text_change *ret_change, struct err *err)
{
    const json_t *content = json_object_get(args, "content");
    size_t length = json_string_length(content);

    (void)bytes;
    (void)err;
    *ret_change = (struct text_change){.bytes = mem_strndup(json_string_value(content), length),
                                       .length = length,
                                       .replacements = 1};
    return ERR_OK;
}

static void report_whole(const json_t *args, const char *path, bool created,
                         const struct text_change *change, struct buf *out)
{
    (void)args;
    buf_addf(out, "Successfully %s %s\n", created ? "created" : "updated", path);
    changes_add_size(out, (struct edit_span){change->bytes, change->length});
}

static enum err_code make_edit(const json_t *args, struct edit_span bytes,
                               struct text_change *ret_change, struct err *err)
{
    const struct edit_order order = {.old_text = document_text_arg(args, "old_string"),
                                     .new_text = document_text_arg(args, "new_string"),
                                     .all = json_get_bool(args, "replace_all", false)};

    return text_file_edit(bytes, &order, ret_change, err);
}

static void report_edit(const json_t *args, const char *path, bool created,
                        const struct text_change *change, struct buf *out)
{
    (void)created;
    buf_addf(out, "Successfully edited %s", path);
    if (json_get_bool(args, "replace_all", false))
        buf_addf(out, " (replaced %zu occurrence%s)", change->replacements,
                 change->replacements == 1 ? "" : "s");
}

static const struct file_change whole_kind = {.verb = "write",
                                              .title = "Wrote",
                                              .whole = true,
                                              .make = make_whole,
                                              .report = report_whole};
static const struct file_change edit_kind = {
    .verb = "edit", .title = "Edited", .make = make_edit, .report = report_edit};

/* Only write has the argument, and must have it. */
static const struct file_change *kind_of(const struct tool_call *call)
{
    return json_object_get(tool_call_args(call), "content") ? &whole_kind : &edit_kind;
}

/* ---- What they share ---- */

/* A file before and after. */
struct changed {
    const struct workspace *workspace;
    const char *path; /* of the arguments */
    struct buf before;
    struct workspace_stat stat;
    bool exists;
    bool shown; /* `before` is a text that can be shown */
    struct text_change change;
};

static void changed_clear(struct changed *changed)
{
    buf_clear(&changed->before);
    text_change_clear(&changed->change);
}

/* A missing file is no error. */
static enum err_code load(struct changed *changed, const struct file_change *kind,
                          struct err *err)
{
    enum err_code rc = workspace_stat(changed->workspace, changed->path, &changed->stat, err);

    if (rc == ERR_NOT_FOUND)
        return ERR_OK;
    if (!rc)
        rc = workspace_read(changed->workspace, changed->path, EDIT_FILE_LIMIT,
                            &changed->before, &changed->stat, err);
    if (rc == ERR_TOO_LARGE && kind->whole) {
        changed->exists = true;
        return ERR_OK;
    }
    changed->exists = changed->shown = rc == ERR_OK;
    return rc;
}

static struct edit_span bytes_of(const struct changed *changed)
{
    const char *at = changed->before.data ? changed->before.data : "";

    return (struct edit_span){changed->exists ? at : NULL, changed->before.length};
}

static enum err_code make_change(struct tool_call *call, const struct file_change *kind,
                                 struct changed *changed, struct err *err)
{
    const json_t *args = tool_call_args(call);
    enum err_code rc;

    changed->path = json_get_string(args, "file_path", "");
    rc = call_workspace(call, &changed->workspace, err);
    if (rc)
        return rc;
    rc = load(changed, kind, err);
    rc = rc ? rc : kind->make(args, bytes_of(changed), &changed->change, err);
    if (changed->shown && text_file_check(bytes_of(changed), NULL) != ERR_OK)
        changed->shown = false;
    return rc ? changes_failed(kind->verb, changed->path, rc, err) : ERR_OK;
}

static json_t *describe(const struct changed *changed)
{
    struct edit_span before = changed->shown ? bytes_of(changed) : (struct edit_span){"", 0};
    json_t *described = changes_describe(changed->path, before, &changed->change);

    json_set_string(described, "file_path", changed->path);
    return described;
}

static enum err_code plan(struct tool_call *call, struct err *err)
{
    const struct file_change *kind = kind_of(call);
    CLEANUP(changed_clear) struct changed changed = {.path = ""};
    enum err_code rc = make_change(call, kind, &changed, err);

    if (!rc)
        tool_call_preview(call, describe(&changed));
    return rc;
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const struct file_change *kind = kind_of(call);
    CLEANUP(changed_clear) struct changed changed = {.path = ""};
    struct workspace_target target = {.place = WORKSPACE_FREE};
    struct workspace_written written;
    AUTO_FREE char *title = NULL;
    AUTO_BUF report = {0};
    enum err_code rc = make_change(call, kind, &changed, err);

    if (rc)
        return rc;
    target.path = changed.path;
    target.expected = changed.stat;
    if (kind->whole)
        target.place = WORKSPACE_ANY;
    else if (changed.exists)
        target.place = WORKSPACE_SAME;
    rc = workspace_write(changed.workspace, &target, changed.change.bytes,
                         changed.change.length, &written, err);
    if (rc)
        return changes_failed(kind->verb, changed.path, rc, err);
    title = mem_printf("%s %s", kind->title, changed.path);
    kind->report(tool_call_args(call), changed.path, written.created, &changed.change, &report);
    tool_result_add_bytes(ret_result, report.data, report.length);
    tool_result_describe(ret_result, title, call_described(call, describe(&changed)));
    return ERR_OK;
}

/* ---- The words for the model ---- */

static const char write_parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"file_path\", \"content\"], \"properties\": {"
    "\"file_path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The file, from /mnt/data on. Missing folders are made.\"},"
    "\"content\": {\"type\": \"string\", \"maxLength\": 10485760,"
    "  \"description\": \"All of its text.\"}}}";

static const char *const tags[] = {"code", "files", "write", NULL};

const struct tool_handler write_handler = {
    .name = "write",
    .group = "code",
    .description = "Writes a file in the workspace, /mnt/data. A file that exists is replaced.",
    .parameters = write_parameters,
    .flags = TOOL_NEEDS_SANDBOX | TOOL_IN_ORDER,
    .permission = {EXECUTION_ASK_ONCE, RESULT_NEVER},
    .returns = {"string", "that it was written"},
    .tags = tags,
    .plan = plan,
    .run = run,
};

static const char edit_parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"file_path\", \"old_string\", \"new_string\"], \"properties\": {"
    "\"file_path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The file, from /mnt/data on.\"},"
    "\"old_string\": {\"type\": \"string\", \"maxLength\": 1048576,"
    "  \"description\": \"The text to replace, with enough around it to be the only one. Empty:"
    " the whole file, which need not exist.\"},"
    "\"new_string\": {\"type\": \"string\", \"maxLength\": 1048576,"
    "  \"description\": \"What stands there afterwards.\"},"
    "\"replace_all\": {\"type\": \"boolean\", \"default\": false,"
    "  \"description\": \"Every occurrence, instead of the only one.\"}}}";

const struct tool_handler edit_handler = {
    .name = "edit",
    .group = "code",
    .description = "Replaces a text in a file of the workspace, /mnt/data.",
    .parameters = edit_parameters,
    .flags = TOOL_NEEDS_SANDBOX | TOOL_IN_ORDER,
    .permission = {EXECUTION_ASK_ONCE, RESULT_NEVER},
    .returns = {"string", "that it was edited"},
    .tags = tags,
    .plan = plan,
    .run = run,
};
