#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "tests/support/test.h"

TEST(added_bytes_are_followed_by_a_nul)
{
    AUTO_BUF buf = {0};

    buf_add(&buf, "a\0b", 3);
    buf_add_text(&buf, "text");
    buf_add_char(&buf, '!');
    buf_addf(&buf, "%d-%s", 7, "seven");
    assert_int_equal(buf.length, 3 + 4 + 1 + 7);
    assert_memory_equal(buf.data, "a\0btext!7-seven", buf.length + 1);
}

TEST(growing_keeps_every_byte)
{
    AUTO_BUF buf = {0};

    for (int i = 0; i < 100000; i++)
        buf_add_char(&buf, (char)('a' + i % 26));
    assert_int_equal(buf.length, 100000);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(buf.data[i], 'a' + i % 26);
}

TEST(numbers_are_written_in_full_range)
{
    AUTO_BUF buf = {0};

    buf_add_int(&buf, 0);
    buf_add_char(&buf, ' ');
    buf_add_int(&buf, INT64_MAX);
    buf_add_char(&buf, ' ');
    buf_add_int(&buf, INT64_MIN);
    assert_string_equal(buf.data, "0 9223372036854775807 -9223372036854775808");
}

TEST(escaped_text_parses_to_the_original)
{
    char all[512];
    size_t length = 0;
    AUTO_BUF buf = {0};
    json_auto_t *value = NULL;

    for (int byte = 1; byte < 128; byte++)
        all[length++] = (char)byte;
    memcpy(all + length, "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 9);
    length += 9;
    buf_add_char(&buf, '"');
    buf_add_json_escaped(&buf, all, length);
    buf_add_char(&buf, '"');
    assert_int_equal(json_parse(buf.data, buf.length, &value, NULL), ERR_OK);
    assert_int_equal(json_string_length(value), length);
    assert_memory_equal(json_string_value(value), all, length);
}

TEST(consuming_drops_the_first_bytes)
{
    AUTO_BUF buf = {0};

    buf_add_text(&buf, "head and tail");
    buf_consume(&buf, 9);
    assert_string_equal(buf.data, "tail");
    buf_consume(&buf, 4);
    assert_int_equal(buf.length, 0);
    assert_string_equal(buf.data, "");
}

TEST(taking_hands_over_the_bytes_and_leaves_an_empty_buf)
{
    struct buf buf = {0};
    char *text;

    text = buf_take(&buf);
    assert_string_equal(text, "");
    free(text);
    buf_add_text(&buf, "mine");
    text = buf_take(&buf);
    assert_string_equal(text, "mine");
    assert_null(buf.data);
    assert_int_equal(buf.length, 0);
    free(text);
}

TEST(reserving_without_adding_gives_an_empty_string)
{
    struct buf buf = {0};
    char *text;

    memset(buf_reserve(&buf, 10), 'x', 10);
    buf_added(&buf, 0);
    assert_string_equal(buf.data, "");
    buf_clear(&buf);
    for (int i = 0; i < 100; i++) { /* used memory */
        buf_reserve(&buf, 300);
        text = buf_take(&buf);
        assert_string_equal(text, "");
        memset(text, 'x', 300);
        free(text);
    }
}

TEST(reset_keeps_the_memory)
{
    AUTO_BUF buf = {0};
    char *before;

    buf_add_text(&buf, "something");
    before = buf.data;
    buf_reset(&buf);
    assert_int_equal(buf.length, 0);
    assert_string_equal(buf.data, "");
    buf_add_text(&buf, "else");
    assert_ptr_equal(buf.data, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_bytes_are_followed_by_a_nul),
        cmocka_unit_test(growing_keeps_every_byte),
        cmocka_unit_test(numbers_are_written_in_full_range),
        cmocka_unit_test(escaped_text_parses_to_the_original),
        cmocka_unit_test(consuming_drops_the_first_bytes),
        cmocka_unit_test(taking_hands_over_the_bytes_and_leaves_an_empty_buf),
        cmocka_unit_test(reserving_without_adding_gives_an_empty_string),
        cmocka_unit_test(reset_keeps_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
