/*
 * document_type.c -- signatures first, then what text looks like.
 *
 * Text has no signature. Bytes count as text when hardly any of them are control characters, which no
 * encoding of text uses: at most one in fifty. So UTF-16 needs a byte order mark, because half of its bytes may be
 * NULs.
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

        controls += !byte || (byte < 0x20 && !strchr("\t\n\v\f\r\x1B", byte)) || byte == 0x7F;
    }
    return controls * CONTROLS_ONE_IN <= length;
}

/* Without a byte order mark and white space. */
static void skip_blanks(const char **bytes, size_t *length)
{
    if (*length >= 3 && memcmp(*bytes, "\xEF\xBB\xBF", 3) == 0) {
        *bytes += 3;
        *length -= 3;
    }
    while (*length && strchr(" \t\r\n", **bytes)) {
        ++*bytes;
        --*length;
    }
}

static bool begins_with(const char *bytes, size_t length, const char *begin)
{
    size_t size = strlen(begin);

    return length >= size && strncasecmp(bytes, begin, size) == 0;
}

/* The first tag, behind the declaration that makes it XHTML. */
static bool looks_like_html(const char *bytes, size_t length)
{
    static const char *const begins[] = {"<!doctype html", "<html", "<head", "<body"};

    skip_blanks(&bytes, &length);
    if (begins_with(bytes, length, "<?xml")) {
        const char *end = memmem(bytes, length, "?>", 2);

        length -= end ? (size_t)(end + 2 - bytes) : length;
        bytes = end ? end + 2 : bytes;
        skip_blanks(&bytes, &length);
    }
    for (size_t i = 0; i < COUNT_OF(begins); i++) {
        if (begins_with(bytes, length, begins[i]))
            return true;
    }
    return false;
}

static bool looks_like_xml(const char *bytes, size_t length)
{
    static const char utf16[] = "<\0?\0x\0m\0l", big_utf16[] = "\0<\0?\0x\0m";

    if (has_utf16_mark(bytes, length))
        return length > 12 && (memcmp(bytes + 2, utf16, sizeof(utf16) - 1) == 0 ||
                               memcmp(bytes + 2, big_utf16, sizeof(big_utf16) - 1) == 0);
    skip_blanks(&bytes, &length);
    return begins_with(bytes, length, "<?xml");
}

/* An old container of Microsoft's: names of its streams are UTF-16. */
static enum document_type type_of_ole(const char *bytes, size_t length)
{
    static const char word[] = "W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t";
    static const char locked[] = "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e";

    if (memmem(bytes, length, locked, sizeof(locked)))
        return DOCUMENT_LOCKED;
    return memmem(bytes, length, word, sizeof(word)) ? DOCUMENT_DOC : DOCUMENT_UNKNOWN;
}

/* At the very beginning, or at the beginning of a line. Bytes before it are allowed by PDF's own readers. */
static bool has_pdf_mark(const char *bytes, size_t length)
{
    const char *mark = memmem(bytes, length, "%PDF-", 5);

    return mark &&
           (mark == bytes || strchr("\r\n", mark[-1]) || (mark[-1] & 0x80) || !mark[-1]);
}

/* clang-format off */
#define BYTES(text) text, sizeof(text) - 1
static const struct {
    const char *bytes;
    size_t length;
    const char *what;
} signatures[] = {
    {BYTES("\x89PNG\r\n"),                   "a PNG picture"},
    {BYTES("\xFF\xD8\xFF"),                   "a JPEG picture"},
    {BYTES("GIF8"),                          "a GIF picture"},
    {BYTES("RIFF"),                          "a WebP picture, a sound or a film"},
    {BYTES("PK"),                            "a ZIP archive that is no document"},
    {BYTES("\x1F\x8B"),                      "a gzip archive"},
    {BYTES("7z\xBC\xAF\x27\x1C"),            "a 7z archive"},
    {BYTES("Rar!"),                          "a RAR archive"},
    {BYTES("BZh"),                           "a bzip2 archive"},
    {BYTES("\xFD" "7zXZ"),                   "an xz archive"},
    {BYTES("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), "an old Office file that is no Word document"},
    {BYTES("\x7F" "ELF"),                    "a program"},
    {BYTES("MZ"),                            "a program"},
    {BYTES("ID3"),                           "a sound"},
};
/* clang-format on */

bool document_type_is_plain(enum document_type type)
{
    return type == DOCUMENT_TEXT || type == DOCUMENT_CSV || type == DOCUMENT_HTML ||
           type == DOCUMENT_XML;
}

const char *document_type_guess(const char *bytes, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(signatures); i++) {
        if (length >= signatures[i].length &&
            memcmp(bytes, signatures[i].bytes, signatures[i].length) == 0)
            return signatures[i].what;
    }
    return "no text in any encoding";
}

static enum document_type type_of_text(const char *bytes, size_t length, const char *filename)
{
    static const char *const html[] = {"html", "htm", "xhtml"};
    static const char *const csv[] = {"csv", "tsv", "tab"};

    if (looks_like_html(bytes, length) || has_ending(filename, html, COUNT_OF(html)))
        return DOCUMENT_HTML;
    if (looks_like_xml(bytes, length))
        return DOCUMENT_XML;
    return has_ending(filename, csv, COUNT_OF(csv)) ? DOCUMENT_CSV : DOCUMENT_TEXT;
}

enum document_type document_type_of(const char *bytes, size_t length, const char *filename)
{
    if (has_pdf_mark(bytes, length < PDF_MARK_WITHIN ? length : PDF_MARK_WITHIN))
        return DOCUMENT_PDF;
    if (begins_with(bytes, length, "{\\rtf"))
        return DOCUMENT_RTF;
    if (length > 4 &&
        (memcmp(bytes, "PK\x03\x04", 4) == 0 || memcmp(bytes, "PK\x05\x06", 4) == 0))
        return DOCUMENT_OFFICE;
    if (length > 8 && memcmp(bytes, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", 8) == 0)
        return type_of_ole(bytes, length);
    if (length > 4 && memcmp(bytes, "\xDB\xA5\x2D\0", 4) ==
                          0) /* Word 2, which is older than these containers */
        return DOCUMENT_DOC;
    if (!looks_like_text(bytes, length < DOCUMENT_TYPE_BYTES ? length : DOCUMENT_TYPE_BYTES))
        return DOCUMENT_UNKNOWN;
    return type_of_text(bytes, length, filename);
}
