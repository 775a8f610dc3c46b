#include "core/web/plain_line.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "core/base/utf8.h"

#define TAG_LIMIT ((size_t)200) /* bytes of a tag with its attributes */

/* The length of the tag that the text begins with; 0: it begins with none. */
static size_t tag_length(const char *text)
{
    size_t name = text[1] == '/' ? 2 : 1;
    size_t length;

    if (text[0] != '<' || !isalpha((unsigned char)text[name]))
        return 0;
    length = strcspn(text + 1, "<>") + 1;
    return text[length] == '>' && length < TAG_LIMIT ? length + 1 : 0;
}

/* clang-format off */
static const struct {
    const char *name;
    uint32_t point;
} references[] = {
    {"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}, {"nbsp;", ' '},
    {"hellip;", 0x2026}, {"ndash;", 0x2013}, {"mdash;", 0x2014}, {"rsquo;", 0x2019},
};
/* clang-format on */

static bool is_character(unsigned long point)
{
    return point >= ' ' && point < 0x110000 && (point < 0xD800 || point > 0xDFFF);
}

/* "#39;" and "#x27;". Returns its length; 0: it is none. */
static size_t number_length(const char *text, uint32_t *ret_point)
{
    bool is_hex = text[0] == '#' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = text + (is_hex ? 2 : 1);
    unsigned long point;
    char *end;

    if (text[0] != '#' || !isxdigit((unsigned char)*digits))
        return 0;
    point = strtoul(digits, &end, is_hex ? 16 : 10);
    if (*end != ';' || !is_character(point))
        return 0;
    *ret_point = (uint32_t)point;
    return (size_t)(end - text) + 1;
}

/* The length of the character reference that the text begins with; 0: it begins with none. */
static size_t reference_length(const char *text, uint32_t *ret_point)
{
    size_t length;

    if (text[0] != '&')
        return 0;
    for (size_t i = 0; i < COUNT_OF(references); i++) {
        length = strlen(references[i].name);
        if (strncmp(text + 1, references[i].name, length) == 0) {
            *ret_point = references[i].point;
            return length + 1;
        }
    }
    length = number_length(text + 1, ret_point);
    return length ? length + 1 : 0;
}

static bool is_blank(uint32_t point)
{
    return point <= ' ' || (point >= 0x7F && point <= 0xA0) || point == 0x2028 ||
           point == 0x2029;
}

static void add(struct buf *line, uint32_t point)
{
    char bytes[4];

    if (!is_blank(point))
        buf_add(line, bytes, (size_t)(utf8_put(bytes, point) - bytes));
    else if (line->length && line->data[line->length - 1] != ' ')
        buf_add_char(line, ' ');
}

char *plain_line(const char *text)
{
    AUTO_BUF line = {0};
    size_t left = text ? strlen(text) : 0;

    while (left) {
        uint32_t point = 0;
        size_t length = tag_length(text);

        if (!length) {
            length = reference_length(text, &point);
            if (!length)
                length = utf8_take(text, left, &point);
            add(&line, point);
        }
        text += length;
        left -= length;
    }
    if (line.length && line.data[line.length - 1] == ' ')
        line.data[--line.length] = '\0';
    return buf_take(&line);
}
