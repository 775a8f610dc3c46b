#include "handlers/support/ripgrep.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/sandbox/box.h"
#include "core/tool/tool_container.h"

#define TIMEOUT_MS 60000

/* Of ripgrep's own options. */
static const char *const always[] = {"rg", "--no-config", "--no-messages", "--hidden",
                                     "--glob=!.git"};

#define ARGUMENTS_LIMIT ((size_t)32)

/* Bytes of a complaint. */
#define COMPLAINT_LIMIT ((size_t)500)

struct reading {
    struct tool_call *call;
    const struct ripgrep *search;
    struct buf record, complaint;
    bool too_long; /* the record that is coming */
    bool enough;
};

static void end_record(struct reading *reading)
{
    if (!reading->too_long && reading->record.length)
        reading->enough = !reading->search->take(reading->search->argument,
                                                 reading->record.data, reading->record.length);
    reading->too_long = false;
    buf_reset(&reading->record);
}

static bool take(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    struct reading *reading = argument;

    if (stream == BOX_STDERR) {
        if (reading->complaint.length < COMPLAINT_LIMIT)
            buf_add(&reading->complaint, bytes, size);
        return true;
    }
    while (size && !reading->enough) {
        const char *end = memchr(bytes, reading->search->separator, size);
        size_t length = end ? (size_t)(end - bytes) : size;

        reading->too_long |= reading->record.length + length > RIPGREP_RECORD_LIMIT;
        if (!reading->too_long)
            buf_add(&reading->record, bytes, length);
        if (end)
            end_record(reading);
        length += end != NULL;
        bytes += length;
        size -= length;
    }
    return !reading->enough && !tool_call_cancelled(reading->call);
}

/* "regex parse error: ..." in one line. */
static enum err_code complain(const struct reading *reading, struct err *err)
{
    char text[COMPLAINT_LIMIT + 1];
    size_t length = 0;

    for (size_t i = 0; i < reading->complaint.length && length < COMPLAINT_LIMIT; i++) {
        char c = reading->complaint.data[i];

        if ((unsigned char)c >= 0x20 && !(c == ' ' && length && text[length - 1] == ' '))
            text[length++] = c;
        else if (c == '\n' && length && text[length - 1] != ' ')
            text[length++] = ' ';
    }
    while (length && text[length - 1] == ' ')
        length--;
    text[length] = '\0';
    return err_set(err, ERR_INVALID, "%s", length ? text : "The search has failed.");
}

static enum err_code judge(const struct reading *reading, const struct box_result *result,
                           struct err *err)
{
    if (reading->enough)
        return ERR_OK;
    switch (result->why) {
    case BOX_EXITED:
        /* 1: nothing was found. 2: an error, maybe of some files only. */
        return result->status <= 1 || !reading->complaint.length ? ERR_OK
                                                                 : complain(reading, err);
    case BOX_CANCELLED:
    case BOX_UNWANTED: return ERR_CANCELLED;
    case BOX_TIMED_OUT:
        return err_set(err, ERR_TIMEOUT, "The search took longer than %d s.",
                       TIMEOUT_MS / 1000);
    default: return err_set(err, ERR_CONFLICT, "The sandbox was restarted. Search again.");
    }
}

enum err_code ripgrep_run(struct tool_call *call, const struct ripgrep *search, struct err *err)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL};
    const char *arguments[COUNT_OF(always) + ARGUMENTS_LIMIT + 1];
    struct reading reading = {.call = call, .search = search};
    struct box_run plan = {
        .command = {.folder = search->folder,
                    .arguments = arguments,
                    .environment = environment},
        .input = -1,
        .timeout_ms = TIMEOUT_MS,
        .cancel = tool_call_cancel_fd(call),
        .take_output = take,
        .argument = &reading,
    };
    struct box_result result;
    struct box *box = NULL;
    size_t count = COUNT_OF(always);
    const char *const roots[] = {search->root, NULL};
    const struct tool_own_box own = {.read_only = true, .roots = roots};
    enum err_code rc = search->root ? tool_call_own_box(call, &own, &box, err)
                                    : tool_call_box(call, &box, err);

    if (rc)
        return rc;
    memcpy(arguments, always, sizeof(always));
    for (size_t i = 0; search->arguments[i] && i < ARGUMENTS_LIMIT; i++)
        arguments[count++] = search->arguments[i];
    arguments[count] = NULL;
    rc = box_run(box, &plan, &result, err);
    if (!rc && !reading.enough)
        end_record(&reading);
    rc = rc ? rc : judge(&reading, &result, err);
    buf_clear(&reading.record);
    buf_clear(&reading.complaint);
    return rc;
}
