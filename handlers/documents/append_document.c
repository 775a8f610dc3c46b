/*
 * appendDocument -- adds text at the end of a file, in lines of its own.
 */

#include "core/base/buf.h"
#include "handlers/handlers.h"
#include "handlers/support/changes.h"
#include "handlers/support/document_change.h"

static enum err_code make(const json_t *args, struct edit_span bytes,
                          struct text_change *ret_change, struct err *err)
{
    return text_file_append(bytes, document_text_arg(args, "content"), ret_change, err);
}

static void report(const json_t *args, const struct tool_text *text,
                   const struct text_change *change, struct buf *out)
{
    (void)change;
    buf_addf(out, "Successfully updated %s\n", text->name);
    changes_add_size(out, document_text_arg(args, "content"));
}

static const struct document_change kind = {
    .verb = "append to", .title = "Added to", .make = make, .report = report};

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    return document_change_run(call, &kind, ret_result, err);
}

static enum err_code plan(struct tool_call *call, struct err *err)
{
    return document_change_plan(call, &kind, err);
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"file_id\", \"content\"], \"properties\": {"
    "\"file_id\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 64,"
    "  \"description\": \"The id of the file.\"},"
    "\"content\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1048576,"
    "  \"description\": \"The text to add. It begins in a new line.\"}}}";

static const char *const tags[] = {"documents", "files", "write", NULL};

const struct tool_handler append_document_handler = {
    .name = "appendDocument",
    .group = "documents",
    .description =
        "Adds text at the end of a plain text file. The file keeps its id, and vector "
        "stores that have it find the new text soon.",
    .parameters = parameters,
    .permission = {EXECUTION_ASK_ALWAYS, RESULT_NEVER},
    .returns = {"string", "how much was added"},
    .tags = tags,
    .plan = plan,
    .run = run,
};
