/*
 * source.c -- how passages and their marks are written, and found again.
 *
 * What a model may cite is read from the text that it was shown, and not from a list beside it. The text may
 * have been cut, and a mark counts only if the model has seen its passage.
 */

#include "core/tool/source.h"

#include <stdio.h>
#include <string.h>

#define OPENING "【"
#define MARK    OPENING "%u:%u†source】"

size_t source_mark(unsigned search, unsigned passage, char ret_mark[SOURCE_MARK_SIZE])
{
    return (size_t)snprintf(ret_mark, SOURCE_MARK_SIZE, MARK, search, passage);
}

void source_add_mark(struct buf *out, unsigned search, unsigned passage)
{
    buf_addf(out, MARK, search, passage);
}

static const char *behind(const char *text, const char *beginning)
{
    size_t length = strlen(beginning);

    return text && strncmp(text, beginning, length) == 0 ? text + length : NULL;
}

static const char *behind_number(const char *text)
{
    size_t digits = text ? strspn(text, "0123456789") : 0;

    return digits ? text + digits : NULL;
}

size_t source_mark_length(const char *text)
{
    const char *at = behind_number(behind(text, OPENING));

    at = behind(behind_number(behind(at, ":")), "†source】");
    return at ? (size_t)(at - text) : 0;
}

/* "2:": how a mark begins behind its bracket. */
static bool begins_pair(const char *text)
{
    return behind(behind_number(text), ":") != NULL;
}

void source_add_quoted(struct buf *out, const char *text)
{
    const char *from = text;
    const char *at = text;

    while ((at = strpbrk(at, "[\xE3"))) {
        bool wide = strncmp(at, OPENING, strlen(OPENING)) == 0;
        const char *next = at + (wide ? strlen(OPENING) : 1);

        if (!wide && (*at != '[' || !begins_pair(next))) {
            at++;
            continue;
        }
        buf_add(out, from, (size_t)(at - from));
        buf_add_char(out, begins_pair(next) ? '(' : '['); /* [2:0†source] is a mark, too */
        at = from = next;
    }
    buf_add_text(out, from);
}

/* The passage whose head begins at the line; -1: it is no head of this search. */
static long passage_of(const char *line, unsigned search)
{
    unsigned number;
    unsigned passage;

    if (!source_mark_length(line) || sscanf(line, OPENING "%9u:%9u†", &number, &passage) != 2 ||
        number != search)
        return -1;
    return (long)passage;
}

void source_passages(const char *text, unsigned search, struct source_passage *ret_passages,
                     size_t count)
{
    struct source_passage *last = NULL;

    memset(ret_passages, 0, count * sizeof(*ret_passages));
    for (const char *line = text; line;) {
        long number = passage_of(line, search);
        const char *next = strchr(line, '\n');

        if (number >= 0 && (size_t)number < count) {
            if (last)
                last->length = (size_t)(line - last->text);
            last = &ret_passages[number];
            *last = (struct source_passage){.shown = true,
                                            .text = next ? next + 1 : line + strlen(line)};
        }
        line = next ? next + 1 : NULL;
    }
    if (last)
        last->length = strlen(last->text);
}
