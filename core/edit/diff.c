#include "core/edit/diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

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
        struct change step = {.a = middle->a + last[k],
                              .b = middle->b + (size_t)(last[k] - k)};
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
