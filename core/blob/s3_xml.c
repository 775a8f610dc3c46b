#include "core/blob/s3_xml.h"

#include <string.h>

#include "core/base/compiler.h"

static const char *find(const char *at, const char *end, const char *what)
{
    return memmem(at, (size_t)(end - at), what, strlen(what));
}

/* Behind "<name" or "</name": the tag is not that of a longer name. */
static bool ends_name(const char *at, const char *end)
{
    return at < end && (*at == '>' || *at == ' ' || *at == '\t' || *at == '\r' || *at == '\n');
}

/* A tag that begins with `mark`. *ret_end is behind its '>'. NULL without one. */
static const char *find_tag(const char *at, const char *end, const char *mark, const char *name,
                            const char **ret_end)
{
    size_t length = strlen(name);

    while ((at = find(at, end, mark))) {
        const char *word = at + strlen(mark);

        if ((size_t)(end - word) > length && memcmp(word, name, length) == 0 &&
            ends_name(word + length, end)) {
            const char *close = memchr(word, '>', (size_t)(end - word));

            if (!close)
                return NULL;
            *ret_end = close + 1;
            return at;
        }
        at = word;
    }
    return NULL;
}

bool s3_xml_next(struct s3_span *in, const char *name, struct s3_span *ret_inner)
{
    const char *end = in->text + in->length;
    const char *begin, *inner, *close, *behind;

    begin = find_tag(in->text, end, "<", name, &inner);
    if (!begin)
        return false;
    close = find_tag(inner, end, "</", name, &behind);
    if (!close)
        return false;
    *ret_inner = (struct s3_span){inner, (size_t)(close - inner)};
    *in = (struct s3_span){behind, (size_t)(end - behind)};
    return true;
}

/* The character that "&...;" stands for, or 0. Numbers are ASCII: ids and names have no others. */
static char entity(const char *word, size_t length)
{
    static const struct {
        const char *name;
        char byte;
    } names[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    unsigned number = 0, base = 10;
    size_t i = 1;

    for (size_t n = 0; n < COUNT_OF(names); n++) {
        if (strlen(names[n].name) == length && memcmp(word, names[n].name, length) == 0)
            return names[n].byte;
    }
    if (length < 2 || length > 8 || word[0] != '#')
        return 0;
    if (word[1] == 'x') {
        base = 16;
        i = 2;
    }
    for (; i < length; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = strchr(digits, word[i] | (word[i] >= 'A' ? 0x20 : 0));

        if (!word[i] || !digit || (unsigned)(digit - digits) >= base)
            return 0;
        number = number * base + (unsigned)(digit - digits);
    }
    return number < 128 ? (char)number : 0;
}

bool s3_xml_text(struct s3_span in, const char *name, char *ret_text, size_t size)
{
    struct s3_span inner;
    size_t used = 0;

    if (!s3_xml_next(&in, name, &inner))
        return false;
    for (size_t i = 0; i < inner.length; i++) {
        char byte = inner.text[i];

        if (byte == '&') {
            const char *word = inner.text + i + 1;
            const char *stop = memchr(word, ';', inner.length - i - 1);

            byte = stop ? entity(word, (size_t)(stop - word)) : 0;
            i += stop ? (size_t)(stop - word) + 1 : 0;
        } else if (byte == '<') {
            return false;
        }
        if (!byte || used + 1 >= size)
            return false;
        ret_text[used++] = byte;
    }
    ret_text[used] = '\0';
    return true;
}
