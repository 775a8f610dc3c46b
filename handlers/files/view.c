/*
 * fs-View -- a file, its beginning, its end, or a range of its lines.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/edit.h"
#include "core/edit/text_file.h"
#include "handlers/handlers.h"
#include "handlers/support/root_call.h"
#include "handlers/support/workspace_call.h"

#define WHOLE_LIMIT ((size_t)512 << 10) /* bytes of a file that is shown whole */
#define AUTO_LINES  ((size_t)100)       /* of a larger one, unless the call names a mode */

/* Lines from 1, both shown. */
struct range {
    size_t first, last;
};

static enum err_code wanted_range(const json_t *args, const struct edit_lines *lines,
                                  size_t total, struct range *ret_range, struct err *err)
{
    const char *mode = json_get_string(args, "mode", "auto");
    size_t count = (size_t)json_get_int(args, "lines", 50);
    const json_t *range = json_object_get(args, "range");
    bool large = lines->text.length > WHOLE_LIMIT;

    *ret_range = (struct range){1, total};
    if (strcmp(mode, "full") == 0 && large)
        return err_set(err, ERR_TOO_LARGE,
                       "The file has %zu bytes; more than %zu are not shown at once. Use the "
                       "mode head, tail or range.",
                       lines->text.length, WHOLE_LIMIT);
    if (strcmp(mode, "auto") == 0 && large)
        ret_range->last = AUTO_LINES;
    else if (strcmp(mode, "head") == 0)
        ret_range->last = count;
    else if (strcmp(mode, "tail") == 0 && total > count)
        ret_range->first = total - count + 1;
    if (strcmp(mode, "range") == 0) {
        if (json_array_size(range) != 2)
            return err_set(err, ERR_INVALID, "The mode range needs range: [first, last].");
        ret_range->first = (size_t)json_integer_value(json_array_get(range, 0));
        ret_range->last = (size_t)json_integer_value(json_array_get(range, 1));
        if (ret_range->first > ret_range->last)
            return err_set(err, ERR_INVALID, "The range ends before it begins.");
        if (ret_range->first > total)
            return err_set(err, ERR_INVALID, "Line %zu is beyond the end: the file has %zu.",
                           ret_range->first, total);
    }
    if (ret_range->last > total)
        ret_range->last = total;
    return ERR_OK;
}

static void add_lines(struct buf *out, const struct edit_lines *lines, struct range range,
                      bool numbers)
{
    int width = snprintf(NULL, 0, "%zu", range.last);

    for (size_t n = range.first; n <= range.last; n++) {
        struct edit_span line = edit_line(lines, n - 1);

        if (numbers)
            buf_addf(out, "%*zu | ", width, n);
        buf_add(out, line.at, line.length);
        if (n < range.last)
            buf_add_char(out, '\n');
    }
}

static enum err_code show(const json_t *args, const char *path, struct edit_span bytes,
                          struct tool_result *ret_result, struct err *err)
{
    struct edit_lines lines;
    struct range range;
    AUTO_BUF text = {0};
    size_t total;
    enum err_code rc;

    edit_lines_init(&lines, edit_without_mark(bytes));
    total = edit_lines_trimmed(&lines);
    rc = wanted_range(args, &lines, total, &range, err);
    if (!rc && !bytes.length)
        buf_addf(&text, "[%s: empty]", path);
    else if (!rc) {
        buf_addf(&text, "[%s: lines %zu-%zu of %zu]\n", path, range.first, range.last, total);
        add_lines(&text, &lines, range, json_get_bool(args, "showLineNumbers", false));
    }
    edit_lines_clear(&lines);
    if (!rc)
        tool_result_add_bytes(ret_result, text.data, text.length);
    return rc;
}

static enum err_code plan(struct tool_call *call, struct err *err)
{
    return root_call_ask(call, "View", json_get_string(tool_call_args(call), "path", ""),
                         ROOT_READS, err);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *path = json_get_string(args, "path", "");
    const struct workspace *workspace = NULL;
    AUTO_BUF bytes = {0};
    AUTO_FREE char *title = mem_printf("Viewed %s", path);
    struct edit_span span;
    enum err_code rc = call_workspace_at(call, path, &workspace, err);

    rc = rc ? rc : workspace_read(workspace, path, EDIT_FILE_LIMIT, &bytes, NULL, err);
    if (rc)
        return rc;
    span = (struct edit_span){bytes.data ? bytes.data : "", bytes.length};
    if (text_file_is_binary(span))
        return err_set(err, ERR_INVALID, "%.200s is binary, not text. Use fs-Inspect.", path);
    rc = show(args, path, span, ret_result, err);
    if (!rc)
        tool_result_describe(ret_result, title,
                             call_described(call, json_build("{s:s}", "path", path)));
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"path\"],"
    " \"properties\": {"
    "\"path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The file, from /mnt/data on.\"},"
    "\"mode\": {\"type\": \"string\", \"enum\": [\"auto\", \"full\", \"head\", \"tail\", "
    "\"range\"],"
    "  \"default\": \"auto\", \"description\": \"auto: all of a file of at most 512 KiB, else "
    "its"
    " first 100 lines.\"},"
    "\"lines\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 1000, \"default\": 50,"
    "  \"description\": \"How many, of head and tail.\"},"
    "\"range\": {\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2,"
    "  \"items\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 1000000000},"
    "  \"description\": \"The first and the last line of the mode range, from 1.\"},"
    "\"showLineNumbers\": {\"type\": \"boolean\", \"default\": false, \"description\": \"Puts "
    "the number before each line.\"}}}";

static const char *const tags[] = {"files", NULL};

const struct tool_handler fs_view_handler = {
    .name = "fs-View",
    .group = "files",
    .description = "Shows the text of a file of the workspace, /mnt/data, or a part of it.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_IN_ORDER | TOOL_NEEDS_SANDBOX,
    .permission = {EXECUTION_ASK_ONCE, RESULT_ALWAYS},
    .returns = {"string", "lines"},
    .tags = tags,
    .init = root_call_note,
    .plan = plan,
    .run = run,
};
