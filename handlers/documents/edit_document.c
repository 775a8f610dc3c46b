/*
 * editDocument -- replaces a text in a file, which the model remembers maybe not quite as it is.
 */

#include "core/base/buf.h"
#include "core/base/json.h"
#include "handlers/handlers.h"
#include "handlers/support/document_change.h"

static enum err_code make(const json_t *args, struct edit_span bytes,
                          struct text_change *ret_change, struct err *err)
{
    const struct edit_order order = {.old_text = document_text_arg(args, "old_string"),
                                     .new_text = document_text_arg(args, "new_string"),
                                     .all = json_get_bool(args, "replace_all", false)};

    return text_file_edit(bytes, &order, ret_change, err);
}

static void report(const json_t *args, const struct tool_text *text,
                   const struct text_change *change, struct buf *out)
{
    buf_addf(out, "Successfully edited %s", text->name);
    if (json_get_bool(args, "replace_all", false))
        buf_addf(out, " (replaced %zu occurrence%s)", change->replacements,
                 change->replacements == 1 ? "" : "s");
}

static const struct document_change kind = {
    .verb = "edit", .title = "Edited", .make = make, .report = report};

static enum err_code plan(struct tool_call *call, struct err *err)
{
    return document_change_plan(call, &kind, err);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    return document_change_run(call, &kind, ret_result, err);
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"file_id\", \"old_string\", \"new_string\"], \"properties\": {"
    "\"file_id\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 64,"
    "  \"description\": \"The id of the file.\"},"
    "\"old_string\": {\"type\": \"string\", \"maxLength\": 1048576,"
    "  \"description\": \"The text to replace, with enough around it to be the only one. Empty:"
    " the whole file.\"},"
    "\"new_string\": {\"type\": \"string\", \"maxLength\": 1048576,"
    "  \"description\": \"What stands there afterwards.\"},"
    "\"replace_all\": {\"type\": \"boolean\", \"default\": false,"
    "  \"description\": \"Every occurrence, instead of the only one.\"}}}";

static const char *const tags[] = {"documents", "files", "write", NULL};

const struct tool_handler edit_document_handler = {
    .name = "editDocument",
    .group = "documents",
    .description = "Replaces a text in a plain text file. The file keeps its id, and vector "
                   "stores that have it find the new text soon.",
    .parameters = parameters,
    .permission = {EXECUTION_ASK_ALWAYS, RESULT_NEVER},
    .returns = {"string", "that it was edited"},
    .tags = tags,
    .plan = plan,
    .run = run,
};
