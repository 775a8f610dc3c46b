#include "core/edit/text_file.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

#define BINARY_SAMPLE ((size_t)8 << 10)

void text_change_clear(struct text_change *change)
{
    free(change->bytes);
    *change = (struct text_change){.length = 0};
}

static bool is_control(unsigned char byte)
{
    return byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r';
}

bool text_file_is_binary(struct edit_span bytes)
{
    size_t length = bytes.length < BINARY_SAMPLE ? bytes.length : BINARY_SAMPLE;
    size_t controls = 0;

    if (memchr(bytes.at ? bytes.at : "", 0, length))
        return true;
    for (size_t n = 0; n < length; n++)
        controls += is_control((unsigned char)bytes.at[n]);
    return 10 * controls > length;
}

enum err_code text_file_check(struct edit_span bytes, struct err *err)
{
    if (text_file_is_binary(bytes))
        return err_set(err, ERR_INVALID, "The file is binary, not text.");
    if (bytes.length && !json_valid_utf8(bytes.at, bytes.length))
        return err_set(err, ERR_INVALID,
                       "The file is not UTF-8. Its bytes would not survive an edit.");
    return ERR_OK;
}

/* The text with line ends of one kind. */
static void add_with_ends(struct buf *out, struct edit_span text, const char *end)
{
    buf_reserve(out, text.length + 1); /* so that an empty text has a place */
    for (size_t n = 0; n < text.length; n++) {
        if (text.at[n] == '\r' && n + 1 < text.length && text.at[n + 1] == '\n')
            continue;
        if (text.at[n] == '\n')
            buf_add_text(out, end);
        else
            buf_add_char(out, text.at[n]);
    }
}

static const char *line_end(struct edit_span file)
{
    return memmem(file.at, file.length, "\r\n", 2) ? "\r\n" : "\n";
}

static struct edit_span span_of(const struct buf *buf)
{
    return (struct edit_span){buf->data, buf->length};
}

static enum err_code whole(struct edit_span bytes, struct text_change *ret_change,
                           struct err *err)
{
    if (bytes.length > EDIT_FILE_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "The file would have more than %zu MiB.",
                       EDIT_FILE_LIMIT >> 20);
    *ret_change = (struct text_change){.bytes = mem_strndup(bytes.at, bytes.length),
                                       .length = bytes.length,
                                       .replacements = 1};
    return ERR_OK;
}

enum err_code text_file_edit(struct edit_span bytes, const struct edit_order *order,
                             struct text_change *ret_change, struct err *err)
{
    AUTO_BUF from = {0}, to = {0}, made = {0};
    struct edit_order own = *order;
    struct edit_span text = edit_without_mark(bytes);
    struct edit_result result = {.length = 0};
    enum err_code rc;

    if (order->old_text.length == 0)
        return whole(order->new_text, ret_change, err);
    if (!bytes.at)
        return err_set(err, ERR_NOT_FOUND, "There is no such file.");
    rc = text_file_check(bytes, err);
    if (rc)
        return rc;
    add_with_ends(&from, order->old_text, line_end(text));
    add_with_ends(&to, order->new_text, line_end(text));
    own.old_text = span_of(&from);
    own.new_text = span_of(&to);
    rc = edit_replace(text, &own, &result, err);
    if (rc)
        return rc;
    buf_add(&made, bytes.at, bytes.length - text.length);
    buf_add(&made, result.text, result.length);
    *ret_change = (struct text_change){.length = made.length,
                                       .replacements = result.replacements,
                                       .strategy = result.strategy,
                                       .first_line = result.first_line,
                                       .last_line = result.last_line};
    ret_change->bytes = buf_take(&made);
    edit_result_clear(&result);
    return ERR_OK;
}

enum err_code text_file_append(struct edit_span bytes, struct edit_span text,
                               struct text_change *ret_change, struct err *err)
{
    AUTO_BUF made = {0};
    enum err_code rc = text_file_check(bytes, err);

    if (rc)
        return rc;
    buf_add(&made, bytes.at, bytes.length);
    if (bytes.length && bytes.at[bytes.length - 1] != '\n')
        buf_add_text(&made, line_end(bytes));
    add_with_ends(&made, text, line_end(bytes));
    return whole(span_of(&made), ret_change, err);
}
