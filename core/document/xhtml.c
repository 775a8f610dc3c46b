#include "core/document/xhtml.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/compiler.h"

/* The length of a tag with its brackets; quotes may have brackets in them. */
static size_t tag_length(const char *tag, size_t length)
{
    char quote = 0;

    for (size_t i = 1; i < length; i++) {
        if (quote)
            quote = tag[i] == quote ? 0 : quote;
        else if (tag[i] == '"' || tag[i] == '\'')
            quote = tag[i];
        else if (tag[i] == '>')
            return i + 1;
    }
    return length;
}

static bool is_void(const char *name, size_t length)
{
    static const char *const names[] = {"area",  "base",   "br",    "col",  "embed",
                                        "hr",    "img",    "input", "link", "meta",
                                        "param", "source", "track", "wbr"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strlen(names[i]) == length && strncasecmp(names[i], name, length) == 0)
            return true;
    }
    return false;
}

static size_t name_length(const char *name, size_t length)
{
    size_t at = 0;

    while (at < length && (isalnum((unsigned char)name[at]) || name[at] == '-'))
        at++;
    return at;
}

/* A comment may have anything in it. */
static size_t piece_length(const char *piece, size_t length)
{
    const char *end;

    if (length < 4 || memcmp(piece, "<!--", 4) != 0)
        return tag_length(piece, length);
    end = memmem(piece, length, "-->", 3);
    return end ? (size_t)(end - piece) + 3 : length;
}

void xhtml_to_html(struct buf *html, const char *xhtml, size_t length)
{
    while (length) {
        const char *open = memchr(xhtml, '<', length);
        size_t text = open ? (size_t)(open - xhtml) : length, tag, name;

        buf_add(html, xhtml, text);
        xhtml += text;
        length -= text;
        if (!length)
            break;
        tag = piece_length(xhtml, length);
        name = name_length(xhtml + 1, length - 1);
        if (tag > 3 && xhtml[tag - 2] == '/' && name && !is_void(xhtml + 1, name)) {
            buf_add(html, xhtml, tag - 2);
            buf_add_text(html, "></");
            buf_add(html, xhtml + 1, name);
            buf_add_char(html, '>');
        } else {
            buf_add(html, xhtml, tag);
        }
        xhtml += tag;
        length -= tag;
    }
}
