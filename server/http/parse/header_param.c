#include "server/http/parse/header_param.h"

#include <string.h>
#include <strings.h>

#define BLANKS " \t"
/* RFC 9110, section 5.6.2 */
#define TOKEN_CHARACTERS \
    "!#$%&'*+-.^_`|~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

const char *header_params(const char *value)
{
    value += strcspn(value, ";" BLANKS);
    return value + strspn(value, BLANKS);
}

/* From behind the first quote to the last one; NULL: it does not end. */
static const char *end_of_quoted(const char *at)
{
    for (; *at && *at != '"'; at++)
        if (*at == '\\' && !*++at)
            return NULL;
    return *at ? at : NULL;
}

/* Moves over the semicolons, of which there may be several, to the name. */
static bool find_name(const char **at)
{
    bool found = false;

    while (**at == ';') {
        found = true;
        *at += 1;
        *at += strspn(*at, BLANKS);
    }
    return found && **at;
}

bool header_param_next(const char **at, struct header_param *ret_param)
{
    struct header_param param = {0};
    const char *end;

    if (!find_name(at))
        return false;
    param.name = *at;
    param.name_length = strspn(*at, TOKEN_CHARACTERS);
    if (!param.name_length || param.name[param.name_length] != '=')
        return false;
    param.value = param.name + param.name_length + 1;
    param.quoted = *param.value == '"';
    param.value += param.quoted;
    end = param.quoted ? end_of_quoted(param.value)
                       : param.value + strcspn(param.value, ";\"" BLANKS);
    if (!end)
        return false;
    param.value_length = (size_t)(end - param.value);
    end += param.quoted;
    end += strspn(end, BLANKS);
    if (*end && *end != ';')
        return false;
    *at = end;
    *ret_param = param;
    return true;
}

bool header_param_is(const struct header_param *param, const char *name)
{
    return param->name_length == strlen(name) &&
           strncasecmp(param->name, name, param->name_length) == 0;
}
