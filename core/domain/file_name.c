#include "core/domain/file_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

static bool is_control(char byte)
{
    return (unsigned char)byte < ' ' || byte == 0x7F;
}

char *file_name_kept(const char *filename)
{
    const char *last = filename;
    size_t length;
    char *kept;

    for (const char *at = filename; *at; at++) {
        if (*at == '/' || *at == '\\')
            last = at + 1;
    }
    length = utf8_fit(last, FILE_NAME_LIMIT);
    if (!length)
        return mem_strdup("file");
    kept = mem_strndup(last, length);
    for (char *at = kept; *at; at++) {
        if (is_control(*at))
            *at = '_';
    }
    return kept;
}

/* RFC 8187: attr-char. */
static bool is_plain(char byte)
{
    return isalnum((unsigned char)byte) || (byte && strchr("!#$&+-.^_`|~", byte));
}

char *file_name_disposition(const char *filename)
{
    struct buf text = {0};

    buf_add_text(&text, "attachment; filename=\"");
    for (const char *at = filename; *at; at++) {
        bool safe = !is_control(*at) && (unsigned char)*at < 0x80 && *at != '"' &&
                    *at != '\\' && *at != '%';

        if (utf8_begins(*at))
            buf_add_char(&text, safe ? *at : '_');
    }
    buf_add_text(&text, "\"; filename*=UTF-8''");
    for (const char *at = filename; *at; at++) {
        if (is_plain(*at))
            buf_add_char(&text, *at);
        else
            buf_addf(&text, "%%%02X", (unsigned)(unsigned char)*at);
    }
    return buf_take(&text);
}
