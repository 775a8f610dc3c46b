#ifndef RUNNEL_CORE_EDIT_LINES_H
#define RUNNEL_CORE_EDIT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * lines.h -- parts of a text, its lines, and its white space.
 *
 * Lines are separated by LF alone, so a CR belongs to its line, where it is white space. A text that ends with an LF
 * has an empty last line. White space is what JavaScript calls so, because models and the tools that they know trim
 * by it.
 *
 * Pure functions: any thread.
 */

/* A part of a text; borrowed from it, without a NUL of its own. */
struct edit_span {
    const char *at;
    size_t length;
};

/* The lines of a text of less than 4 GiB. The text is borrowed and stays unchanged meanwhile. */
struct edit_lines {
    struct edit_span text;
    uint32_t *begins; /* owned: where each line begins */
    size_t count;     /* at least 1 */
};

void edit_lines_init(struct edit_lines *lines, struct edit_span text);
void edit_lines_clear(struct edit_lines *lines);

/* One line, or `count` > 0 lines from `first` on, without the LF of the last. They must exist. */
struct edit_span edit_line(const struct edit_lines *lines, size_t n);
struct edit_span edit_lines_span(const struct edit_lines *lines, size_t first, size_t count);

/* How many lines a text has, at least one, without looking where they are. */
size_t edit_count_lines(struct edit_span text);

/* The number of the lines without an empty last one. */
size_t edit_lines_trimmed(const struct edit_lines *lines);

/* The bytes of the white space character at the beginning of the span; 0: there is another one, or nothing. */
size_t edit_white(struct edit_span span);

/* The span without white space at both ends. */
struct edit_span edit_trim(struct edit_span span);

/* The characters of white space at the beginning, and the span without so many of them. */
size_t edit_indentation(struct edit_span line);
struct edit_span edit_outdent(struct edit_span line, size_t characters);

/* The span without a byte order mark at its beginning. */
struct edit_span edit_without_mark(struct edit_span text);

bool edit_same(struct edit_span a, struct edit_span b);

/* The span without its first `size` bytes. */
static inline struct edit_span edit_skip(struct edit_span span, size_t size)
{
    return (struct edit_span){span.at + size, span.length - size};
}

#endif
