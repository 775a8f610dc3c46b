/*
 * err.c -- fills in an error, and makes sure that its text is UTF-8.
 *
 * The text goes into JSON: to clients, to models, to the log. It is made by vsnprintf() into a buffer of
 * fixed size, and it quotes what strangers have sent ("%.64s"). Both cut between bytes, not between
 * characters. jansson refuses a string that is not UTF-8, and json_build() takes that for a bug and ends
 * the process. So every text is trimmed here, once, instead of in each of the callers.
 *
 * The buffer is part of the struct. An error can be made when memory is short, needs no release, and may be
 * copied between threads by assignment.
 */

#include "core/base/err.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/utf8.h"

/* Bytes up to the next character. */
static size_t character_length(const char *character)
{
    size_t length = 1;

    while (character[length] && !utf8_begins(character[length]))
        length++;
    return length;
}

/* Removes incomplete characters, at the end or where a precision has cut. */
static void trim(char *text)
{
    char *end = text;
    size_t length;

    for (const char *at = text; *at; at += length) {
        length = character_length(at);
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
