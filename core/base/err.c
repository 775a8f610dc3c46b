#include "core/base/err.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/utf8.h"

/* Bytes up to the next letter. */
static size_t letter_length(const char *letter)
{
    size_t length = 1;

    while (letter[length] && !utf8_begins(letter[length]))
        length++;
    return length;
}

/* What was cut, at the end or by a precision before it, may end in half a letter: it goes, because the
 * text will be JSON. */
static void trim(char *text)
{
    char *end = text;
    size_t length;

    for (const char *at = text; *at; at += length) {
        length = letter_length(at);
        if (!json_valid_utf8(at, length))
            continue;
        memmove(end, at, length);
        end += length;
    }
    *end = '\0';
}

enum err_code err_fill(struct err *err, enum err_code code, enum err_reason reason,
                       const char *place, const char *format, va_list arguments)
{
    if (!err)
        return code;
    err->code = code;
    err->reason = reason;
    err->word = NULL;
    (void)snprintf(err->place, sizeof(err->place), "%s", place ? place : "");
    (void)vsnprintf(err->text, sizeof(err->text), format, arguments);
    trim(err->place);
    trim(err->text);
    return code;
}

enum err_code err_set(struct err *err, enum err_code code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    err_fill(err, code, REASON_UNSET, NULL, format, arguments);
    va_end(arguments);
    return code;
}

enum err_code err_refuse(struct err *err, enum err_code code, enum err_reason reason,
                         const char *place, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    err_fill(err, code, reason, place, format, arguments);
    va_end(arguments);
    return code;
}
