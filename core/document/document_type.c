/*
 * document_type.c -- signatures first, then what text looks like.
 *
 * Text has no signature. Bytes count as text when hardly any of them are control characters, which no
 * encoding of text uses: at most one in fifty. A NUL means UTF-16, if a byte order mark says so, else no text.
 */

#include "core/document/document_type.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/compiler.h"

/* A PDF may have some bytes before its signature; readers look for it in the first kilobyte. */
#define PDF_MARK_WITHIN ((size_t)1024)

#define CONTROLS_ONE_IN 50

static bool has_ending(const char *name, const char *const *endings, size_t count)
{
    const char *dot = name ? strrchr(name, '.') : NULL;

    for (size_t i = 0; dot && i < count; i++) {
        if (strcasecmp(dot + 1, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool has_utf16_mark(const char *bytes, size_t length)
{
    return length >= 2 &&
           (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0);
}

static bool looks_like_text(const char *bytes, size_t length)
{
    size_t controls = 0;

    if (has_utf16_mark(bytes, length))
        return true;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte == 0)
            return false;
        controls += (byte < 0x20 && !strchr("\t\n\v\f\r\x1B", byte)) || byte == 0x7F;
    }
    return controls * CONTROLS_ONE_IN <= length;
}

/* The first tag, behind a byte order mark and white space. */
static bool looks_like_html(const char *bytes, size_t length)
{
    static const char *const begins[] = {"<!doctype html", "<html", "<head", "<body"};

    if (length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) {
        bytes += 3;
        length -= 3;
    }
    while (length && strchr(" \t\r\n", *bytes)) {
        bytes++;
        length--;
    }
    for (size_t i = 0; i < COUNT_OF(begins); i++) {
        size_t size = strlen(begins[i]);

        if (length >= size && strncasecmp(bytes, begins[i], size) == 0)
            return true;
    }
    return false;
}

/* At the very beginning, or at the beginning of a line. Bytes before it are allowed by PDF's own readers. */
static bool has_pdf_mark(const char *bytes, size_t length)
{
    const char *mark = memmem(bytes, length, "%PDF-", 5);

    return mark &&
           (mark == bytes || strchr("\r\n", mark[-1]) || (mark[-1] & 0x80) || !mark[-1]);
}

enum document_type document_type_of(const char *bytes, size_t length, const char *filename)
{
    static const char *const html_endings[] = {"html", "htm", "xhtml"};
    size_t head = length < PDF_MARK_WITHIN ? length : PDF_MARK_WITHIN;

    if (has_pdf_mark(bytes, head))
        return DOCUMENT_PDF;
    if (!looks_like_text(bytes, length < DOCUMENT_TYPE_BYTES ? length : DOCUMENT_TYPE_BYTES))
        return DOCUMENT_UNKNOWN;
    if (looks_like_html(bytes, length) ||
        has_ending(filename, html_endings, COUNT_OF(html_endings)))
        return DOCUMENT_HTML;
    return DOCUMENT_TEXT;
}
