/*
 * The two strategies that trust the first and the last line of a text: models remember those, and invent what is
 * between them.
 */

#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/edit/strategies.h"

/* What the best of several blocks must have, and what every one must have in the strict profile. */
#define SIMILARITY_OF_SEVERAL 0.3
#define SIMILARITY_STRICT     0.65

/* ---- How alike two lines are ---- */

static size_t letters(struct edit_span text, uint32_t *ret_points)
{
    size_t count = 0;

    while (text.length) {
        text = edit_skip(text, utf8_take(text.at, text.length, &ret_points[count]));
        count++;
    }
    return count;
}

/* One row of the table: row[i] is the distance of the first i letters of `a` and those of `b` before. */
static void next_row(size_t *row, const uint32_t *a, size_t length, uint32_t letter)
{
    size_t diagonal = row[0]++;

    for (size_t i = 0; i < length; i++) {
        size_t least = diagonal + (a[i] != letter);

        diagonal = row[i + 1];
        if (diagonal + 1 < least)
            least = diagonal + 1;
        if (row[i] + 1 < least)
            least = row[i] + 1;
        row[i + 1] = least;
    }
}

size_t edit_distance(struct edit_span a, struct edit_span b, int64_t *work)
{
    AUTO_FREE uint32_t *first = mem_new_array(uint32_t, a.length + 1);
    AUTO_FREE uint32_t *second = mem_new_array(uint32_t, b.length + 1);
    AUTO_FREE size_t *row = mem_new_array(size_t, a.length + 1);
    size_t rows = letters(b, second);
    size_t length = letters(a, first);

    for (size_t i = 0; i <= length; i++)
        row[i] = i;
    for (size_t n = 0; n < rows; n++)
        next_row(row, first, length, second[n]);
    *work -= (int64_t)(length * rows);
    return row[length];
}

double edit_similarity(struct edit_span a, struct edit_span b, int64_t *work)
{
    size_t first = utf8_count(a.at, a.length), second = utf8_count(b.at, b.length);
    size_t most = first > second ? first : second;

    *work -= (int64_t)most + 1;
    if (edit_same(a, b))
        return 1.0;
    if (first && second > EDIT_DISTANCE_LIMIT / first)
        return 0.0;
    return 1.0 - (double)edit_distance(a, b, work) / (double)most;
}

/* ---- Blocks between two lines ---- */

struct block {
    size_t first, last; /* lines of the file, both equal to those of the text */
};

struct anchors {
    struct edit_span first, last; /* trimmed */
    size_t lines;                 /* of the text, without an empty last one */
};

/* False for a text that is too short. An empty last line counts there, and nowhere else. */
static bool anchors_of(const struct edit_search *search, struct anchors *ret)
{
    if (search->find_lines.count < 3)
        return false;
    ret->lines = edit_lines_trimmed(&search->find_lines);
    ret->first = edit_trim(edit_line(&search->find_lines, 0));
    ret->last = edit_trim(edit_line(&search->find_lines, ret->lines - 1));
    return true;
}

static bool is_line(struct edit_search *search, size_t n, struct edit_span trimmed)
{
    struct edit_span line = edit_line(&search->file, n);

    search->work -= (int64_t)line.length + 1;
    return edit_same(edit_trim(line), trimmed);
}

/* The next block behind *block, which begins zeroed with first = SIZE_MAX. The last line is the first that fits, at
 * least two below; so it never moves up, and the whole file is looked at twice at most. */
static bool next_block(struct edit_search *search, const struct anchors *anchors,
                       struct block *block)
{
    size_t count = search->file.count;

    do
        block->first++;
    while (block->first < count && search->work > 0 &&
           !is_line(search, block->first, anchors->first));
    if (block->last < block->first + 2)
        block->last = block->first + 2;
    while (block->last < count && search->work > 0 &&
           !is_line(search, block->last, anchors->last))
        block->last++;
    return block->first < count && block->last < count && search->work > 0;
}

static bool offer_block(struct edit_search *search, const struct block *block)
{
    return search->offer(
        search, edit_lines_span(&search->file, block->first, block->last - block->first + 1));
}

/* The mean over the lines between first and last of both. Two empty lines are alike by 0, but they count: so it is
 * in the tool whose edits models have learned. */
static double block_similarity(struct edit_search *search, const struct anchors *anchors,
                               const struct block *block)
{
    size_t ours = block->last - block->first - 1, theirs = anchors->lines - 2;
    size_t count = ours < theirs ? ours : theirs;
    double sum = 0.0;

    if (anchors->lines < 3)
        return 1.0;
    for (size_t n = 1; n <= count && search->work > 0; n++) {
        struct edit_span line = edit_trim(edit_line(&search->file, block->first + n));
        struct edit_span wanted = edit_trim(edit_line(&search->find_lines, n));

        if (line.length || wanted.length)
            sum += edit_similarity(line, wanted, &search->work);
    }
    return sum / (double)count;
}

static bool has_size(const struct edit_search *search, const struct anchors *anchors,
                     const struct block *block)
{
    size_t lines = block->last - block->first + 1;
    size_t spare = anchors->lines / 4 ? anchors->lines / 4 : 1;

    return search->profile != EDIT_STRICT ||
           (lines <= anchors->lines + spare && anchors->lines <= lines + spare);
}

static double wanted_similarity(const struct edit_search *search, size_t blocks)
{
    if (search->profile == EDIT_STRICT)
        return SIMILARITY_STRICT;
    return blocks > 1 ? SIMILARITY_OF_SEVERAL : 0.0;
}

void edit_find_block_anchor(struct edit_search *search)
{
    struct anchors anchors;
    struct block block = {SIZE_MAX, 0}, best = block;
    double most = -1.0;
    size_t blocks = 0;

    if (!anchors_of(search, &anchors))
        return;
    while (next_block(search, &anchors, &block)) {
        double similarity;

        if (!has_size(search, &anchors, &block))
            continue;
        blocks++;
        similarity = block_similarity(search, &anchors, &block);
        if (similarity > most) {
            most = similarity;
            best = block;
        }
    }
    if (blocks && search->work > 0 && most >= wanted_similarity(search, blocks))
        offer_block(search, &best);
}

/* At least half of the lines between that are not both empty are equal. */
static bool half_is_equal(struct edit_search *search, const struct anchors *anchors,
                          const struct block *block)
{
    size_t equal = 0, count = 0;

    for (size_t n = 1; n + 1 < anchors->lines; n++) {
        struct edit_span line = edit_line(&search->file, block->first + n);
        struct edit_span wanted = edit_trim(edit_line(&search->find_lines, n));

        search->work -= (int64_t)line.length + 1;
        line = edit_trim(line);
        count += line.length || wanted.length;
        equal += line.length && edit_same(line, wanted);
    }
    return count == 0 || 2 * equal >= count;
}

void edit_find_context_aware(struct edit_search *search)
{
    struct anchors anchors;
    struct block block = {SIZE_MAX, 0};

    if (!anchors_of(search, &anchors))
        return;
    while (next_block(search, &anchors, &block)) {
        if (block.last - block.first + 1 == anchors.lines &&
            half_is_equal(search, &anchors, &block) && !offer_block(search, &block))
            return;
    }
}
