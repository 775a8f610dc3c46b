/*
 * listDocuments -- which files there are: those of the project, or of one vector store.
 *
 * A page of names and ids, newest first, as text: a model reads a line faster than an object.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"

static void add_file(struct buf *out, const json_t *file)
{
    const char *status = json_get_string(file, "status", NULL);

    buf_addf(out, "%s  %s  %lld bytes  %s\n", json_get_string(file, "id", ""),
             json_get_string(file, "filename", ""), json_get_int(file, "bytes", 0),
             status ? status : json_get_string(file, "purpose", ""));
}

static char *format(const json_t *data, const json_t *args, struct err *err)
{
    const json_t *files = json_object_get(data, "files");
    size_t count = json_array_size(files);
    AUTO_BUF out = {0};
    size_t i;
    json_t *file;

    (void)args;
    (void)err;
    if (!count)
        return mem_strdup("No files found");
    json_array_foreach (files, i, file)
        add_file(&out, file);
    if (json_get_bool(data, "has_more", false))
        buf_addf(&out, "\n[More files follow: call listDocuments with after=\"%s\"]",
                 json_get_string(json_array_get(files, count - 1), "id", ""));
    return buf_take(&out);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    json_t *page = NULL;
    enum err_code rc = tool_call_list_files(call, tool_call_args(call), &page, err);

    if (rc)
        return rc;
    tool_result_set_data(ret_result, page);
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "\"vector_store_id\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 64,"
    "  \"description\": \"Only files of this vector store.\"},"
    "\"after\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 64,"
    "  \"description\": \"Files behind this file id.\"},"
    "\"count\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 100, \"default\": 50,"
    "  \"description\": \"How many files.\"}}}";

static const char *const tags[] = {"documents", "files", NULL};

const struct tool_handler list_documents_handler = {
    .name = "listDocuments",
    .group = "documents",
    .description = "Lists the user's files, newest first: id, name, size, purpose; of a vector "
                   "store's files the status instead of the purpose.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY,
    .returns = {"string", "a line for each file"},
    .tags = tags,
    .format = format,
    .run = run,
};
