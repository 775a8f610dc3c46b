#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/turn/input_text.h"
#include "tests/support/test.h"

/* The text that is read from `arguments` in pieces of `step` bytes. */
static char *read_in_pieces(const char *arguments, size_t step)
{
    struct input_text input = {0};
    struct buf out = {0};
    size_t length = strlen(arguments);

    for (size_t at = 0; at < length; at += step)
        input_text_feed(&input, arguments + at, length - at < step ? length - at : step, &out);
    return buf_take(&out);
}

static void assert_text(const char *arguments, const char *expected)
{
    for (size_t step = 1; step <= strlen(arguments) + 1; step++) {
        AUTO_FREE char *text = read_in_pieces(arguments, step);

        if (strcmp(text, expected) != 0)
            fail_msg("%s in pieces of %zu became %s", arguments, step, text);
    }
}

TEST(the_text_comes_out_as_it_is_written)
{
    assert_text("{\"input\":\"select 1\"}", "select 1");
    assert_text(" { \"input\" : \"\" } ", "");
    assert_text("{\n\t\"input\":\"caf\xC3\xA9\",\"more\":\"x\"}", "caf\xC3\xA9");
    assert_text("{\"input\":\"unfinis", "unfinis");
}

TEST(escapes_are_characters)
{
    assert_text("{\"input\":\"a\\\"b\\\\c\\/d\\b\\f\\n\\r\\te\"}", "a\"b\\c/d\b\f\n\r\te");
    assert_text("{\"input\":\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00!\"}",
                "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80!");
}

/* The same text as jansson reads. */
TEST(the_text_is_what_a_json_parser_finds)
{
    for (uint32_t code = 1; code < 0x600; code++) {
        AUTO_FREE char *arguments = mem_printf("{\"input\":\"x\\u%04x\"}", code);
        json_auto_t *object = json_parse_own(arguments);

        assert_text(arguments, json_get_string(object, "input", "?"));
    }
}

TEST(arguments_of_another_shape_give_no_text)
{
    /* clang-format off */
    static const char *const others[] = {
        "", "select 1", "\"select 1\"", "[\"input\"]", "{\"inputs\":\"x\"}", "{\"in\":\"x\"}",
        "{\"input\":7}", "{\"input\":[\"x\"]}", "{\"more\":1,\"input\":\"x\"}", "{input:\"x\"}",
        "{\"input\":\"\\u0000\"}", "{\"input\":\"\\ud83d\"}", "{\"input\":\"\\ud83d\\u0041\"}",
        "{\"input\":\"\\udE00\"}", "{\"input\":\"\\x\"}", "{\"input\":\"\\u12G4\"}", "{\"input\":\"\n\"}",
        "{\"input\":\"\\ud83dxxxxxx\"}",
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_text(others[i], "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_comes_out_as_it_is_written),
        cmocka_unit_test(escapes_are_characters),
        cmocka_unit_test(the_text_is_what_a_json_parser_finds),
        cmocka_unit_test(arguments_of_another_shape_give_no_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
