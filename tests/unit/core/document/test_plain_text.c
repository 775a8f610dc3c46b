/* Bytes of some encoding as UTF-8. */

#include "core/document/plain_text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

#define BYTES(text) text, sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t length;
    const char *text;
} rows[] = {
    {BYTES("plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
     "plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
    {BYTES("\xEF\xBB\xBFmarked"), "marked"},
    {BYTES("\xFF\xFEh\0\xE9\0"), "h\xC3\xA9"},
    {BYTES("\xFE\xFF\0h\0\xE9"), "h\xC3\xA9"},
    {BYTES("\xFF\xFEh\0\xE9"), "h"}, /* half a unit at the end */
    {BYTES("caf\xE9 ol\xE9 na\xEFve"), "caf\xC3\xA9 ol\xC3\xA9 na\xC3\xAFve"},
    {BYTES("10 \x80 \x93quoted\x94"), "10 \xE2\x82\xAC \xE2\x80\x9Cquoted\xE2\x80\x9D"},
    {BYTES("\xD6\xD0\xCE\xC4\xCE\xC4\xB5\xB5"),
     "\xE4\xB8\xAD\xE6\x96\x87\xE6\x96\x87\xE6\xA1\xA3"},
    /* Cut within a sign; another damage; and a few letters that happen to look like UTF-8. */
    {BYTES("\xE4\xB8\xAD\xE6\x96\x87\xE6\x96\x87\xE6\xA1"),
     "\xE4\xB8\xAD\xE6\x96\x87\xE6\x96\x87\xEF\xBF\xBD\xEF\xBF\xBD"},
    {BYTES("\xC3\xA9 \xC3\xA8 \xC3\xA9 \xC3\xA8 \xC3\xA9 \xFF"),
     "\xC3\xA9 \xC3\xA8 \xC3\xA9 \xC3\xA8 \xC3\xA9 \xEF\xBF\xBD"},
    {BYTES("\xC3\xA9t\xE9 \xE0 \xE8"), "\xC3\x83\xC2\xA9t\xC3\xA9 \xC3\xA0 \xC3\xA8"},
    {BYTES("one\r\ntwo\rthree\n"), "one\ntwo\nthree\n"},
    {BYTES("a\x01\x7F\f\v\tb"), "a\tb"},
    {BYTES(""), ""},
};

TEST(the_encoding_is_found)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF text = {0};

        plain_text_add(&text, rows[i].bytes, rows[i].length);
        if (strcmp(text.data ? text.data : "", rows[i].text) != 0)
            fail_msg("row %zu: %s", i, text.data);
    }
}

TEST(a_name_that_the_bytes_do_not_fit_counts_as_none)
{
    static const struct {
        const char *name, *bytes, *text;
    } named[] = {{"ISO-8859-1", "caf\xE9", "caf\xC3\xA9"},
                 {"iso-8859-1", "caf\xC3\xA9", "caf\xC3\xA9"},
                 {"windows-1252", "plain", "plain"},
                 {"utf-8", "caf\xE9", "caf\xC3\xA9"},
                 {"shift_jis", "\x93\xFA\x96\x7B", "\xE6\x97\xA5\xE6\x9C\xAC"},
                 {"x-klingon", "caf\xC3\xA9", "caf\xC3\xA9"}};

    for (size_t i = 0; i < COUNT_OF(named); i++) {
        AUTO_BUF text = {0};

        plain_text_add_as(&text, named[i].name, named[i].bytes, strlen(named[i].bytes));
        assert_string_equal(text.data, named[i].text);
    }
}

TEST(names_of_encodings_are_found)
{
    AUTO_FREE char *type = plain_text_charset("text/html; charset=\"Shift_JIS\"; a=b");
    AUTO_FREE char *page = plain_text_charset("<meta charset='gb2312'/>");

    assert_string_equal(type, "Shift_JIS");
    assert_string_equal(page, "gb2312");
    assert_null(plain_text_charset("text/html"));
}

TEST(invalid_pages_become_valid_text)
{
    AUTO_BUF text = {0};

    plain_text_add_pages(&text, BYTES("one\f\xE2\x82two\xED\xA0\x80\xC0\x80\0end\xF0\x9F"));
    assert_string_equal(text.data,
                        "one\f\xEF\xBF\xBD\xEF\xBF\xBDtwo\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
                        "\xEF\xBF\xBD\xEF\xBF\xBD"
                        "end\xEF\xBF\xBD\xEF\xBF\xBD");
}

/* For any bytes: jansson takes only valid UTF-8. */
TEST(random_bytes_become_valid_text)
{
    unsigned seed = 1;

    for (int round = 0; round < 2000; round++) {
        AUTO_BUF text = {0}, pages = {0};
        char bytes[64];
        size_t length = (size_t)(round % 64);
        json_t *made;

        for (size_t i = 0; i < length; i++) {
            seed = seed * 1103515245 + 12345;
            bytes[i] = (char)(round % 2 ? seed >> 16 : (seed >> 16) | 0x80);
        }
        plain_text_add(&text, bytes, length);
        plain_text_add_pages(&pages, bytes, length);
        made = json_stringn(text.data ? text.data : "", text.length);
        assert_non_null(made);
        json_decref(made);
        made = json_stringn(pages.data ? pages.data : "", pages.length);
        assert_non_null(made);
        json_decref(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_encoding_is_found),
        cmocka_unit_test(a_name_that_the_bytes_do_not_fit_counts_as_none),
        cmocka_unit_test(names_of_encodings_are_found),
        cmocka_unit_test(invalid_pages_become_valid_text),
        cmocka_unit_test(random_bytes_become_valid_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
