/*
 * A model's edit of a stranger's file. For any two, an edit that succeeds changes the lines that it names and no
 * others, and the difference has a line for each line that changed.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/edit/text_file.h"

/* The parts are separated by a byte that UTF-8 does not have. */
static struct edit_span take(struct edit_span *rest)
{
    const char *end = rest->length ? memchr(rest->at, 0xFF, rest->length) : NULL;
    struct edit_span part = {rest->at, end ? (size_t)(end - rest->at) : rest->length};

    *rest = edit_skip(*rest, part.length + (end != NULL));
    return part;
}

/* The lines before the first place are the same as before. */
static void check_beginning(struct edit_span file, const struct text_change *change)
{
    struct edit_lines lines;
    struct edit_span kept;

    edit_lines_init(&lines, file);
    assert(change->first_line && change->first_line <= change->last_line + 1);
    assert(change->first_line <= lines.count);
    if (change->first_line > 1) {
        kept = edit_lines_span(&lines, 0, change->first_line - 1);
        assert(change->length >= kept.length &&
               memcmp(change->bytes, kept.at, kept.length) == 0);
    }
    edit_lines_clear(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct edit_span rest = {(const char *)data + 1, size - 1};
    struct edit_order order = {.all = false};
    struct text_change change = {.length = 0};
    struct edit_span file;

    if (size < 1)
        return 0;
    order.all = data[0] & 1;
    order.profile = data[0] & 2 ? EDIT_STRICT : EDIT_DEFAULT;
    order.old_text = take(&rest);
    order.new_text = take(&rest);
    file = take(&rest);
    if (text_file_edit(file, &order, &change, NULL) == ERR_OK) {
        struct edit_span made = {change.bytes, change.length};
        struct diff_counts counts = diff_texts(file, made, "f", NULL);

        assert(change.replacements > 0);
        if (change.strategy)
            check_beginning(file, &change);
        if (!edit_same(edit_without_mark(file), edit_without_mark(made)))
            assert(counts.additions + counts.deletions > 0);
    }
    text_change_clear(&change);
    return 0;
}
