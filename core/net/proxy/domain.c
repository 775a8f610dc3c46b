#include "core/net/proxy/domain.h"

#include <string.h>
#include <strings.h>

#define LABEL_LIMIT 63

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* What inet_aton() takes as a part of an address: decimal, octal or hexadecimal digits. */
static bool is_number(const char *label)
{
    static const char hexadecimal[] = "0123456789abcdefABCDEF";

    if (label[0] == '0' && (label[1] == 'x' || label[1] == 'X'))
        return strspn(label + 2, hexadecimal) == strlen(label + 2);
    return strspn(label, "0123456789") == strlen(label);
}

bool domain_is_name(const char *text)
{
    const char *label = text;

    if (strlen(text) > DOMAIN_LIMIT)
        return false;
    for (const char *at = text;; at++) {
        if (is_letter(*at) || is_digit(*at) || *at == '-' || *at == '_')
            continue;
        if ((*at && *at != '.') || at == label || at - label > LABEL_LIMIT)
            return false;
        if (!*at)
            return !is_number(label);
        label = at + 1;
    }
}

/* The name behind "*."; NULL: it has none. */
static const char *base_of(const char *pattern)
{
    return strncmp(pattern, "*.", 2) == 0 ? pattern + 2 : NULL;
}

bool domain_is_pattern(const char *text)
{
    const char *base = base_of(text);

    return domain_is_name(base ? base : text);
}

/* The name ends in the base, after a dot. */
static bool is_below(const char *base, const char *name)
{
    size_t length = strlen(name), tail = strlen(base);

    return length > tail && name[length - tail - 1] == '.' &&
           strcasecmp(name + length - tail, base) == 0;
}

bool domain_matches(const char *pattern, const char *name)
{
    const char *base = base_of(pattern);

    if (!domain_is_name(name))
        return false;
    return base ? is_below(base, name) : strcasecmp(pattern, name) == 0;
}

bool domain_covers(const char *outer, const char *inner)
{
    const char *base = base_of(outer), *inside = base_of(inner);

    if (!inside)
        return domain_matches(outer, inner);
    return base && (strcasecmp(base, inside) == 0 || is_below(base, inside));
}
