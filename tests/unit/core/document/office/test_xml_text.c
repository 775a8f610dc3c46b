/* XML of any kind as text. */

#include "core/document/office/xml_text.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"

#define BYTES(text) text, sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t length;
    enum reading end;
    const char *text;
} rows[] = {
    {BYTES("<?xml version='1.0'?><a><b x='1' y='&lt;'>one</b><c/><!-- no --></a>"),
     READING_DONE, "<a>\n<b x=\"1\" y=\"<\">one</b>\n<c/>\n</a>"},
    {BYTES("<a>\n  <b>\n    <c>1 &amp; 2</c>\n  </b>\n</a>"), READING_DONE,
     "<a>\n<b>\n<c>1 & 2</c>\n</b>\n</a>"},
    {BYTES("<n:p xmlns:n='u'>some <n:b>bold</n:b> text</n:p>"), READING_DONE,
     "<n:p xmlns:n=\"u\">some <n:b>bold</n:b> text</n:p>"},
    {BYTES("<?xml version='1.0' encoding='ISO-8859-1'?><a>caf\xE9</a>"), READING_DONE,
     "<a>caf\xC3\xA9</a>"},
    {BYTES("\xFF\xFE<\0a\0>\0\xE9\0<\0/\0a\0>\0"), READING_DONE, "<a>\xC3\xA9</a>"},
    {BYTES("<!DOCTYPE a [<!ENTITY x 'long'><!ENTITY y SYSTEM '/usr/share/x'>]><a>&x;&y;</a>"),
     READING_DONE, "<a>&x;&y;</a>"},
    {BYTES("<a><![CDATA[<raw>]]></a>"), READING_DONE, "<a><raw></a>"},
    {BYTES("<a><b></a>"), READING_DAMAGED, NULL},
    {BYTES("<a>"), READING_DAMAGED, NULL},
    {BYTES("text"), READING_DAMAGED, NULL},
    {BYTES("<a>&undeclared;</a>"), READING_DAMAGED, NULL},
};

TEST(tags_stay_and_begin_lines)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF text = {0};
        struct text_writer writer = {.text = &text};
        enum reading end = xml_text_write(&writer, rows[i].bytes, rows[i].length);

        if (end != rows[i].end || (rows[i].text && strcmp(text.data, rows[i].text) != 0))
            fail_msg("row %zu: %d '%s'", i, (int)end, text.data);
    }
}

/* Ten entities of ten of the one before, in text and in an attribute. */
TEST(a_billion_laughs_are_not_laughed)
{
    static const char *const uses[] = {"<a>&l9;</a>", "<a x='&l9;'/>"};

    for (size_t use = 0; use < COUNT_OF(uses); use++) {
        AUTO_BUF bytes = {0}, text = {0};
        struct text_writer writer = {.text = &text};

        buf_add_text(&bytes, "<!DOCTYPE a [<!ENTITY l0 'lol'>");
        for (int i = 1; i < 10; i++) {
            buf_addf(&bytes, "<!ENTITY l%d '", i);
            for (int j = 0; j < 10; j++)
                buf_addf(&bytes, "&l%d;", i - 1);
            buf_add_text(&bytes, "'>");
        }
        buf_addf(&bytes, "]>%s", uses[use]);
        (void)xml_text_write(&writer, bytes.data, bytes.length);
        assert_true(text.length < 100);
    }
}

TEST(elements_have_a_depth)
{
    AUTO_BUF bytes = {0}, text = {0};
    struct text_writer writer = {.text = &text};

    for (int i = 0; i < 300; i++)
        buf_add_text(&bytes, "<a>");
    for (int i = 0; i < 300; i++)
        buf_add_text(&bytes, "</a>");
    assert_int_equal(xml_text_write(&writer, bytes.data, bytes.length), READING_DAMAGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_stay_and_begin_lines),
        cmocka_unit_test(a_billion_laughs_are_not_laughed),
        cmocka_unit_test(elements_have_a_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
