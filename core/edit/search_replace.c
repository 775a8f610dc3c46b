/*
 * search_replace.c -- blocks of lines, found and replaced.
 *
 * Each line of the text is folded once, so that a block costs a comparison for each line and no copy.
 */

#include "core/edit/search_replace.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

/* ---- Blocks ---- */

static struct edit_span without_cr(struct edit_span line)
{
    if (line.length && line.at[line.length - 1] == '\r')
        line.length--;
    return line;
}

/* A line of `low` to `high` signs, and maybe the word; returns how many signs, 0: it is none. */
static size_t mark(struct edit_span line, char sign, size_t low, size_t high, const char *word)
{
    size_t count = 0;
    struct edit_span rest;

    while (count < line.length && line.at[count] == sign)
        count++;
    if (count < low || count > high)
        return 0;
    rest = edit_trim(edit_skip(line, count));
    if (!rest.length)
        return count;
    return rest.length == strlen(word) && memcmp(rest.at, word, rest.length) == 0 && *word
               ? count
               : 0;
}

static struct edit_span lines_between(const struct edit_lines *lines, size_t first, size_t end)
{
    return first < end ? edit_lines_span(lines, first, end - first) : (struct edit_span){"", 0};
}

/* The line that separates the texts of a block between two lines; `end`: without one. */
static size_t find_separator(const struct edit_lines *lines, size_t begin, size_t end,
                             size_t signs)
{
    size_t loose = end;

    for (size_t n = begin; n < end; n++) {
        size_t count = mark(edit_line(lines, n), '=', 4, SIZE_MAX, "");

        if (count == signs)
            return n;
        if (count && loose == end)
            loose = n;
    }
    return loose;
}

/* Where lines end without empty ones behind the first. */
static size_t end_of(const struct edit_lines *lines, size_t first, size_t end)
{
    while (end > first + 1 && !without_cr(edit_line(lines, end - 1)).length)
        end--;
    return end;
}

static bool take_block(const struct edit_lines *lines, size_t *n, struct search_block *block)
{
    size_t signs = mark(edit_line(lines, *n), '<', 6, 7, "SEARCH");
    size_t end = *n + 1, separator, searched, replaced;

    if (!signs)
        return false;
    while (end < lines->count && !mark(edit_line(lines, end), '>', 6, 7, "REPLACE"))
        end++;
    separator = find_separator(lines, *n + 1, end, signs);
    if (end == lines->count || separator == end)
        return false;
    searched = end_of(lines, *n + 1, separator);
    replaced = end_of(lines, separator + 1, end);
    *block = (struct search_block){.search = lines_between(lines, *n + 1, searched),
                                   .replace = lines_between(lines, separator + 1, replaced),
                                   .lines = searched - *n - 1,
                                   .added = replaced - separator - 1};
    *n = end;
    return true;
}

enum err_code search_blocks_parse(struct edit_span text, struct search_blocks *ret_blocks,
                                  struct err *err)
{
    struct edit_lines lines;
    struct search_blocks blocks = {.count = 0};
    enum err_code rc = ERR_OK;

    edit_lines_init(&lines, text);
    for (size_t n = 0; n < lines.count && !rc; n++) {
        struct search_block block;

        if (!take_block(&lines, &n, &block))
            continue;
        if (blocks.count == SEARCH_BLOCKS_LIMIT)
            rc = err_set(err, ERR_INVALID, "There are more than %zu blocks.",
                         SEARCH_BLOCKS_LIMIT);
        blocks.list = mem_resize(blocks.list, blocks.count + 1, sizeof(*blocks.list));
        blocks.list[blocks.count++] = block;
    }
    edit_lines_clear(&lines);
    if (rc)
        search_blocks_clear(&blocks);
    else
        *ret_blocks = blocks;
    return rc;
}

void search_blocks_clear(struct search_blocks *blocks)
{
    free(blocks->list);
    *blocks = (struct search_blocks){.count = 0};
}

/* ---- Places ---- */

/* White space at both ends is off, and each run of it within is one blank. */
static void fold(struct edit_span line, struct buf *out)
{
    line = edit_trim(line);
    while (line.length) {
        size_t white = edit_white(line);

        if (!white) {
            buf_add_char(out, *line.at);
            line = edit_skip(line, 1);
            continue;
        }
        buf_add_char(out, ' ');
        for (; white; white = edit_white(line))
            line = edit_skip(line, white);
    }
}

/* Lines in both forms that are compared. */
struct forms {
    struct edit_lines lines, folded;
    struct buf folded_text;
};

static void forms_init(struct forms *forms, struct edit_span text)
{
    *forms = (struct forms){.folded_text = {0}};
    edit_lines_init(&forms->lines, text);
    buf_reserve(&forms->folded_text, text.length + 1);
    for (size_t n = 0; n < forms->lines.count; n++) {
        if (n)
            buf_add_char(&forms->folded_text, '\n');
        fold(edit_line(&forms->lines, n), &forms->folded_text);
    }
    edit_lines_init(&forms->folded,
                    (struct edit_span){forms->folded_text.data, forms->folded_text.length});
}

static void forms_clear(struct forms *forms)
{
    edit_lines_clear(&forms->lines);
    edit_lines_clear(&forms->folded);
    buf_clear(&forms->folded_text);
}

static bool is_at(const struct edit_lines *text, const struct edit_lines *block, size_t at,
                  size_t *work)
{
    for (size_t n = 0; n < block->count; n++, ++*work) {
        if (!edit_same(without_cr(edit_line(text, at + n)), without_cr(edit_line(block, n))))
            return false;
    }
    return true;
}

/* Notes the first places. Lines are counted from 0, and `end` is behind the last. */
static size_t find_places(const struct edit_lines *text, const struct edit_lines *block,
                          size_t begin, size_t end, struct search_failure *failure)
{
    size_t count = 0;

    for (size_t at = begin; at + block->count <= end && failure->work <= SEARCH_WORK_LIMIT;
         at++, failure->work++) {
        if (!is_at(text, block, at, &failure->work))
            continue;
        if (count < COUNT_OF(failure->places))
            failure->places[count] = at + 1;
        count++;
    }
    return count;
}

static bool find(struct search_block *block, const struct forms *text, size_t begin, size_t end,
                 struct search_failure *failure)
{
    struct forms wanted;

    failure->kind = SEARCH_NO_PLACE;
    if (!block->lines)
        return false;
    forms_init(&wanted, block->search);
    block->exact = true;
    failure->count = find_places(&text->lines, &wanted.lines, begin, end, failure);
    if (!failure->count) {
        block->exact = false;
        failure->count = find_places(&text->folded, &wanted.folded, begin, end, failure);
    }
    forms_clear(&wanted);
    if (failure->work > SEARCH_WORK_LIMIT) {
        failure->kind = SEARCH_TOO_MUCH;
        return false;
    }
    if (failure->count == 1) {
        block->first = failure->places[0] - 1;
        return true;
    }
    failure->kind = failure->count ? SEARCH_SEVERAL_PLACES : SEARCH_NO_PLACE;
    return false;
}

static int by_place(const void *left, const void *right)
{
    const struct search_block *const *a = left, *const *b = right;

    return (*a)->first < (*b)->first ? -1 : (*a)->first > (*b)->first;
}

static bool overlap(struct search_block *const *sorted, size_t count,
                    struct search_failure *failure)
{
    for (size_t i = 1; i < count; i++) {
        const struct search_block *a = sorted[i - 1], *b = sorted[i];

        if (a->first + a->lines <= b->first)
            continue;
        *failure = (struct search_failure){
            .kind = SEARCH_OVERLAP,
            .places = {a->first + 1, a->first + a->lines, b->first + 1, b->first + b->lines}};
        return true;
    }
    return false;
}

/* ---- The new text ---- */

static void add_lines(struct buf *out, struct edit_span text, const char *end)
{
    for (size_t n = 0; n < text.length; n++) {
        if (text.at[n] == '\r' && n + 1 < text.length && text.at[n + 1] == '\n')
            continue;
        if (text.at[n] == '\n')
            buf_add_text(out, end);
        else
            buf_add_char(out, text.at[n]);
    }
    buf_add_text(out, end);
}

/* Lines with their ends; the last line of the text has none. */
static void copy_lines(struct buf *out, const struct edit_lines *lines, size_t first,
                       size_t end)
{
    struct edit_span span;

    if (first >= end)
        return;
    span = edit_lines_span(lines, first, end - first);
    buf_add(out, span.at, span.length);
    if (end < lines->count)
        buf_add_char(out, '\n');
}

/* Of either kind: a text may have both. */
static void drop_line_break(struct buf *out)
{
    if (out->length && out->data[out->length - 1] == '\n')
        out->length--;
    if (out->length && out->data[out->length - 1] == '\r')
        out->length--;
}

static void rewrite(struct buf *out, const struct edit_lines *lines,
                    struct search_block *const *sorted, size_t count)
{
    bool crlf = memmem(lines->text.at, lines->text.length, "\r\n", 2) != NULL;
    const char *end = crlf ? "\r\n" : "\n";
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        const struct search_block *block = sorted[i];

        copy_lines(out, lines, at, block->first);
        at = block->first + block->lines;
        if (block->added)
            add_lines(out, block->replace, end);
        if (at == lines->count) /* the text had no line break at its end */
            drop_line_break(out);
    }
    copy_lines(out, lines, at, lines->count);
}

bool search_blocks_apply(struct search_blocks *blocks, struct edit_span text, size_t first,
                         size_t last, char **ret_text, size_t *ret_length,
                         struct search_failure *ret_failure)
{
    AUTO_FREE struct search_block **sorted =
        mem_new_array(struct search_block *, blocks->count + 1);
    struct search_failure failure = {.block = 0};
    struct forms forms;
    struct buf out = {0};
    size_t begin = first ? first - 1 : 0, end;
    bool found = true;

    forms_init(&forms, text);
    end = last && last < forms.lines.count ? last : forms.lines.count;
    for (size_t i = 0; i < blocks->count && found; i++) {
        sorted[i] = &blocks->list[i];
        failure.block = i + 1;
        found = find(sorted[i], &forms, begin, end, &failure);
    }
    if (found) {
        qsort(sorted, blocks->count, sizeof(struct search_block *), by_place);
        found = !overlap(sorted, blocks->count, &failure);
    }
    if (found) {
        buf_reserve(&out, text.length + 1);
        rewrite(&out, &forms.lines, sorted, blocks->count);
        *ret_length = out.length;
        *ret_text = buf_take(&out);
        (*ret_text)[*ret_length] = '\0';
    } else {
        *ret_failure = failure;
    }
    forms_clear(&forms);
    return found;
}

char *search_failure_text(const struct search_failure *failure)
{
    AUTO_BUF text = {0};

    switch (failure->kind) {
    case SEARCH_NO_PLACE:
        return mem_printf("Block #%zu does not match: these lines are not in the file.",
                          failure->block);
    case SEARCH_OVERLAP:
        return mem_printf("Blocks overlap: lines %zu-%zu and lines %zu-%zu.",
                          failure->places[0], failure->places[1], failure->places[2],
                          failure->places[3]);
    case SEARCH_TOO_MUCH:
        return mem_printf("Block #%zu took too long to look for.", failure->block);
    case SEARCH_SEVERAL_PLACES: break;
    }
    buf_addf(&text, "Block #%zu does not match: %zu places are possible (", failure->block,
             failure->count);
    for (size_t i = 0; i < failure->count && i < COUNT_OF(failure->places); i++)
        buf_addf(&text, "%sline %zu", i ? ", " : "", failure->places[i]);
    buf_addf(&text, "%s). Add lines around it, or narrow the search with withinRange.",
             failure->count > COUNT_OF(failure->places) ? " ..." : "");
    return buf_take(&text);
}
