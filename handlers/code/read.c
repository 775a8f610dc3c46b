/*
 * read -- some lines of a file of the container, with their numbers.
 *
 * The file is read in pieces, and no further than to the last line that was asked for. Of a picture and of a PDF the
 * model reads what it is, and the client gets it as an attachment.
 */

#include <errno.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/numbered.h"
#include "core/edit/text_file.h"
#include "handlers/handlers.h"
#include "handlers/support/root_call.h"
#include "handlers/support/workspace_call.h"

#define PIECE ((size_t)64 << 10)

/* Bytes that are read to find the first line. */
#define SCAN_LIMIT ((uint64_t)64 << 20)

/* Bytes of a picture that is attached. */
#define PICTURE_LIMIT ((size_t)4 << 20)

/* clang-format off */
static const struct {
    const char *extension;
    const char *type;
} attached[] = {
    {".png", "image/png"}, {".jpg", "image/jpeg"}, {".jpeg", "image/jpeg"}, {".gif", "image/gif"},
    {".bmp", "image/bmp"}, {".webp", "image/webp"}, {".svg", "image/svg+xml"},
    {".ico", "image/x-icon"}, {".pdf", "application/pdf"},
};
/* clang-format on */

/* NULL: a file of another kind. */
static const char *attachment_type(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < COUNT_OF(attached); i++) {
        if (strcasecmp(dot, attached[i].extension) == 0)
            return attached[i].type;
    }
    return NULL;
}

static enum err_code attach(const struct workspace *workspace, const char *path,
                            const char *type, struct tool_result *ret_result, struct err *err)
{
    bool picture = *type == 'i';
    struct workspace_stat stat;
    AUTO_FREE char *notice = NULL;
    AUTO_BUF bytes = {0}, text = {0};
    struct tool_part part = {.kind = picture ? TOOL_PART_IMAGE : TOOL_PART_FILE,
                             .mime_type = mem_strdup(type)};
    enum err_code rc = workspace_stat(workspace, path, &stat, err);

    if (!rc && picture && stat.size <= PICTURE_LIMIT)
        rc = workspace_read(workspace, path, PICTURE_LIMIT, &bytes, &stat, err);
    if (rc) {
        free(part.mime_type);
        return rc;
    }
    notice = mem_printf("[%s file: %s, %llu bytes]", picture ? "Image" : "PDF", path,
                        (unsigned long long)stat.size);
    tool_result_add_text(ret_result, notice);
    if (bytes.length) {
        base64_add(&text, bytes.data, bytes.length);
        part.length = text.length;
        part.data = buf_take(&text);
    } else {
        part.url = mem_strdup(path);
    }
    tool_result_add_part(ret_result, part);
    return ERR_OK;
}

struct reading {
    struct tool_call *call;
    const char *path;
    struct workspace_stat stat;
    struct numbered numbered;
    uint64_t taken;
    bool binary, ended;
};

/* A file without its end is read up to SCAN_LIMIT, and its number of lines is not known then. */
static enum err_code read_lines(struct reading *reading, int fd, struct err *err)
{
    AUTO_FREE char *bytes = mem_zeroed(PIECE, 1);

    while (reading->taken < SCAN_LIMIT) {
        ssize_t got = read(fd, bytes, PIECE);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, ERR_INTERNAL, "%s cannot be read: %s.", reading->path,
                           strerror(errno));
        if (tool_call_cancelled(reading->call))
            return ERR_CANCELLED;
        if (got == 0) {
            reading->ended = true;
            break;
        }
        if (!reading->taken)
            reading->binary = text_file_is_binary((struct edit_span){bytes, (size_t)got});
        reading->taken += (uint64_t)got;
        if (reading->binary)
            break;
        /* The number of all lines is worth reading on, up to the limit. */
        (void)numbered_add(&reading->numbered, bytes, (size_t)got);
    }
    return ERR_OK;
}

static enum err_code show(struct reading *reading, struct tool_result *ret_result,
                          struct err *err)
{
    size_t first = reading->numbered.first;
    AUTO_FREE char *text = NULL;

    if (reading->binary)
        text = mem_printf("[Binary file: %s, %llu bytes]", reading->path,
                          (unsigned long long)reading->stat.size);
    else if (!reading->taken)
        text = mem_printf("[Empty file: %s]", reading->path);
    else
        text = numbered_finish(&reading->numbered, reading->ended);
    if (!text && !reading->ended)
        return err_set(err, ERR_TOO_LARGE,
                       "Line %zu is further than %llu MiB into the file. Use grep.", first,
                       (unsigned long long)(SCAN_LIMIT >> 20));
    if (!text)
        return err_set(err, ERR_INVALID, "Line %zu is beyond the end: %s has %zu line%s.",
                       first, reading->path, reading->numbered.line,
                       reading->numbered.line == 1 ? "" : "s");
    tool_result_add_text(ret_result, text);
    return ERR_OK;
}

static enum err_code read_text(struct tool_call *call, const struct workspace *workspace,
                               const char *path, struct tool_result *ret_result,
                               struct err *err)
{
    const json_t *args = tool_call_args(call);
    struct reading reading = {.call = call, .path = path};
    int fd = -1;
    enum err_code rc = workspace_read_fd(workspace, path, &fd, &reading.stat, err);

    if (rc)
        return rc;
    numbered_init(&reading.numbered, (size_t)json_get_int(args, "offset", 1),
                  (size_t)json_get_int(args, "limit", (json_int_t)NUMBERED_LINES));
    rc = read_lines(&reading, fd, err);
    rc = rc ? rc : show(&reading, ret_result, err);
    numbered_clear(&reading.numbered);
    close(fd);
    return rc;
}

static enum err_code plan(struct tool_call *call, struct err *err)
{
    return root_call_ask(call, "Read", json_get_string(tool_call_args(call), "file_path", ""),
                         ROOT_READS, err);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const char *path = json_get_string(tool_call_args(call), "file_path", "");
    const char *type = attachment_type(path);
    const struct workspace *workspace = NULL;
    AUTO_FREE char *title = mem_printf("Read %s", path);
    enum err_code rc = call_workspace_at(call, path, &workspace, err);

    if (!rc && type)
        rc = attach(workspace, path, type, ret_result, err);
    else if (!rc)
        rc = read_text(call, workspace, path, ret_result, err);
    if (!rc)
        tool_result_describe(ret_result, title,
                             call_described(call, json_build("{s:s}", "file_path", path)));
    return rc;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"file_path\"],"
    " \"properties\": {"
    "\"file_path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The file, from /mnt/data on.\"},"
    "\"offset\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 1000000000,"
    "  \"default\": 1, \"description\": \"The first line.\"},"
    "\"limit\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 2000,"
    "  \"default\": 2000, \"description\": \"How many lines.\"}}}";

static const char *const tags[] = {"code", "files", NULL};

const struct tool_handler read_handler = {
    .name = "read",
    .group = "code",
    .description =
        "Reads lines of a file in the workspace, /mnt/data. Each line stands behind its "
        "number and a tab.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_IN_ORDER | TOOL_NEEDS_SANDBOX,
    .cut = code_cut,
    .permission = {EXECUTION_AUTO, RESULT_NEVER},
    .returns = {"string", "numbered lines"},
    .tags = tags,
    .init = root_call_note,
    .plan = plan,
    .run = run,
};
