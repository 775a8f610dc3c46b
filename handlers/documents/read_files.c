/*
 * read_files -- the texts of several files at once, under the name that bella-assistants gave it.
 *
 * Each stands behind a line with its name and id. A file that cannot be read has the reason there, and the others are
 * read all the same.
 */

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/edit/text_file.h"
#include "handlers/handlers.h"

/* Bytes of all texts together. readDocument reads on. */
#define READ_FILES_LIMIT ((size_t)240000)

#define SHOWN 30000 /* characters that the model sees at once */

struct reading {
    const struct tool_call *call;
    struct buf text; /* of one file */
    size_t room;
    bool cut, binary, cancelled;
};

static bool take(void *arg, const char *bytes, size_t length)
{
    struct reading *reading = arg;
    size_t left = reading->room - reading->text.length;
    size_t fits = length <= left ? length : utf8_fit(bytes, left);

    if (!reading->text.length)
        reading->binary = text_file_is_binary((struct edit_span){bytes, length});
    reading->cancelled = tool_call_cancelled(reading->call);
    if (reading->binary || reading->cancelled)
        return false;
    buf_add(&reading->text, bytes, fits);
    reading->cut = fits < length;
    return !reading->cut;
}

/* Adds one file, and takes its bytes from the room. */
static enum err_code add_file(const struct tool_call *call, const char *id, size_t *room,
                              struct buf *out)
{
    struct reading reading = {.call = call, .room = *room};
    struct tool_file file = {.bytes = 0};
    struct err err = {0};
    enum err_code rc = tool_call_read_file(call, id, 0, take, &reading, &file, &err);

    if (out->length)
        buf_add_text(out, "\n\n");
    if (rc)
        buf_addf(out, "[%.64s: %s]", id, err.text);
    else if (reading.binary)
        buf_addf(out, "[%s (%s): binary, %llu bytes]", file.name, file.id,
                 (unsigned long long)file.bytes);
    else
        buf_addf(out, "[%s (%s)]\n", file.name, file.id);
    if (!rc && !reading.binary)
        buf_add(out, reading.text.data, reading.text.length);
    if (!rc && reading.cut)
        buf_addf(out, "\n[The rest of %s was left out. Call readDocument to read on.]",
                 file.name);
    *room -= reading.text.length;
    buf_clear(&reading.text);
    tool_file_clear(&file);
    return reading.cancelled ? ERR_CANCELLED : ERR_OK;
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *ids = json_object_get(tool_call_args(call), "file_ids");
    size_t room = READ_FILES_LIMIT;
    AUTO_FREE char *title = NULL;
    AUTO_BUF out = {0};
    size_t i;
    json_t *id;

    (void)err;
    json_array_foreach (ids, i, id) {
        enum err_code rc = add_file(call, json_string_value(id), &room, &out);

        if (rc)
            return rc;
    }
    title = mem_printf("Read %zu file%s", json_array_size(ids),
                       json_array_size(ids) == 1 ? "" : "s");
    tool_result_add_bytes(ret_result, out.data, out.length);
    tool_result_describe(ret_result, title, NULL);
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"file_ids\"],"
    " \"properties\": {"
    "\"file_ids\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 20,"
    "  \"items\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 64},"
    "  \"description\": \"The ids of the files.\"}}}";

static const char *const tags[] = {"documents", "files", NULL};

const struct tool_handler read_files_handler = {
    .name = "read_files",
    .group = "documents",
    .description = "Reads the texts of several files.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY,
    .shown_limit = SHOWN,
    .returns = {"string", "the texts, each behind its name"},
    .tags = tags,
    .run = run,
};
