#include <string.h>

#include "core/edit/lines.h"
#include "tests/support/test.h"
#include "tests/unit/core/edit/spans.h"

static void expect_span(struct edit_span span, const char *wanted)
{
    assert_true(edit_same(span, span_of(wanted)));
}

static void clear(struct edit_lines *lines)
{
    edit_lines_clear(lines);
}

TEST(lines_are_separated_by_lf_alone)
{
    __attribute__((cleanup(clear))) struct edit_lines lines;

    edit_lines_init(&lines, span_of("a\r\nb\n"));
    assert_int_equal(lines.count, 3);
    assert_int_equal(edit_lines_trimmed(&lines), 2);
    expect_span(edit_line(&lines, 0), "a\r");
    expect_span(edit_line(&lines, 1), "b");
    expect_span(edit_line(&lines, 2), "");
    expect_span(edit_lines_span(&lines, 0, 2), "a\r\nb");
}

TEST(an_empty_text_is_one_empty_line)
{
    __attribute__((cleanup(clear))) struct edit_lines lines;

    edit_lines_init(&lines, span_of(""));
    assert_int_equal(lines.count, 1);
    expect_span(edit_line(&lines, 0), "");
}

TEST(white_space_is_that_of_javascript)
{
    expect_span(edit_trim(span_of("\t\xC2\xA0 a b\xE3\x80\x80\xEF\xBB\xBF\r\n")), "a b");
    expect_span(edit_trim(span_of("\xE2\x80\x8B")), "\xE2\x80\x8B"); /* U+200B is not */
    expect_span(edit_trim(span_of(" \v\f ")), "");
    assert_int_equal(edit_white(span_of("\xE2\x80\xA8x")), 3);
    assert_int_equal(edit_white(span_of("x")), 0);
    assert_int_equal(edit_white(span_of("")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_separated_by_lf_alone),
        cmocka_unit_test(an_empty_text_is_one_empty_line),
        cmocka_unit_test(white_space_is_that_of_javascript),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
