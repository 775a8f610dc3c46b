/*
 * overlap.c -- one table of all words, sorted, with the passages that have each.
 *
 *   passages ─▶ (word, passage), sorted ─▶ for each word of a paragraph its passages are counted
 *
 * A word that stands in more than half of the passages says nothing about where a paragraph comes from, and needs no
 * list of stop words in any language. With one passage there is nothing to confuse it with, and all words count.
 */

#include "core/run/citation/overlap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/retrieval/words.h"

struct entry {
    uint32_t word;
    uint32_t passage;
};

/* Words of a text while they are gathered. */
struct entries {
    struct entry *list;
    size_t count, room;
    uint32_t passage;
};

static void take_word(void *arg, uint32_t word)
{
    struct entries *entries = arg;

    if (entries->count == entries->room) {
        entries->room = entries->room ? 2 * entries->room : 256;
        entries->list = mem_resize(entries->list, entries->room, sizeof(*entries->list));
    }
    entries->list[entries->count++] = (struct entry){.word = word, .passage = entries->passage};
}

static int compare(const void *a, const void *b)
{
    const struct entry *one = a;
    const struct entry *other = b;

    if (one->word != other->word)
        return one->word < other->word ? -1 : 1;
    return (one->passage > other->passage) - (one->passage < other->passage);
}

/* Each pair once, sorted by word. */
static void sort_entries(struct entries *entries)
{
    size_t kept = 0;

    if (!entries->count)
        return;
    qsort(entries->list, entries->count, sizeof(*entries->list), compare);
    for (size_t i = 0; i < entries->count; i++) {
        if (!kept || compare(&entries->list[kept - 1], &entries->list[i]) != 0)
            entries->list[kept++] = entries->list[i];
    }
    entries->count = kept;
}

static struct entries index_passages(const struct overlap_passage *passages, size_t count)
{
    struct entries entries = {0};
    size_t room = OVERLAP_TEXT_LIMIT;

    for (size_t i = 0; i < count && room; i++) {
        size_t length = passages[i].length < room ? passages[i].length : room;

        entries.passage = (uint32_t)i;
        words_read(passages[i].text, length, take_word, &entries);
        room -= length;
    }
    sort_entries(&entries);
    return entries;
}

/* The entries of a word; *ret_count is 0 if no passage has it. */
static const struct entry *find_word(const struct entries *all, uint32_t word,
                                     size_t *ret_count)
{
    size_t low = 0;
    size_t high = all->count;
    size_t end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (all->list[middle].word < word)
            low = middle + 1;
        else
            high = middle;
    }
    end = low;
    while (end < all->count && all->list[end].word == word)
        end++;
    *ret_count = end - low;
    return all->list + low;
}

/* The passage of a paragraph; `count` if it has none. `shared` has room for each passage. Adds what it has compared to
 * *work. */
static size_t passage_of(const char *text, size_t length, const struct entries *all,
                         size_t *shared, size_t count, size_t *work)
{
    struct entries words = {0};
    size_t rarer = 0;
    size_t best = 0;
    size_t found = count;

    words_read(text, length, take_word, &words);
    sort_entries(&words);
    if (words.count < OVERLAP_WORDS) {
        free(words.list);
        return count;
    }
    memset(shared, 0, count * sizeof(*shared));
    *work += count;
    for (size_t i = 0; i < words.count; i++) {
        size_t holders;
        const struct entry *entry = find_word(all, words.list[i].word, &holders);

        *work += holders;
        if (holders > 1 && 2 * holders > count)
            continue;
        rarer++;
        for (size_t k = 0; k < holders; k++)
            shared[entry[k].passage]++;
    }
    free(words.list);
    for (size_t i = 1; i < count; i++)
        best = shared[i] > shared[best] ? i : best;
    if (rarer >= OVERLAP_WORDS && 100 * shared[best] >= OVERLAP_SHARE * rarer)
        found = best;
    for (size_t i = 0; i < count; i++) {
        if (i != best && 2 * shared[i] >= shared[best])
            found = count;
    }
    return found;
}

/* A line that begins with these begins a paragraph. */
static bool begins_paragraph(const char *line, size_t length)
{
    size_t digits = 0;

    while (digits < length && line[digits] >= '0' && line[digits] <= '9')
        digits++;
    if (digits && digits < length)
        return line[digits] == '.' || line[digits] == ')';
    return length && (*line == '#' || *line == '*' || *line == '-' || *line == '|');
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* The end of the paragraph that begins at `from`. */
static size_t paragraph_end(const char *text, size_t length, size_t from)
{
    size_t at = from;

    while (at < length) {
        const char *line_end = memchr(text + at, '\n', length - at);

        if (!line_end)
            return length;
        at = (size_t)(line_end - text) + 1;
        while (at < length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
            at++;
        if (at < length && (text[at] == '\n' || begins_paragraph(text + at, length - at)))
            return at;
    }
    return length;
}

struct overlap *overlap_find(const char *text, size_t length,
                             const struct overlap_passage *passages, size_t count,
                             size_t *ret_count)
{
    struct entries all = index_passages(passages, count);
    AUTO_FREE size_t *shared = mem_new_array(size_t, count ? count : 1);
    struct overlap *list = NULL;
    size_t found = 0;
    size_t work = 0;

    if (length > OVERLAP_TEXT_LIMIT)
        length = OVERLAP_TEXT_LIMIT;
    for (size_t at = 0; at < length && count && work < OVERLAP_WORK_LIMIT;) {
        size_t next = paragraph_end(text, length, at);
        size_t end = next;
        size_t passage;

        while (end > at && is_blank(text[end - 1]))
            end--;
        passage = passage_of(text + at, end - at, &all, shared, count, &work);
        if (passage < count) {
            list = mem_resize(list, found + 1, sizeof(*list));
            list[found++] = (struct overlap){.end = end, .passage = passage};
        }
        at = next;
    }
    free(all.list);
    *ret_count = found;
    return list;
}
