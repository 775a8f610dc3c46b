/*
 * The boundary of a form, from its Content-Type.
 *
 * The grammar of parameters is that of RFC 9110, section 5.6.6: name=value, separated by semicolons,
 * where a value is a token or a quoted string. It is read leniently where clients are known to differ
 * (see take_plain), and strictly where two readers could find two boundaries: a second `boundary`
 * parameter, or text that is no parameter, refuses the form. A proxy or a scanner in front that used
 * another boundary would see other parts than the server.
 */

#include "server/http/parse/form_boundary.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

#define BLANKS " \t"
#define ALNUM  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
/* RFC 9110, section 5.6.2, and RFC 2046, section 5.1.1 */
#define TOKEN_CHARACTERS    "!#$%&'*+-.^_`|~" ALNUM
#define BOUNDARY_CHARACTERS "'()+_,-./:=? " ALNUM

/* The text between quotes, from behind the first one. NULL: it does not end. */
static const char *take_quoted(const char *at, struct buf *value)
{
    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && !*++at)
            return NULL;
        buf_add(value, at, 1);
    }
    return *at ? at + 1 : NULL;
}

/* Clients send boundaries with = and : in them, and without the quotes that these would need. */
static const char *take_plain(const char *at, struct buf *value)
{
    size_t length = strcspn(at, ";\"" BLANKS);

    buf_add(value, at, length);
    return at + length;
}

/* Moves behind one parameter; *ret_is_it says whether it is the boundary. `value` is empty
 * before. NULL: no parameter. */
static const char *take_parameter(const char *at, struct buf *value, bool *ret_is_it)
{
    size_t name = strspn(at, TOKEN_CHARACTERS);

    *ret_is_it = name == strlen("boundary") && strncasecmp(at, "boundary", name) == 0;
    if (!name || at[name] != '=')
        return NULL;
    at += name + 1;
    return *at == '"' ? take_quoted(at + 1, value) : take_plain(at, value);
}

static bool is_boundary(const struct buf *value)
{
    return value->length && value->length <= FORM_BOUNDARY_LIMIT &&
           strspn(value->data, BOUNDARY_CHARACTERS) == value->length &&
           value->data[value->length - 1] != ' ';
}

char *form_boundary(const char *type)
{
    const char *at = type + strcspn(type, ";" BLANKS);
    AUTO_FREE char *found = NULL;

    for (at += strspn(at, BLANKS); *at == ';'; at += strspn(at, BLANKS)) {
        AUTO_BUF value = {0};
        bool is_it;

        at += 1 + strspn(at + 1, BLANKS);
        if (!*at || *at == ';')
            continue;
        at = take_parameter(at, &value, &is_it);
        if (!at || (is_it && (found || !is_boundary(&value))))
            return NULL;
        if (is_it)
            found = buf_take(&value);
    }
    return *at ? NULL : TAKE(found);
}
