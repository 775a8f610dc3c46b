#include "handlers/support/changes.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/edit/diff.h"

/* Cut behind a line. */
static json_t *shown_diff(const struct buf *diff)
{
    size_t length = diff->length;
    AUTO_FREE char *cut = NULL;

    if (length <= CHANGES_DIFF_LIMIT)
        return json_stringn(diff->data ? diff->data : "", length);
    length = utf8_fit(diff->data, CHANGES_DIFF_LIMIT);
    while (length && diff->data[length - 1] != '\n')
        length--;
    cut = mem_printf("%.*s... (the diff goes on)\n", (int)length, diff->data);
    return json_string(cut);
}

json_t *changes_describe(const char *name, struct edit_span before,
                         const struct text_change *change)
{
    AUTO_BUF diff = {0};
    struct diff_counts counts =
        diff_texts(before, (struct edit_span){change->bytes, change->length}, name, &diff);
    json_t *described;

    described =
        json_build("{s:o, s:I, s:I}", "diff", shown_diff(&diff), "additions",
                   (json_int_t)counts.additions, "deletions", (json_int_t)counts.deletions);
    if (change->strategy) {
        json_set_string(described, "strategy", change->strategy);
        json_set_int(described, "replacements", (json_int_t)change->replacements);
        json_set_int(described, "first_line", (json_int_t)change->first_line);
        json_set_int(described, "last_line", (json_int_t)change->last_line);
    }
    return described;
}

json_t *changes_of_file(const struct tool_text *text, const struct text_change *change)
{
    json_t *described =
        changes_describe(text->name, (struct edit_span){text->bytes, text->length}, change);

    json_set_string(described, "file_id", text->id);
    json_set_string(described, "filename", text->name);
    return described;
}

void changes_add_size(struct buf *out, struct edit_span written)
{
    size_t lines = 1;

    for (size_t i = 0; i < written.length; i++)
        lines += written.at[i] == '\n';
    buf_addf(out, "%zu bytes written (%zu line%s)", written.length, lines,
             lines == 1 ? "" : "s");
}

enum err_code changes_failed(const char *verb, const char *path, enum err_code rc,
                             struct err *err)
{
    AUTO_FREE char *why = mem_strdup(err->text);

    return err_set(err, rc, "Failed to %s %.64s: %s", verb, path, why);
}
