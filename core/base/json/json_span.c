#include "core/base/json/json_span.h"

#include <string.h>

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at) && *at)
        at++;
    return at;
}

/* From a quotation mark to behind its partner. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : end;
}

static const char *skip_scalar(const char *at, const char *end)
{
    while (at < end && *at && !strchr(",:]} \t\r\n", *at))
        at++;
    return at;
}

static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;

    if (at < end && *at == '"')
        return skip_string(at, end);
    if (at == end || (*at != '{' && *at != '['))
        return skip_scalar(at, end);
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        if (*at == '{' || *at == '[')
            depth++;
        if (*at == '}' || *at == ']')
            depth--;
        at++;
        if (!depth)
            break;
    }
    return at;
}

bool json_span_is(struct json_span value, const char *text)
{
    size_t length = strlen(text);

    return value.length == length + 2 && *value.at == '"' &&
           memcmp(value.at + 1, text, length) == 0;
}

bool json_span_next(struct json_span list, struct json_span *element)
{
    const char *end = list.at + list.length;
    const char *at = element->at ? element->at + element->length : list.at;

    if (!list.length || *list.at != '[')
        return false;
    at = skip_blanks(at, end);
    if (at == end || *at == ']')
        return false;
    at = skip_blanks(at + 1, end); /* behind '[' or ',' */
    if (at == end || *at == ']')
        return false;
    *element = (struct json_span){at, (size_t)(skip_value(at, end) - at)};
    return true;
}

bool json_span_member(struct json_span object, const char *key, struct json_span *ret_value)
{
    const char *end = object.at + object.length;
    const char *at = object.at;

    if (!object.length || *at != '{')
        return false;
    while ((at = skip_blanks(at + 1, end)) < end && *at == '"') { /* behind '{' or ',' */
        struct json_span name = {at, (size_t)(skip_string(at, end) - at)};

        at = skip_blanks(name.at + name.length, end);
        if (at == end)
            return false;
        at = skip_blanks(at + 1, end); /* behind ':' */
        if (json_span_is(name, key)) {
            *ret_value = (struct json_span){at, (size_t)(skip_value(at, end) - at)};
            return true;
        }
        at = skip_blanks(skip_value(at, end), end);
        if (at == end)
            return false;
    }
    return false;
}
