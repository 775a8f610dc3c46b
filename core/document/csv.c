/*
 * csv.c -- one pass over the bytes; no value is copied before it is written.
 */

#include "core/document/csv.h"

#include <string.h>

/* What divides the values of the first line, outside of quotes. */
static char find_divider(const char *bytes, size_t length)
{
    static const char dividers[] = ",;\t|";
    size_t counts[sizeof(dividers) - 1] = {0}, best = 0;
    bool quoted = false;

    for (size_t i = 0; i < length && (quoted || bytes[i] != '\n'); i++) {
        const char *divider = bytes[i] ? strchr(dividers, bytes[i]) : NULL;

        quoted ^= bytes[i] == '"';
        if (divider && !quoted)
            counts[divider - dividers]++;
    }
    for (size_t i = 1; i < sizeof(counts) / sizeof(*counts); i++) {
        if (counts[i] > counts[best])
            best = i;
    }
    return dividers[best];
}

/* Writes a value that begins with a quote, and returns the place behind it. Text behind the last quote belongs to
 * it. */
static size_t write_quoted(struct text_writer *writer, const char *bytes, size_t length)
{
    size_t begin = 1;

    for (;;) {
        const char *quote = memchr(bytes + begin, '"', length - begin);
        size_t end = quote ? (size_t)(quote - bytes) : length;

        text_writer_add(writer, bytes + begin, end - begin);
        if (end + 1 >= length || bytes[end + 1] != '"')
            return end + 1 < length ? end + 1 : length;
        text_writer_add(writer, "\"", 1);
        begin = end + 2;
    }
}

static size_t plain_length(const char *bytes, size_t length, char divider)
{
    size_t at = 0;

    while (at < length && bytes[at] != divider && bytes[at] != '\n')
        at++;
    return at;
}

bool csv_write(struct text_writer *writer, const char *bytes, size_t length)
{
    char divider = find_divider(bytes, length < CSV_ROW_MAX ? length : CSV_ROW_MAX);
    size_t at = 0;

    text_writer_table(writer);
    while (at < length && !text_writer_is_full(writer)) {
        size_t begin = at, rest;
        bool more = true;

        text_writer_row(writer);
        while (more) {
            text_writer_cells(writer, 1);
            if (at < length && bytes[at] == '"')
                at += write_quoted(writer, bytes + at, length - at);
            rest = plain_length(bytes + at, length - at, divider);
            text_writer_add(writer, bytes + at, rest);
            at += rest;
            more = at < length && bytes[at] == divider;
            at += at < length;
        }
        if (at - begin > CSV_ROW_MAX)
            return false;
    }
    text_writer_table_end(writer);
    return true;
}
