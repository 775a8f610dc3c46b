#include "core/edit/lines.h"

#include <assert.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

size_t edit_count_lines(struct edit_span text)
{
    size_t count = 1;
    const char *end = text.at + text.length;

    for (const char *at = text.at; at < end && (at = memchr(at, '\n', (size_t)(end - at)));
         at++)
        count++;
    return count;
}

void edit_lines_init(struct edit_lines *lines, struct edit_span text)
{
    size_t n = 0;

    assert(text.length < UINT32_MAX);
    lines->text = text;
    lines->count = edit_count_lines(text);
    lines->begins = mem_new_array(uint32_t, lines->count);
    for (size_t at = 0; n + 1 < lines->count;) {
        const char *end = memchr(text.at + at, '\n', text.length - at);

        assert(end);
        at = (size_t)(end - text.at) + 1;
        lines->begins[++n] = (uint32_t)at;
    }
}

void edit_lines_clear(struct edit_lines *lines)
{
    free(lines->begins);
    *lines = (struct edit_lines){.count = 0};
}

struct edit_span edit_lines_span(const struct edit_lines *lines, size_t first, size_t count)
{
    size_t begin = lines->begins[first];
    size_t end = first + count < lines->count ? (size_t)lines->begins[first + count] - 1
                                              : lines->text.length;

    return (struct edit_span){lines->text.at + begin, end - begin};
}

struct edit_span edit_line(const struct edit_lines *lines, size_t n)
{
    return edit_lines_span(lines, n, 1);
}

size_t edit_lines_trimmed(const struct edit_lines *lines)
{
    return lines->count - (edit_line(lines, lines->count - 1).length == 0);
}

static bool is_wide_white(uint32_t point)
{
    return point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) ||
           point == 0x2028 || point == 0x2029 || point == 0x202F || point == 0x205F ||
           point == 0x3000 || point == 0xFEFF;
}

size_t edit_white(struct edit_span span)
{
    unsigned char first;
    uint32_t point;
    size_t size;

    if (span.length == 0)
        return 0;
    first = (unsigned char)*span.at;
    if (first < 0x80)
        return first == ' ' || (first >= '\t' && first <= '\r');
    size = utf8_take(span.at, span.length, &point);
    return is_wide_white(point) ? size : 0;
}

struct edit_span edit_trim(struct edit_span span)
{
    size_t size;

    while ((size = edit_white(span)))
        span = edit_skip(span, size);
    while (span.length) {
        size_t begin = span.length - 1;

        while (begin && !utf8_begins(span.at[begin]))
            begin--;
        if (edit_white(edit_skip(span, begin)) != span.length - begin)
            break;
        span.length = begin;
    }
    return span;
}

size_t edit_indentation(struct edit_span line)
{
    size_t count = 0, size;

    for (; (size = edit_white(line)); count++)
        line = edit_skip(line, size);
    return count;
}

struct edit_span edit_outdent(struct edit_span line, size_t characters)
{
    size_t size;

    for (; characters && (size = edit_white(line)); characters--)
        line = edit_skip(line, size);
    return line;
}

struct edit_span edit_without_mark(struct edit_span text)
{
    size_t length = strlen(BYTE_ORDER_MARK);

    if (text.length >= length && memcmp(text.at, BYTE_ORDER_MARK, length) == 0)
        return edit_skip(text, length);
    return text;
}

bool edit_same(struct edit_span a, struct edit_span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}
