/*
 * paragraphs.c -- a text cut at its empty lines.
 *
 * Words are found in a folded copy: letters become those without case, accents and width, as in searches of files
 * (core/retrieval/fold.h). One copy of the whole text would be simpler, but its bytes are not at the places of the
 * text's. So each paragraph is folded for itself.
 */

#include "handlers/support/web/paragraphs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/retrieval/fold.h"

struct paragraph {
    const char *begin, *end;
    size_t at; /* characters before it */
    bool found;
};

/* ---- Finding ---- */

static void add_letter(struct buf *out, uint32_t point)
{
    char *at = buf_reserve(out, 4);

    buf_added(out, (size_t)(utf8_put(at, point) - at));
}

/* The caller frees. */
static char *fold(const char *text, size_t length)
{
    const char *end = text + length;
    struct buf out = {0};

    while (text < end) {
        uint32_t point;
        const char *letters;

        text += utf8_take(text, (size_t)(end - text), &point);
        letters = fold_several(point);
        if (letters)
            buf_add_text(&out, letters);
        else
            add_letter(&out, fold_letter(point));
    }
    return buf_take(&out);
}

/* Strings, folded. The caller frees each, and the list, which ends with NULL. */
static char **fold_words(const json_t *words)
{
    char **folded = mem_new_array(char *, json_array_size(words) + 1);
    size_t i;
    json_t *word;

    json_array_foreach (words, i, word)
        folded[i] = fold(json_string_value(word), json_string_length(word));
    return folded;
}

static bool matches(const struct paragraph *paragraph, char *const *words, bool all)
{
    AUTO_FREE char *text = fold(paragraph->begin, (size_t)(paragraph->end - paragraph->begin));

    for (; *words; words++) {
        if ((strstr(text, *words) != NULL) != all)
            return !all;
    }
    return all;
}

static void divide(struct paragraphs *paragraphs, const char *text)
{
    size_t at = 0;

    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        size_t count = paragraphs->count++;

        if ((count & (count - 1)) == 0)
            paragraphs->list =
                mem_resize(paragraphs->list, count ? 2 * count : 1, sizeof(*paragraphs->list));
        paragraphs->list[count] =
            (struct paragraph){.begin = text, .end = text + length, .at = at};
        length += end ? strspn(text + length, "\n") : 0;
        at += utf8_count(text, length);
        text += length;
    }
}

struct paragraphs paragraphs_find(const char *text, const json_t *words, bool all)
{
    struct paragraphs paragraphs = {0};
    AUTO_FREE char **folded = fold_words(words);

    divide(&paragraphs, text);
    for (size_t i = 0; i < paragraphs.count; i++) {
        paragraphs.list[i].found = matches(&paragraphs.list[i], folded, all);
        paragraphs.found += paragraphs.list[i].found;
    }
    for (char **word = folded; *word; word++)
        free(*word);
    return paragraphs;
}

void paragraphs_clear(struct paragraphs *paragraphs)
{
    free(paragraphs->list);
    *paragraphs = (struct paragraphs){0};
}

/* ---- Showing ---- */

/* Places that touch are one: does it go on behind `last`? */
static bool goes_on(const struct paragraphs *paragraphs, size_t last, size_t around)
{
    bool found = around && paragraphs->list[last].found;

    for (size_t i = last + 1; i <= last + 1 + around && i < paragraphs->count; i++)
        found = found || paragraphs->list[i].found;
    return found && last + 1 < paragraphs->count;
}

static void add_place(struct buf *out, const struct paragraph *first,
                      const struct paragraph *last, size_t number)
{
    size_t length = (size_t)(last->end - first->begin);

    buf_addf(out, "%s[%zu] begin=%zu, limit=%zu\n", number > 1 ? "\n\n" : "", number, first->at,
             utf8_count(first->begin, length));
    buf_add(out, first->begin, length);
}

void paragraphs_show(const struct paragraphs *paragraphs, size_t around, struct buf *out)
{
    const struct paragraph *list = paragraphs->list;
    size_t number = 0;

    for (size_t i = 0; i < paragraphs->count && number < PARAGRAPHS_SHOWN; i++) {
        size_t first = i > around ? i - around : 0, last = i;

        if (!list[i].found)
            continue;
        while (goes_on(paragraphs, last, around))
            last++;
        add_place(out, &list[first], &list[last], ++number);
        i = last;
    }
}
