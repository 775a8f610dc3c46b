/*
 * A document that is a zip file is read, or refused; its text is valid, within its limit, and pages are those of
 * slides.
 *
 * The first byte says what the rest is. 'z': a zip file. Else it is a letter of `types`, and the rest are the texts of
 * that type's parts, with a NUL between them: random bytes seldom have the checksum that a zip file wants.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/document/office/office.h"
#include "core/document/plain_text.h"
#include "tests/support/zip_maker.h"

#define RELS(list) "<Relationships>" list "</Relationships>"
#define REL(id, type, target) \
    "<Relationship Id='" id "' Type='http://x/" type "' Target='" target "'/>"
#define OFFICE    "_rels/.rels", RELS(REL("m", "officeDocument", "m.xml"))
#define MAX_PARTS 4

static const struct {
    char letter;
    const char *fixed[4];         /* names and texts */
    const char *parts[MAX_PARTS]; /* names */
} types[] = {
    {'d',
     {OFFICE, "_rels/m.xml.rels", RELS(REL("s", "styles", "s") REL("n", "footnotes", "n"))},
     {"m.xml", "s", "n"}},
    {'x',
     {OFFICE, "_rels/m.xml.rels",
      RELS(REL("a", "worksheet", "w") REL("b", "sharedStrings", "t") REL("c", "styles", "s"))},
     {"m.xml", "w", "t", "s"}},
    {'p',
     {OFFICE, "_rels/m.xml.rels", RELS(REL("a", "slide", "s") REL("b", "slide", "t"))},
     {"m.xml", "s", "_rels/s.rels", "n"}},
    {'r', {OFFICE}, {"m.xml", "_rels/m.xml.rels", "a", "b"}},
    {'t', {"mimetype", "application/vnd.oasis.opendocument.text"}, {"content.xml"}},
    {'s', {"mimetype", "application/vnd.oasis.opendocument.spreadsheet"}, {"content.xml"}},
    {'o', {"mimetype", "application/vnd.oasis.opendocument.presentation"}, {"content.xml"}},
    {'e',
     {"mimetype", "application/epub+zip", "META-INF/container.xml",
      "<c><rootfile full-path='b'/></c>"},
     {"b", "a.html", "META-INF/encryption.xml", "META-INF/container.xml"}},
};

static void make_zip(struct buf *bytes, size_t type, const char *data, size_t size)
{
    struct zip_maker zip;

    zip_begin(&zip, bytes, "zip:compression=store");
    for (size_t i = 0; i < COUNT_OF(types[type].fixed) && types[type].fixed[i]; i += 2)
        zip_add(&zip, types[type].fixed[i], types[type].fixed[i + 1]);
    for (size_t i = 0; i < MAX_PARTS && types[type].parts[i] && size; i++) {
        const char *nul = memchr(data, '\0', size);
        size_t length = nul ? (size_t)(nul - data) : size;

        zip_add_bytes(&zip, types[type].parts[i], data, length);
        data += length + (nul != NULL);
        size -= length + (nul != NULL);
    }
    zip_end(&zip);
}

static void check_document(const char *bytes, size_t length)
{
    AUTO_BUF text = {0}, clean = {0};
    struct text_writer writer = {.text = &text};

    if (office_write(&writer, bytes, length) != READING_DONE)
        return;
    /* A cell's own text may come behind the last check. */
    assert(text.length <= TEXT_WRITER_MAX * 2);
    plain_text_add_pages(&clean, text.data ? text.data : "", text.length);
    assert(clean.length == text.length);
    assert(!text.length || memcmp(clean.data, text.data, text.length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;

    if (!size)
        return 0;
    if (*bytes == 'z')
        check_document(bytes + 1, size - 1);
    for (size_t type = 0; type < COUNT_OF(types); type++) {
        AUTO_BUF zip = {0};

        if (types[type].letter != *bytes)
            continue;
        make_zip(&zip, type, bytes + 1, size - 1);
        check_document(zip.data, zip.length);
    }
    return 0;
}
