/* What kind of document some bytes are. */

#include "core/document/document_type.h"

#include <string.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"

#define BYTES(text) text, sizeof(text) - 1
#define OLE         "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"

static const struct {
    const char *bytes;
    size_t length;
    const char *name;
    enum document_type type;
} rows[] = {
    {BYTES("%PDF-1.7\n"), "a.txt", DOCUMENT_PDF},
    {BYTES("junk before\n%PDF-1.4\n"), NULL, DOCUMENT_PDF},
    {BYTES("A text about the mark %PDF- in files.\n"), "a.md", DOCUMENT_TEXT},
    {BYTES("<!DOCTYPE html><p>x"), "a.txt", DOCUMENT_HTML},
    {BYTES("\xEF\xBB\xBF \n<HTML>"), NULL, DOCUMENT_HTML},
    {BYTES("<p>no head</p>"), "page.HTM", DOCUMENT_HTML},
    {BYTES("<p>no head</p>"), "page.md", DOCUMENT_TEXT},
    {BYTES("plain"), "archive.zip", DOCUMENT_TEXT},
    {BYTES("plain"), NULL, DOCUMENT_TEXT},
    {BYTES(""), NULL, DOCUMENT_TEXT},
    {BYTES("caf\xE9 ol\xE9"), "a.csv", DOCUMENT_CSV},
    {BYTES("\xFF\xFEh\0i\0"), "a.txt", DOCUMENT_TEXT},
    {BYTES("PK\x03\x04\0\0\0\0"), "a.txt", DOCUMENT_OFFICE},
    {BYTES("PK\x05\x06\0\0\0\0"), NULL, DOCUMENT_OFFICE},
    {BYTES("{\\rtf1\\ansi"), "a.doc", DOCUMENT_RTF},
    {BYTES(OLE "W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0"), NULL, DOCUMENT_DOC},
    {BYTES("\xDB\xA5\x2D\0\0\0\0\0"), NULL, DOCUMENT_DOC},
    {BYTES(OLE "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0"), "a.docx", DOCUMENT_LOCKED},
    {BYTES(OLE "W\0o\0r\0k\0b\0o\0o\0k\0"), "a.xls", DOCUMENT_UNKNOWN},
    {BYTES("<?xml version='1.0'?><a/>"), NULL, DOCUMENT_XML},
    {BYTES("\xFF\xFE<\0?\0x\0m\0l\0 \0"), NULL, DOCUMENT_XML},
    {BYTES("<?xml version='1.0'?>\n<!DOCTYPE html><p/>"), "a.xml", DOCUMENT_HTML},
    {BYTES("a,b\n1,2"), "a.CSV", DOCUMENT_CSV},
    {BYTES("a,b\n1,2"), "a.txt", DOCUMENT_TEXT},
    {BYTES("MZ\x90\0\3\0\0\0\4\0\0\0"), "a.csv", DOCUMENT_UNKNOWN},
    {BYTES("\x89PNG\r\n\x1A\n\0\0\0\rIHDR"), "a.pdf", DOCUMENT_UNKNOWN},
    {BYTES("\x01\x02\x03\x04 controls"), NULL, DOCUMENT_UNKNOWN},
};

TEST(the_bytes_decide_and_the_name_helps)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (document_type_of(rows[i].bytes, rows[i].length, rows[i].name) != rows[i].type)
            fail_msg("row %zu: %s", i, rows[i].bytes);
    }
}

TEST(a_control_character_in_a_long_text_is_no_harm)
{
    char text[1000];

    memset(text, 'a', sizeof(text));
    memset(text, 0x01, 20);
    assert_int_equal(document_type_of(text, sizeof(text), NULL), DOCUMENT_TEXT);
    text[0] = 0;
    assert_int_equal(document_type_of(text, sizeof(text), NULL), DOCUMENT_TEXT);
    text[20] = 0x01;
    assert_int_equal(document_type_of(text, sizeof(text), NULL), DOCUMENT_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_decide_and_the_name_helps),
        cmocka_unit_test(a_control_character_in_a_long_text_is_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
