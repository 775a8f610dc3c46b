#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/utf8.h"
#include "tests/support/test.h"

TEST(a_text_that_fits_is_kept_whole)
{
    assert_int_equal(utf8_fit("", 0), 0);
    assert_int_equal(utf8_fit("", 10), 0);
    assert_int_equal(utf8_fit("plain", 10), 5);
    assert_int_equal(utf8_fit("plain", 5), 5);
    assert_int_equal(utf8_fit("plain", SIZE_MAX), 5);
    assert_int_equal(utf8_fit("caf\xC3\xA9", 5), 5);
}

/* Characters of one to four bytes, at every limit. */
TEST(no_character_is_cut)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"
                               "b\xC3\xA9";
    static const size_t ends[] = {0, 1, 3, 6, 10, 11, 13};
    size_t letter = 0;

    for (size_t limit = 0; limit < sizeof(text); limit++) {
        while (letter + 1 < COUNT_OF(ends) && ends[letter + 1] <= limit)
            letter++;
        assert_int_equal(utf8_fit(text, limit), ends[letter]);
        assert_true(json_valid_utf8(text, utf8_fit(text, limit)));
    }
}

TEST(bytes_after_the_limit_are_not_read)
{
    const char bytes[] = {'a', 'b', (char)0xC3};

    assert_int_equal(utf8_fit(bytes, 2), 2);
    assert_int_equal(utf8_fit(bytes, 3), 2);
}

TEST(of_invalid_bytes_only_a_possible_beginning_is_left_out)
{
    assert_int_equal(utf8_fit("\xA9", 9), 1);
    assert_int_equal(utf8_fit("\xA9\xA9\xA9\xA9\xA9\xA9", 5), 5);
    assert_int_equal(utf8_fit("a\xA9", 9), 2);
    assert_int_equal(utf8_fit("a\xFF", 9), 1);
}

TEST(nul_is_a_character_among_bytes)
{
    assert_int_equal(utf8_fit_bytes("\0\0\0\0", 4), 4);
    assert_int_equal(utf8_fit_bytes("a\0\xc3\xa9", 4), 4);
    assert_int_equal(utf8_fit_bytes("a\0\xc3", 3), 2);
    assert_int_equal(utf8_fit_bytes("", 0), 0);
}

TEST(characters_are_counted_and_found)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"
                               "b";
    static const size_t begins[] = {0, 1, 3, 6, 10, 11};

    for (size_t i = 0; i < COUNT_OF(begins); i++) {
        assert_int_equal(utf8_count(text, begins[i]), i);
        assert_ptr_equal(utf8_at(text, i), text + begins[i]);
    }
    assert_ptr_equal(utf8_at(text, 99), text + 11);
    assert_int_equal(utf8_count("\xA9\xA9", 2), 0);
    assert_int_equal(strlen(utf8_at("\xA9\xA9z", 0)), 1);
}

TEST(every_character_is_written_and_read_as_utf8)
{
    for (uint32_t point = 1; point < 0x110000; point++) {
        char text[4];
        size_t length;
        uint32_t read;

        if (point == 0xD800)
            point = 0xE000;
        length = (size_t)(utf8_put(text, point) - text);
        assert_true(json_valid_utf8(text, length));
        assert_int_equal(utf8_count(text, length), 1);
        assert_int_equal(utf8_take(text, length, &read), length);
        assert_int_equal(read, point);
        assert_int_equal(length, point < 0x80      ? 1
                                 : point < 0x800   ? 2
                                 : point < 0x10000 ? 3
                                                   : 4);
    }
    assert_memory_equal(UTF8_REPLACEMENT, "\xEF\xBF\xBD", UTF8_REPLACEMENT_LENGTH);
}

TEST(bytes_that_are_no_character_are_read_one_by_one)
{
    static const char *const texts[] = {
        "\x80",
        "\xC0\x80",
        "\xC3",
        "\xC3(",
        "\xE0\x80\x80",
        "\xED\xA0\x80",
        "\xE2\x82",
        "\xE2\x82(",
        "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFF",
    };
    uint32_t point;

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_int_equal(utf8_take(texts[i], strlen(texts[i]), &point), 1);
        assert_int_equal(point, 0xFFFD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_that_fits_is_kept_whole),
        cmocka_unit_test(no_character_is_cut),
        cmocka_unit_test(bytes_after_the_limit_are_not_read),
        cmocka_unit_test(of_invalid_bytes_only_a_possible_beginning_is_left_out),
        cmocka_unit_test(nul_is_a_character_among_bytes),
        cmocka_unit_test(characters_are_counted_and_found),
        cmocka_unit_test(every_character_is_written_and_read_as_utf8),
        cmocka_unit_test(bytes_that_are_no_character_are_read_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
