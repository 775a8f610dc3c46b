/*
 * The target of a request, taken apart and decoded once.
 *
 * One copy of the target holds everything: separators become NULs, and each piece is decoded in place,
 * since decoding never makes text longer. The struct's pointers lead into that copy. So a request costs
 * one allocation, and a second one if it has a query.
 *
 * Split first, then decode, and never decode again (RFC 3986, section 2.4). A reader that decodes first
 * takes data for boundaries. A reader that decodes twice turns %2530 into another id than the one that
 * was checked.
 */

#include "server/http/parse/uri.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum plus {
    PLUS_IS_PLUS,
    PLUS_IS_BLANK, /* the limit of parameters in a query */
};

/* Decodes in place, because the result is never longer. */
static enum err_code decode(char *text, enum plus plus, struct err *err)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        char byte = *from;

        if (byte == '%') {
            int high = hex_digit(from[1]);
            int low = high < 0 ? -1 : hex_digit(from[2]);

            if (low < 0)
                return err_set(err, ERR_INVALID, "Invalid URL: broken percent encoding.");
            byte = (char)(high << 4 | low);
            from += 2;
        } else if (byte == '+' && plus == PLUS_IS_BLANK) {
            byte = ' ';
        }
        if ((unsigned char)byte < ' ' || byte == 0x7F)
            return err_set(err, ERR_INVALID, "Invalid URL: it holds a control character.");
        *to++ = byte;
    }
    *to = '\0';
    if (!json_valid_utf8(text, (size_t)(to - text)))
        return err_set(err, ERR_INVALID, "Invalid URL: it is not UTF-8.");
    return ERR_OK;
}

static enum err_code split_path(struct uri *uri, char *path, struct err *err)
{
    /* "/" has one segment, which is empty; "/a/" has two. */
    for (char *at = path; at;) {
        char *segment = at + 1;
        enum err_code rc;

        if (uri->segment_count == URI_SEGMENT_LIMIT)
            return err_set(err, ERR_NOT_FOUND, "Invalid URL: too many segments.");
        at = strchr(segment, '/');
        if (at)
            *at = '\0';
        rc = decode(segment, PLUS_IS_PLUS, err);
        if (rc)
            return rc;
        uri->segments[uri->segment_count++] = segment;
    }
    return ERR_OK;
}

static enum err_code split_query(struct uri *uri, char *query, struct err *err)
{
    static char nothing[] = "";

    for (char *at = query; at;) {
        char *name = at;
        char *value;
        enum err_code rc;

        at = strchr(name, '&');
        if (at)
            *at++ = '\0';
        if (!*name)
            continue;
        if (uri->query_count == URI_QUERY_LIMIT)
            return err_set(err, ERR_INVALID, "Invalid URL: too many query parameters.");
        value = strchr(name, '=');
        if (value)
            *value++ = '\0';
        else
            value = nothing;
        rc = decode(name, PLUS_IS_BLANK, err);
        if (!rc && *value)
            rc = decode(value, PLUS_IS_BLANK, err);
        if (rc)
            return rc;
        if (!uri->query)
            uri->query = mem_new_array(struct uri_parameter, URI_QUERY_LIMIT);
        uri->query[uri->query_count++] = (struct uri_parameter){name, value};
    }
    return ERR_OK;
}

enum err_code uri_parse(const char *target, struct uri *ret_uri, struct err *err)
{
    struct uri uri = {0};
    char *query;
    enum err_code rc;

    if (strlen(target) > URI_LENGTH_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "Invalid URL: longer than %zu bytes.",
                       URI_LENGTH_LIMIT);
    if (*target != '/')
        return err_set(err, ERR_INVALID, "Invalid URL: it does not begin with a slash.");
    uri.memory = mem_strdup(target);
    query = strchr(uri.memory, '?');
    if (query)
        *query++ = '\0';
    rc = split_path(&uri, uri.memory, err);
    if (!rc && query)
        rc = split_query(&uri, query, err);
    if (rc) {
        uri_clear(&uri);
        return rc;
    }
    *ret_uri = uri;
    return ERR_OK;
}

void uri_clear(struct uri *uri)
{
    free(uri->memory);
    free(uri->joined);
    free(uri->query);
    *uri = (struct uri){0};
}

const char *uri_rest(struct uri *uri, size_t first)
{
    struct buf joined = {0};

    for (size_t i = first; i < uri->segment_count; i++) {
        if (i > first)
            buf_add_char(&joined, '/');
        buf_add_text(&joined, uri->segments[i]);
    }
    free(uri->joined);
    uri->joined = buf_take(&joined);
    return uri->joined;
}

const char *uri_query_name(const struct uri *uri, size_t n)
{
    return n < uri->query_count ? uri->query[n].name : NULL;
}

const char *uri_query(const struct uri *uri, const char *name)
{
    for (size_t i = 0; i < uri->query_count; i++)
        if (strcmp(uri->query[i].name, name) == 0)
            return uri->query[i].value;
    return NULL;
}

/* "include" and "include[]" are one name. */
static bool same_name(const char *given, const char *name)
{
    size_t length = strlen(name);

    return strncmp(given, name, length) == 0 &&
           (!given[length] || strcmp(given + length, "[]") == 0);
}

const char *uri_query_next(const struct uri *uri, const char *name, size_t *at)
{
    while (*at < uri->query_count) {
        const struct uri_parameter *parameter = &uri->query[(*at)++];

        if (same_name(parameter->name, name))
            return parameter->value;
    }
    return NULL;
}

bool uri_query_has(const struct uri *uri, const char *name, const char *value)
{
    const char *given;
    size_t at = 0;

    while ((given = uri_query_next(uri, name, &at))) {
        if (strcmp(given, value) == 0)
            return true;
    }
    return false;
}
