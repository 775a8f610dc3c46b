#include "core/edit/diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/mem.h"

/* Lines a to a_end of the text before become lines b to b_end of the text after. */
struct change {
    size_t a, a_end, b, b_end;
};

struct diff {
    struct edit_lines before, after;
    size_t before_count, after_count; /* without an empty last line */
    struct change *changes;           /* owned; in order */
    size_t count, room;
};

/* With its LF, because a missing one at the end is a difference. */
static struct edit_span line_of(const struct edit_lines *lines, size_t n)
{
    struct edit_span line = edit_line(lines, n);

    line.length += n + 1 < lines->count;
    return line;
}

static bool same_line(const struct diff *diff, size_t a, size_t b)
{
    return edit_same(line_of(&diff->before, a), line_of(&diff->after, b));
}

static void add_change(struct diff *diff, struct change change)
{
    if (diff->count == diff->room) {
        diff->room = 2 * diff->room + 4;
        diff->changes = mem_resize(diff->changes, diff->room, sizeof(change));
    }
    diff->changes[diff->count++] = change;
}

/* ---- The least number of changes ---- */

/* What is between the equal beginning and the equal end, and the rows of the search. Row d has, for each diagonal from
 * -d to d, the furthest line of the text before that d lines may reach. Diagonal k has the places whose line before is
 * k more than the line after. */
struct search {
    const struct diff *diff;
    struct change middle;
    uint32_t *rows[DIFF_LINES_LIMIT + 1]; /* owned; each points at its diagonal 0 */
    size_t work;
};

/* The place on diagonal k is reached from the diagonal above by a line that comes, else from the one below by a line
 * that goes. */
static bool comes_down(const uint32_t *last, int64_t depth, int64_t k)
{
    return k == -depth || (k != depth && last[k - 1] < last[k + 1]);
}

static int64_t slide(struct search *search, int64_t x, int64_t k)
{
    const struct change *middle = &search->middle;
    int64_t width = (int64_t)(middle->a_end - middle->a);
    int64_t height = (int64_t)(middle->b_end - middle->b);

    while (x < width && x - k < height &&
           same_line(search->diff, middle->a + (size_t)x, middle->b + (size_t)(x - k))) {
        x++;
        search->work++;
    }
    search->work++;
    return x;
}

/* Makes row `depth`; true when it has come to the end. */
static bool make_row(struct search *search, int64_t depth)
{
    const struct change *middle = &search->middle;
    int64_t width = (int64_t)(middle->a_end - middle->a);
    int64_t goal = width - (int64_t)(middle->b_end - middle->b);
    uint32_t *row = mem_new_array(uint32_t, (size_t)(2 * depth + 1)) + depth;
    const uint32_t *last = depth ? search->rows[depth - 1] : NULL;

    search->rows[depth] = row;
    for (int64_t k = -depth; k <= depth && search->work < DIFF_WORK_LIMIT; k += 2) {
        int64_t x = 0;

        if (last)
            x = comes_down(last, depth, k) ? last[k + 1] : (int64_t)last[k - 1] + 1;
        row[k] = (uint32_t)slide(search, x, k);
        if (k == goal && row[k] >= width)
            return true;
    }
    return false;
}

/* Follows the rows from the end back; what touches becomes one change. */
static void trace_back(struct diff *diff, struct search *search, int64_t depth)
{
    const struct change *middle = &search->middle;
    int64_t x = (int64_t)(middle->a_end - middle->a);
    int64_t y = (int64_t)(middle->b_end - middle->b);
    size_t first = diff->count;

    for (; depth > 0; depth--) {
        const uint32_t *last = search->rows[depth - 1];
        bool down = comes_down(last, depth, x - y);
        int64_t k = down ? x - y + 1 : x - y - 1;
        struct change step = {.a = middle->a + last[k], .b = middle->b + (size_t)(last[k] - k)};
        struct change *later = diff->count > first ? &diff->changes[diff->count - 1] : NULL;

        step.a_end = step.a + !down;
        step.b_end = step.b + down;
        x = last[k];
        y = x - k;
        if (later && later->a == step.a_end && later->b == step.b_end) {
            later->a = step.a;
            later->b = step.b;
        } else {
            add_change(diff, step);
        }
    }
    for (size_t i = first, j = diff->count; i + 1 < j; i++) {
        struct change swapped = diff->changes[--j];

        diff->changes[j] = diff->changes[i];
        diff->changes[i] = swapped;
    }
}

static void compare_middle(struct diff *diff, struct change middle)
{
    struct search *search = mem_new(struct search);
    int64_t depth = 0;
    bool done;

    search->diff = diff;
    search->middle = middle;
    while (!(done = make_row(search, depth)) && depth < (int64_t)DIFF_LINES_LIMIT &&
           search->work < DIFF_WORK_LIMIT)
        depth++;
    if (done)
        trace_back(diff, search, depth);
    else
        add_change(diff, middle);
    for (int64_t n = 0; n <= depth; n++) {
        if (search->rows[n])
            free(search->rows[n] - n);
    }
    free(search);
}

static void compare(struct diff *diff)
{
    struct change middle = {0, diff->before_count, 0, diff->after_count};

    while (middle.a < middle.a_end && middle.b < middle.b_end &&
           same_line(diff, middle.a, middle.b)) {
        middle.a++;
        middle.b++;
    }
    while (middle.a < middle.a_end && middle.b < middle.b_end &&
           same_line(diff, middle.a_end - 1, middle.b_end - 1)) {
        middle.a_end--;
        middle.b_end--;
    }
    if (middle.a == middle.a_end || middle.b == middle.b_end) {
        if (middle.a < middle.a_end || middle.b < middle.b_end)
            add_change(diff, middle);
        return;
    }
    compare_middle(diff, middle);
}

/* ---- The text ---- */

/* Changes `from` to `end`, which are near one another, and the lines that are shown with them. */
struct hunk {
    size_t from, end;
    struct change lines;
};

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

static struct hunk hunk_from(const struct diff *diff, size_t from)
{
    struct hunk hunk = {.from = from, .end = from + 1};
    const struct change *changes = diff->changes;
    size_t context;

    while (hunk.end < diff->count &&
           changes[hunk.end].a - changes[hunk.end - 1].a_end <= 2 * DIFF_CONTEXT)
        hunk.end++;
    context = lesser(changes[from].a, DIFF_CONTEXT);
    hunk.lines.a = changes[from].a - context;
    hunk.lines.b = changes[from].b - context;
    context = lesser(diff->before_count - changes[hunk.end - 1].a_end, DIFF_CONTEXT);
    hunk.lines.a_end = changes[hunk.end - 1].a_end + context;
    hunk.lines.b_end = changes[hunk.end - 1].b_end + context;
    return hunk;
}

struct printer {
    struct buf *out; /* NULL: only the indentation is looked for */
    size_t indentation;
};

static void show(struct printer *printer, char sign, const struct edit_lines *lines,
                 size_t from, size_t end)
{
    for (; from < end; from++) {
        struct edit_span line = edit_line(lines, from);
        size_t own = edit_trim(line).length ? edit_indentation(line) : SIZE_MAX;

        if (!printer->out) {
            printer->indentation = lesser(printer->indentation, own);
            continue;
        }
        line = edit_outdent(line, printer->indentation);
        buf_add_char(printer->out, sign);
        buf_add(printer->out, line.at, line.length);
        buf_add_char(printer->out, '\n');
        if (from + 1 == lines->count)
            buf_add_text(printer->out, "\\ No newline at end of file\n");
    }
}

static void show_hunk(struct printer *printer, const struct diff *diff, const struct hunk *hunk)
{
    const struct change *lines = &hunk->lines;
    size_t before = lines->a_end - lines->a, after = lines->b_end - lines->b;
    size_t at = lines->a;

    if (printer->out)
        buf_addf(printer->out, "@@ -%zu,%zu +%zu,%zu @@\n", lines->a + (before > 0), before,
                 lines->b + (after > 0), after);
    for (size_t n = hunk->from; n < hunk->end; n++) {
        const struct change *change = &diff->changes[n];

        show(printer, ' ', &diff->before, at, change->a);
        show(printer, '-', &diff->before, change->a, change->a_end);
        show(printer, '+', &diff->after, change->b, change->b_end);
        at = change->a_end;
    }
    show(printer, ' ', &diff->before, at, lines->a_end);
}

static void show_all(struct printer *printer, const struct diff *diff)
{
    struct hunk hunk;

    for (size_t n = 0; n < diff->count; n = hunk.end) {
        hunk = hunk_from(diff, n);
        show_hunk(printer, diff, &hunk);
    }
}

struct diff_counts diff_texts(struct edit_span before, struct edit_span after, const char *name,
                              struct buf *out)
{
    struct diff diff = {.count = 0};
    struct diff_counts counts = {0, 0};
    struct printer printer = {.indentation = SIZE_MAX};

    edit_lines_init(&diff.before, edit_without_mark(before));
    edit_lines_init(&diff.after, edit_without_mark(after));
    diff.before_count = edit_lines_trimmed(&diff.before);
    diff.after_count = edit_lines_trimmed(&diff.after);
    compare(&diff);
    for (size_t n = 0; n < diff.count; n++) {
        counts.deletions += diff.changes[n].a_end - diff.changes[n].a;
        counts.additions += diff.changes[n].b_end - diff.changes[n].b;
    }
    if (out && diff.count) {
        show_all(&printer, &diff);
        printer.out = out;
        buf_addf(out, "--- %s\n+++ %s\n", name, name);
        show_all(&printer, &diff);
    }
    free(diff.changes);
    edit_lines_clear(&diff.before);
    edit_lines_clear(&diff.after);
    return counts;
}
