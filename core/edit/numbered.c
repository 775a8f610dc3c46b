#include "core/edit/numbered.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

#define CUT_NOTE "... (truncated)"

void numbered_init(struct numbered *numbered, size_t first, size_t lines)
{
    *numbered = (struct numbered){.first = first, .last = first + lines - 1, .line = 1};
}

void numbered_clear(struct numbered *numbered)
{
    buf_clear(&numbered->text);
}

static bool is_wanted(const struct numbered *numbered)
{
    return numbered->line >= numbered->first && numbered->line <= numbered->last;
}

/* Adds a part of the current line, as far as it is shown. */
static void add_part(struct numbered *numbered, const char *part, size_t length)
{
    size_t shown = 0;

    if (!is_wanted(numbered) || numbered->letters > NUMBERED_LINE_LETTERS)
        return;
    while (shown < length &&
           !(utf8_begins(part[shown]) && ++numbered->letters > NUMBERED_LINE_LETTERS))
        shown++;
    buf_add(&numbered->text, part, shown);
    if (numbered->letters > NUMBERED_LINE_LETTERS)
        buf_add_text(&numbered->text, CUT_NOTE);
}

bool numbered_add(struct numbered *numbered, const char *bytes, size_t length)
{
    const char *end = bytes + length;

    while (bytes < end) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));

        add_part(numbered, bytes, (size_t)((stop ? stop : end) - bytes));
        if (!stop)
            break;
        if (is_wanted(numbered) && numbered->line < numbered->last)
            buf_add_char(&numbered->text, '\n');
        numbered->line++;
        numbered->letters = 0;
        bytes = stop + 1;
    }
    return numbered->line <= numbered->last;
}

char *numbered_finish(struct numbered *numbered, bool ended)
{
    AUTO_BUF out = {0};
    size_t last = numbered->line < numbered->last ? numbered->line : numbered->last;
    int width = snprintf(NULL, 0, "%zu", last);
    const char *at = numbered->text.data ? numbered->text.data : "";
    const char *end = at + numbered->text.length;

    if (numbered->line < numbered->first)
        return NULL;
    for (size_t line = numbered->first; line <= last; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        buf_addf(&out, "%s%*zu\t", line > numbered->first ? "\n" : "", width, line);
        buf_add(&out, at, (size_t)((stop ? stop : end) - at));
        at = stop ? stop + 1 : end;
    }
    if (!ended)
        buf_addf(&out, "\n\n[Showing lines %zu-%zu; more lines follow]", numbered->first, last);
    else if (numbered->first > 1 || last < numbered->line)
        buf_addf(&out, "\n\n[Showing lines %zu-%zu of %zu total lines]", numbered->first, last,
                 numbered->line);
    return buf_take(&out);
}
