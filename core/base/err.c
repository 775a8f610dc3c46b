#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/utf8.h"

/* clang-format off */
static const struct {
    int http_status;
    const char *api_type;
} envelopes[ERR_CODE_COUNT] = {
    [ERR_OK]           = {200, ""},
    [ERR_INVALID]      = {400, "invalid_request_error"},
    [ERR_UNAUTHORIZED] = {401, "invalid_request_error"},
    [ERR_FORBIDDEN]    = {403, "invalid_request_error"},
    [ERR_NOT_FOUND]    = {404, "invalid_request_error"},
    [ERR_METHOD]       = {405, "invalid_request_error"},
    [ERR_CONFLICT]     = {400, "invalid_request_error"},
    [ERR_TAKEN]        = {409, "invalid_request_error"},
    [ERR_TOO_LARGE]    = {413, "invalid_request_error"},
    [ERR_LIMIT]        = {429, "requests"},
    [ERR_CANCELLED]    = {499, "invalid_request_error"},
    [ERR_TIMEOUT]      = {504, "server_error"},
    [ERR_UPSTREAM]     = {502, "server_error"},
    [ERR_STORE]        = {503, "server_error"},
    [ERR_INTERNAL]     = {500, "server_error"},
};
/* clang-format on */

/* Bytes up to the next character. */
static size_t letter_length(const char *letter)
{
    size_t length = 1;

    while (letter[length] && !utf8_begins(letter[length]))
        length++;
    return length;
}

/* Removes what is not UTF-8, because the text will be JSON. A text that was cut, at its end or by a
 * precision in the format, may end within a character. */
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

PRINTF_LIKE(5, 0)
static enum err_code fill(struct err *err, enum err_code code, const char *api_code,
                          const char *param, const char *format, va_list arguments)
{
    if (!err)
        return code;
    err->code = code;
    err->api_code = api_code;
    (void)snprintf(err->param, sizeof(err->param), "%s", param ? param : "");
    (void)vsnprintf(err->text, sizeof(err->text), format, arguments);
    trim(err->param);
    trim(err->text);
    return code;
}

enum err_code err_set(struct err *err, enum err_code code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fill(err, code, NULL, NULL, format, arguments);
    va_end(arguments);
    return code;
}

enum err_code err_invalid(struct err *err, const char *api_code, const char *param,
                          const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fill(err, ERR_INVALID, api_code, param, format, arguments);
    va_end(arguments);
    return ERR_INVALID;
}

enum err_code err_set_api(struct err *err, enum err_code code, const char *api_code,
                          const char *param, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fill(err, code, api_code, param, format, arguments);
    va_end(arguments);
    return code;
}

int err_http_status(enum err_code code)
{
    return envelopes[code].http_status;
}

const char *err_api_type(enum err_code code)
{
    return envelopes[code].api_type;
}
