/*
 * readDocument -- some lines of a file, with their numbers.
 *
 * The bytes are read in pieces, and no further than to the last line that was asked for. Only a short file is read to
 * its end, so that the model learns how many lines it has.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/numbered.h"
#include "core/edit/text_file.h"
#include "handlers/handlers.h"

/* Characters that the model sees at once. */
#define SHOWN 30000

/* Bytes that are read to find the first line. */
#define SCAN_LIMIT ((uint64_t)64 << 20)

struct reading {
    struct tool_call *call;
    struct numbered numbered;
    uint64_t taken;
    bool binary, cancelled;
};

static bool take(void *arg, const char *bytes, size_t length)
{
    struct reading *reading = arg;

    if (!reading->taken)
        reading->binary = text_file_is_binary((struct edit_span){bytes, length});
    reading->taken += length;
    reading->cancelled = tool_call_cancelled(reading->call);
    if (reading->binary || reading->cancelled)
        return false;
    return numbered_add(&reading->numbered, bytes, length) && reading->taken < SCAN_LIMIT;
}

static enum err_code finish(struct reading *reading, const struct tool_file *file,
                            struct tool_result *ret_result, struct err *err)
{
    size_t first = reading->numbered.first;
    bool ended = reading->taken >= file->bytes;
    AUTO_FREE char *text = NULL;

    if (reading->cancelled)
        return ERR_CANCELLED;
    if (reading->binary) {
        AUTO_FREE char *notice =
            mem_printf("[Binary file: %s, %llu bytes. Its text can be searched in a vector "
                       "store.]",
                       file->name, (unsigned long long)file->bytes);

        tool_result_add_text(ret_result, notice);
        return ERR_OK;
    }
    if (reading->numbered.line < first && !ended)
        return err_set(err, ERR_TOO_LARGE,
                       "Line %zu is further than %llu MiB into the file. Search it instead.",
                       first, (unsigned long long)(SCAN_LIMIT >> 20));
    if (!reading->taken)
        text = mem_printf("[Empty file: %s]", file->name);
    else
        text = numbered_finish(&reading->numbered, ended);
    if (!text)
        return err_set(err, ERR_INVALID, "Line %zu is beyond the end: %s has %zu line%s.",
                       first, file->name, reading->numbered.line,
                       reading->numbered.line == 1 ? "" : "s");
    tool_result_add_text(ret_result, text);
    return ERR_OK;
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    struct reading reading = {.call = call};
    struct tool_file file = {.bytes = 0};
    AUTO_FREE char *title = NULL;
    enum err_code rc;

    numbered_init(&reading.numbered, (size_t)json_get_int(args, "offset", 1),
                  (size_t)json_get_int(args, "lines", (json_int_t)NUMBERED_LINES));
    rc = tool_call_read_file(call, json_get_string(args, "file_id", ""),
                             (size_t)json_get_int(args, "page", 0), take, &reading, &file, err);
    if (!rc)
        rc = finish(&reading, &file, ret_result, err);
    if (!rc) {
        title = mem_printf("Read %s", file.name);
        tool_result_describe(ret_result, title, json_build("{s:s}", "file_id", file.id));
    }
    tool_file_clear(&file);
    numbered_clear(&reading.numbered);
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"file_id\"],"
    " \"properties\": {"
    "\"file_id\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 64,"
    "  \"description\": \"The id of the file.\"},"
    "\"page\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 1000000,"
    "  \"description\": \"Of a file with pages: where to begin. Lines count from there.\"},"
    "\"offset\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 1000000000,"
    "  \"default\": 1, \"description\": \"The first line.\"},"
    "\"lines\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 2000,"
    "  \"default\": 2000, \"description\": \"How many lines.\"}}}";

static const char *const tags[] = {"documents", "files", NULL};

const struct tool_handler read_document_handler = {
    .name = "readDocument",
    .group = "documents",
    .description =
        "Reads lines of a text file by its id. Each line stands behind its number and "
        "a tab.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY,
    .shown_limit = SHOWN,
    .returns = {"string", "numbered lines"},
    .tags = tags,
    .run = run,
};
