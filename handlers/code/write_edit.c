/*
 * write and edit -- the text of a file of the container becomes another one.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/text_file.h"
#include "handlers/handlers.h"
#include "handlers/support/changes.h"
#include "handlers/support/document_change.h"
#include "handlers/support/file_change.h"
#include "handlers/support/root_call.h"

static void report_whole(const json_t *args, const char *path, bool created,
                         const struct text_change *change, const struct buf *note,
                         struct buf *out)
{
    (void)args;
    (void)note;
    buf_addf(out, "Successfully %s %s\n", created ? "created" : "updated", path);
    changes_add_size(out, (struct edit_span){change->bytes, change->length});
}

static enum err_code make_edit(const json_t *args, struct edit_span bytes,
                               struct text_change *ret_change, struct buf *note,
                               struct err *err)
{
    const struct edit_order order = {.old_text = document_text_arg(args, "old_string"),
                                     .new_text = document_text_arg(args, "new_string"),
                                     .all = json_get_bool(args, "replace_all", false)};

    (void)note;
    return text_file_edit(bytes, &order, ret_change, err);
}

static void report_edit(const json_t *args, const char *path, bool created,
                        const struct text_change *change, const struct buf *note,
                        struct buf *out)
{
    (void)created;
    (void)note;
    buf_addf(out, "Successfully edited %s", path);
    if (json_get_bool(args, "replace_all", false))
        buf_addf(out, " (replaced %zu occurrence%s)", change->replacements,
                 change->replacements == 1 ? "" : "s");
}

static const struct file_change whole_kind = {.verb = "write",
                                              .title = "Wrote",
                                              .argument = "file_path",
                                              .whole = true,
                                              .make = file_change_whole,
                                              .report = report_whole};
static const struct file_change edit_kind = {.verb = "edit",
                                             .title = "Edited",
                                             .argument = "file_path",
                                             .make = make_edit,
                                             .report = report_edit};

/* Only write has the argument, and must have it. */
static const struct file_change *kind_of(const struct tool_call *call)
{
    return json_object_get(tool_call_args(call), "content") ? &whole_kind : &edit_kind;
}

static enum err_code plan(struct tool_call *call, struct err *err)
{
    return file_change_plan(call, kind_of(call), err);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    return file_change_run(call, kind_of(call), ret_result, err);
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
    .flags = TOOL_NEEDS_SANDBOX | TOOL_IN_ORDER | TOOL_ACTS,
    .permission = {EXECUTION_ASK_ONCE, RESULT_NEVER},
    .returns = {"string", "that it was written"},
    .tags = tags,
    .init = root_call_note,
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
    .flags = TOOL_NEEDS_SANDBOX | TOOL_IN_ORDER | TOOL_ACTS,
    .permission = {EXECUTION_ASK_ONCE, RESULT_NEVER},
    .returns = {"string", "that it was edited"},
    .tags = tags,
    .init = root_call_note,
    .plan = plan,
    .run = run,
};
