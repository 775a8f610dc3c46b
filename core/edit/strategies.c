#include "core/edit/strategies.h"

#include <string.h>

#include "core/base/buf.h"

const char *edit_find_text(struct edit_span text, struct edit_span needle)
{
    return memmem(text.at, text.length, needle.at, needle.length);
}

/* Offers the first place of a text; false: no more candidates. */
static bool offer_first(struct edit_search *search, struct edit_span text)
{
    const char *at = edit_find_text(search->file.text, text);

    return !at || search->offer(search, (struct edit_span){at, text.length});
}

typedef bool (*window_test)(struct edit_search *search, size_t first, size_t count,
                            struct edit_span find);

/* Offers every place of `count` lines that passes the test. */
static void offer_windows(struct edit_search *search, size_t count, struct edit_span find,
                          window_test test)
{
    for (size_t n = 0; n + count <= search->file.count && search->work > 0; n++) {
        if (test(search, n, count, find) &&
            !search->offer(search, edit_lines_span(&search->file, n, count)))
            return;
    }
}

/* ---- 1: the text itself; 9: each of its places ---- */

static void find_simple(struct edit_search *search)
{
    search->offer(search, search->find);
}

static void find_occurrences(struct edit_search *search)
{
    struct edit_span rest = search->file.text;
    size_t length = search->find.length;
    const char *at;

    while (length && (at = edit_find_text(rest, search->find))) {
        if (!search->offer(search, (struct edit_span){at, length}))
            return;
        rest = edit_skip(rest, (size_t)(at - rest.at) + length);
    }
}

/* ---- 2: lines are equal after both ends are trimmed ---- */

static bool same_trimmed_lines(struct edit_search *search, size_t first, size_t count,
                               struct edit_span find)
{
    (void)find;
    for (size_t n = 0; n < count; n++) {
        struct edit_span line = edit_line(&search->file, first + n);
        struct edit_span wanted = edit_line(&search->find_lines, n);

        search->work -= (int64_t)(line.length + wanted.length) + 1;
        if (!edit_same(edit_trim(line), edit_trim(wanted)))
            return false;
    }
    return true;
}

static void find_line_trimmed(struct edit_search *search)
{
    offer_windows(search, edit_lines_trimmed(&search->find_lines), search->find,
                  same_trimmed_lines);
}

/* ---- 4: runs of white space are one blank ---- */

/* Adds the text with its runs of white space as one blank, without those at its ends. */
static void add_folded(struct buf *out, struct edit_span text)
{
    text = edit_trim(text);
    while (text.length) {
        size_t size = edit_white(text);

        if (!size) {
            buf_add_char(out, *text.at);
            text = edit_skip(text, 1);
            continue;
        }
        buf_add_char(out, ' ');
        while (size) {
            text = edit_skip(text, size);
            size = edit_white(text);
        }
    }
}

/* The part of `text` that `length` bytes of its folded form stand for, from the byte `from` on. The part begins and
 * ends with no white space. */
static struct edit_span unfold(struct edit_span text, size_t from, size_t length)
{
    const char *begin = NULL;

    text = edit_trim(text);
    for (size_t folded = 0; folded < from + length; folded++) {
        size_t size = edit_white(text);

        if (folded == from)
            begin = text.at;
        text = edit_skip(text, size ? size : 1);
        while (size && (size = edit_white(text)))
            text = edit_skip(text, size);
    }
    return (struct edit_span){begin, (size_t)(text.at - begin)};
}

static bool offer_folded_line(struct edit_search *search, size_t n, struct edit_span find,
                              struct buf *folded)
{
    struct edit_span line = edit_line(&search->file, n);
    struct edit_span part = {line.at, 0};
    const char *at;

    search->work -= (int64_t)line.length + 1;
    buf_reset(folded);
    add_folded(folded, line);
    if (edit_same((struct edit_span){folded->data, folded->length}, find))
        return search->offer(search, line);
    if (folded->length < find.length)
        return true;
    if (find.length) {
        at = edit_find_text((struct edit_span){folded->data, folded->length}, find);
        if (!at)
            return true;
        part = unfold(line, (size_t)(at - folded->data), find.length);
    }
    return search->offer(search, part);
}

/* Compares without making the folded form, because most places differ early. */
static bool same_folded(struct edit_search *search, size_t first, size_t count,
                        struct edit_span find)
{
    struct edit_span text = edit_trim(edit_lines_span(&search->file, first, count));
    size_t n = 0;

    for (; text.length && n < find.length; n++) {
        size_t size = edit_white(text);

        search->work--;
        if (find.at[n] != (size ? ' ' : *text.at))
            return false;
        text = edit_skip(text, size ? size : 1);
        while (size && (size = edit_white(text))) {
            search->work--;
            text = edit_skip(text, size);
        }
    }
    return text.length == 0 && n == find.length;
}

static void find_whitespace_normalized(struct edit_search *search)
{
    AUTO_BUF find = {0}, folded = {0};
    struct edit_span wanted;

    buf_reserve(&find, 1); /* so that an empty text has a place */
    buf_reserve(&folded, 1);
    add_folded(&find, search->find);
    wanted = (struct edit_span){find.data, find.length};
    for (size_t n = 0; n < search->file.count && search->work > 0; n++) {
        if (!offer_folded_line(search, n, wanted, &folded))
            return;
    }
    if (search->find_lines.count > 1)
        offer_windows(search, search->find_lines.count, wanted, same_folded);
}

/* ---- 5: the common indentation does not count ---- */

/* The least indentation of these lines, in characters; blank lines have no say. */
static size_t common_indentation(const struct edit_lines *lines, size_t first, size_t count)
{
    size_t least = SIZE_MAX;

    for (size_t n = 0; n < count; n++) {
        struct edit_span line = edit_line(lines, first + n);
        size_t own = edit_trim(line).length ? edit_indentation(line) : SIZE_MAX;

        if (own < least)
            least = own;
    }
    return least;
}

static struct edit_span without_indentation(struct edit_span line, size_t characters)
{
    return edit_trim(line).length ? edit_outdent(line, characters) : line;
}

static bool same_indented(struct edit_search *search, size_t first, size_t count,
                          struct edit_span find)
{
    size_t ours, theirs;

    /* Lines that are equal without indentation are also equal trimmed, which is quicker to see. */
    if (!same_trimmed_lines(search, first, count, find))
        return false;
    search->work -= 2 * (int64_t)edit_lines_span(&search->file, first, count).length;
    ours = common_indentation(&search->file, first, count);
    theirs = common_indentation(&search->find_lines, 0, count);
    for (size_t n = 0; n < count; n++) {
        if (!edit_same(without_indentation(edit_line(&search->file, first + n), ours),
                       without_indentation(edit_line(&search->find_lines, n), theirs)))
            return false;
    }
    return true;
}

static void find_indentation_flexible(struct edit_search *search)
{
    offer_windows(search, search->find_lines.count, search->find, same_indented);
}

/* ---- 6: escape sequences are decoded ---- */

/* The character that an escape sequence at the beginning stands for, and how many bytes are taken. */
static char unescaped(struct edit_span text, size_t *ret_size)
{
    static const char from[] = "ntr'\"`\\\n$";
    static const char to[] = "\n\t\r'\"`\\\n$";
    const char *place;

    *ret_size = 1;
    if (*text.at != '\\' || text.length < 2)
        return *text.at;
    place = memchr(from, text.at[1], sizeof(from) - 1);
    if (!place)
        return *text.at;
    *ret_size = 2;
    return to[place - from];
}

static bool same_unescaped(struct edit_search *search, size_t first, size_t count,
                           struct edit_span find)
{
    struct edit_span text = edit_lines_span(&search->file, first, count);
    size_t n = 0;

    for (; text.length && n < find.length; n++) {
        size_t size;

        search->work--;
        if (unescaped(text, &size) != find.at[n])
            return false;
        text = edit_skip(text, size);
    }
    return text.length == 0 && n == find.length;
}

static void find_escape_normalized(struct edit_search *search)
{
    AUTO_BUF find = {0};
    struct edit_span rest = search->find, wanted;
    size_t size, lines = 1;

    while (rest.length) {
        buf_add_char(&find, unescaped(rest, &size));
        rest = edit_skip(rest, size);
    }
    wanted = (struct edit_span){find.data, find.length};
    for (size_t n = 0; n < find.length; n++)
        lines += find.data[n] == '\n';
    if (find.length && offer_first(search, wanted))
        offer_windows(search, lines, wanted, same_unescaped);
}

/* ---- 7: white space around the whole text does not count ---- */

static bool same_trimmed(struct edit_search *search, size_t first, size_t count,
                         struct edit_span find)
{
    struct edit_span window = edit_lines_span(&search->file, first, count);
    struct edit_span text = edit_trim(window);

    search->work -= (int64_t)(window.length - text.length) + 1;
    if (text.length != find.length)
        return false;
    search->work -= (int64_t)text.length;
    return edit_same(text, find);
}

static void find_trimmed_boundary(struct edit_search *search)
{
    struct edit_span trimmed = edit_trim(search->find);

    if (trimmed.length == search->find.length)
        return;
    if (trimmed.length ? offer_first(search, trimmed)
                       : search->offer(search, (struct edit_span){search->file.text.at, 0}))
        offer_windows(search, search->find_lines.count, trimmed, same_trimmed);
}

/* clang-format off */
const struct edit_strategy edit_strategies[EDIT_STRATEGIES] = {
    {"simple",                find_simple,                EDIT_EXACT},
    {"line_trimmed",          find_line_trimmed,          0},
    {"block_anchor",          edit_find_block_anchor,     EDIT_ANCHORED},
    {"whitespace_normalized", find_whitespace_normalized, 0},
    {"indentation_flexible",  find_indentation_flexible,  0},
    {"escape_normalized",     find_escape_normalized,     0},
    {"trimmed_boundary",      find_trimmed_boundary,      EDIT_ONE_PLACE},
    {"context_aware",         edit_find_context_aware,    EDIT_ANCHORED},
    {"multi_occurrence",      find_occurrences,           0},
};
/* clang-format on */
