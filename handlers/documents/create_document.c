/*
 * createDocument -- a new text file of the project, in a vector store if one is named.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/changes.h"
#include "handlers/support/document_change.h"

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *name = json_get_string(args, "filename", "");
    const struct edit_span bytes = document_text_arg(args, "content");
    struct tool_file file = {.bytes = 0};
    AUTO_FREE char *title = NULL;
    AUTO_BUF said = {0};
    enum err_code rc =
        tool_call_make_text(call, name, json_get_string(args, "vector_store_id", NULL),
                            bytes.at, bytes.length, &file, err);

    if (rc)
        return changes_failed("create", name, rc, err);
    title = mem_printf("Created %s", file.name);
    buf_addf(&said, "Successfully created %s (%s)\n", file.name, file.id);
    changes_add_size(&said, bytes);
    tool_result_add_bytes(ret_result, said.data, said.length);
    tool_result_describe(ret_result, title,
                         json_build("{s:s, s:s}", "file_id", file.id, "filename", file.name));
    tool_file_clear(&file);
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"filename\", \"content\"], \"properties\": {"
    "\"filename\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 255,"
    "  \"description\": \"Its name, with an extension such as .md.\"},"
    "\"content\": {\"type\": \"string\", \"maxLength\": 1048576,"
    "  \"description\": \"The text of the file.\"},"
    "\"vector_store_id\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 64,"
    "  \"description\": \"The vector store in which it is to be found.\"}}}";

static const char *const tags[] = {"documents", "files", "write", NULL};

const struct tool_handler create_document_handler = {
    .name = "createDocument",
    .group = "documents",
    .description = "Makes a new text file. Returns its id.",
    .parameters = parameters,
    .permission = {EXECUTION_ASK_ALWAYS, RESULT_NEVER},
    .returns = {"string", "the name and the id of the file"},
    .tags = tags,
    .run = run,
};
