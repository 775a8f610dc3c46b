/*
 * A model's diff of a stranger's file. A diff that is applied removes and adds as many lines as it says, keeps a byte
 * order mark, and what it does not name.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/edit/patch.h"

static size_t count_lines(struct edit_span text)
{
    struct edit_lines lines;
    size_t count;

    edit_lines_init(&lines, text);
    count = edit_lines_trimmed(&lines);
    edit_lines_clear(&lines);
    return count;
}

/* The lines of the diff that begin with this sign: in one that was applied they are changes. */
static size_t count_signs(struct edit_span diff, char sign)
{
    struct edit_lines lines;
    size_t count = 0;

    edit_lines_init(&lines, diff);
    for (size_t n = 0; n < lines.count; n++) {
        struct edit_span line = edit_line(&lines, n);

        count += line.length && line.at[0] == sign;
    }
    edit_lines_clear(&lines);
    return count;
}

static void check(struct edit_span file, struct edit_span diff,
                  const struct text_change *change)
{
    struct edit_span text = edit_without_mark(file);
    size_t mark = file.length - text.length;
    size_t wanted = count_lines(text) + count_signs(diff, '+') - count_signs(diff, '-');
    size_t lines = count_lines((struct edit_span){change->bytes + mark, change->length - mark});
    bool ended = text.length == 0 || file.at[file.length - 1] == '\n';

    assert(change->replacements > 0 && change->bytes[change->length] == '\0');
    /* Where the file has no line end, an empty last line is not seen. */
    assert(lines == wanted || (!ended && lines + 1 == wanted));
    assert(!mark || memcmp(change->bytes, file.at, mark) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size ? memchr(data, 0xFF, size) : NULL;
    struct edit_span diff = {(const char *)data, mark ? (size_t)(mark - data) : size};
    struct edit_span file = {(const char *)data + size, 0};
    struct text_change change = {.length = 0};
    struct err err;

    if (mark)
        file = (struct edit_span){(const char *)mark + 1, size - diff.length - 1};
    if (patch_update(file, diff, &change, &err) == ERR_OK)
        check(file, diff, &change);
    text_change_clear(&change);
    if (patch_create(diff, &change, &err) == ERR_OK)
        assert(count_lines((struct edit_span){change.bytes, change.length}) <=
               count_signs(diff, '+'));
    text_change_clear(&change);
    return 0;
}
