/*
 * json_pointer.c -- follows a $ref member by member.
 *
 * A member of the pointer is encoded twice: RFC 6901 writes "/" as ~1 and "~" as ~0, and a URI fragment
 * may write any byte as %XX. The two are undone in this order, the outer encoding first.
 *
 * Only references within the document are followed. A reference to another document would mean a request
 * to a URL that a stranger has chosen, in the middle of a check.
 */

#include "core/base/json/json_pointer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One member of a pointer: %25 is a percent sign, then ~1 a slash and ~0 a tilde. */
static char *pointer_member(const char *text, size_t length)
{
    char *member = mem_new_array(char, length + 1);
    size_t end = 0, out = 0;

    for (size_t i = 0; i < length; i++) {
        int high = text[i] == '%' && i + 2 < length ? hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text[i + 2]) : -1;

        member[end++] = low >= 0 ? (char)(high * 16 + low) : text[i];
        i += low >= 0 ? 2 : 0;
    }
    for (size_t i = 0; i < end; i++) {
        if (member[i] == '~' && i + 1 < end && (member[i + 1] == '0' || member[i + 1] == '1'))
            member[out++] = member[++i] == '0' ? '~' : '/';
        else
            member[out++] = member[i];
    }
    member[out] = '\0';
    return member;
}

static const json_t *member_of(const json_t *parent, const char *name)
{
    char *end;
    unsigned long index;

    if (json_is_object(parent))
        return json_object_get(parent, name);
    index = strtoul(name, &end, 10);
    return json_is_array(parent) && *name >= '0' && *name <= '9' && !*end
               ? json_array_get(parent, index)
               : NULL;
}

const json_t *json_find_ref(const json_t *root, const char *ref)
{
    const json_t *found = root;

    if (*ref++ != '#' || (*ref && *ref != '/'))
        return NULL;
    while (found && *ref == '/') {
        size_t length = strcspn(++ref, "/");
        AUTO_FREE char *member = pointer_member(ref, length);

        found = member_of(found, member);
        ref += length;
    }
    return found;
}
