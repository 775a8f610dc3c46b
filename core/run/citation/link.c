/*
 * link.c -- from the middle of a link to its ends.
 *
 *   ( [ label ] (https:// ... ) )
 *             └─── what is looked for, with the scheme: it is rare in other text
 *
 * The label begins at the bracket that the "]" closes. Brackets are followed from the left, so that no text is read
 * twice: `opened` has the open ones, and of too many the outermost are forgotten. They are forgotten at an empty line,
 * too, as a label ends with its paragraph.
 *
 * A library for Markdown was considered. It makes a tree of a whole text, and says of no node at which character it
 * stands.
 */

#include "core/run/citation/link.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"

#define DEPTH_LIMIT 16 /* brackets within brackets */

/* ---- The target ---- */

static bool begins(const char *text, const char *word)
{
    return strncasecmp(text, word, strlen(word)) == 0;
}

/* Behind the URL that begins at `url`. */
static const char *url_end(const char *url, bool angled)
{
    unsigned depth = 0;
    const char *at = url;

    for (; *at && !strchr(" \t\r\n<>[]\"`\\", *at); at++) {
        if (*at == '(' && !angled)
            depth++;
        else if (*at == ')' && !angled && depth-- == 0)
            return at;
    }
    return at;
}

/* Behind a title in quotes, if there is one; titles have one line. */
static const char *skip_title(const char *at)
{
    const char *quote = at + strspn(at, " ");
    const char *end;

    if (quote == at || (*quote != '"' && *quote != '\''))
        return at;
    end = quote + 1 + strcspn(quote + 1, *quote == '"' ? "\"\n[]" : "'\n[]");
    return *end == *quote ? end + 1 : at;
}

/* What stands behind "](". False: it is not the target of a link. */
static bool read_target(const char *at, struct link *link)
{
    bool angled = *at == '<';

    link->url = at + angled;
    if (!begins(link->url, "http://") && !begins(link->url, "https://"))
        return false;
    at = url_end(link->url, angled);
    link->url_length = (size_t)(at - link->url);
    if (angled && *at++ != '>')
        return false;
    at = skip_title(at);
    link->end = at + 1;
    return *at == ')';
}

/* ---- The label ---- */

struct opened {
    const char *at[DEPTH_LIMIT];
    unsigned count;
};

static void open_bracket(struct opened *opened, const char *at)
{
    if (opened->count == DEPTH_LIMIT) {
        memmove(opened->at, opened->at + 1, (DEPTH_LIMIT - 1) * sizeof(*opened->at));
        opened->count--;
    }
    opened->at[opened->count++] = at;
}

static bool is_picture(const char *text, const char *bracket)
{
    return bracket > text && bracket[-1] == '!';
}

static void take_parentheses(const char *text, struct link *link)
{
    if (link->begin > text && link->begin[-1] == '(' && *link->end == ')') {
        link->begin--;
        link->end++;
    }
}

bool link_find(const char *from, struct link *ret_link)
{
    struct opened opened = {.count = 0};

    for (const char *at = from; (at = strpbrk(at, "[]\n")); at++) {
        if (*at == '\n' && at[1] == '\n')
            opened.count = 0;
        if (*at == '[')
            open_bracket(&opened, at);
        if (*at != ']' || !opened.count)
            continue;
        ret_link->begin = opened.at[--opened.count];
        if (at[1] != '(' || is_picture(from, ret_link->begin) || !read_target(at + 2, ret_link))
            continue;
        take_parentheses(from, ret_link);
        return true;
    }
    return false;
}

/* ---- Equal pages ---- */

static void add_lower(struct buf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        buf_add_char(out, (char)tolower((unsigned char)text[i]));
}

/* The parameters behind "?", without utm_source. */
static void add_query(struct buf *out, const char *query, size_t length)
{
    char before = '?';

    while (length) {
        const char *next = memchr(query, '&', length);
        size_t size = next ? (size_t)(next - query) : length;

        if (size && !(size >= strlen("utm_source=") && begins(query, "utm_source="))) {
            buf_add_char(out, before);
            buf_add(out, query, size);
            before = '&';
        }
        size += next != NULL;
        query += size;
        length -= size;
    }
}

static size_t until(const char *text, size_t length, char sign)
{
    const char *at = memchr(text, sign, length);

    return at ? (size_t)(at - text) : length;
}

char *link_page(const char *url, size_t length)
{
    AUTO_BUF page = {0};
    size_t address = until(url, length, '#');
    size_t path_end = until(url, address, '?');
    const char *slashes = memmem(url, path_end, "//", 2);
    size_t host = slashes ? (size_t)(slashes - url) + 2 : 0;
    size_t path = host + until(url + host, path_end - host, '/');

    while (path_end > path && url[path_end - 1] == '/')
        path_end--;
    add_lower(&page, url, path);
    buf_add(&page, url + path, path_end - path);
    path_end = until(url, address, '?');
    if (path_end < address)
        add_query(&page, url + path_end + 1, address - path_end - 1);
    return buf_take(&page);
}
