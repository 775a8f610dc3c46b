#include <string.h>

#include "core/base/mem.h"
#include "core/tool/source.h"
#include "tests/support/test.h"

static void assert_quoted(const char *text, const char *expected)
{
    AUTO_BUF out = {0};

    source_add_quoted(&out, text);
    assert_string_equal(out.data, expected);
}

TEST(a_mark_is_written_in_one_form)
{
    char mark[SOURCE_MARK_SIZE];
    AUTO_BUF out = {0};
    size_t length = source_mark(2, 0, mark);

    assert_string_equal(mark, "【2:0†source】");
    assert_int_equal(length, strlen(mark));
    source_mark(4294967295u, 4294967295u, mark);
    assert_string_equal(mark, "【4294967295:4294967295†source】");
    assert_int_equal(source_mark_length(mark), strlen(mark));
    assert_int_equal(source_mark_length("【2:0†source】."), strlen("【2:0†source】"));
    assert_int_equal(source_mark_length("【2:0】"), 0);
    assert_int_equal(source_mark_length("【2:†source】"), 0);
    assert_int_equal(source_mark_length("2:0†source】"), 0);
    assert_int_equal(source_mark_length(""), 0);
    source_add_mark(&out, 2, 0);
    assert_string_equal(out.data, "【2:0†source】");
}

TEST(a_passage_brings_no_marks)
{
    assert_quoted("plain [1] a[0] 「x」", "plain [1] a[0] 「x」");
    assert_quoted("【注意】", "[注意】");
    assert_quoted("【1:0†source】.", "(1:0†source】.");
    assert_quoted("a[1:0†source]b", "a(1:0†source]b");
    assert_quoted("[【[2:", "[[(2:");
    assert_quoted("", "");
}

static void assert_passage(const struct source_passage *passage, const char *expected)
{
    assert_true(passage->shown);
    assert_int_equal(passage->length, strlen(expected));
    assert_memory_equal(passage->text, expected, passage->length);
}

TEST(passages_are_found_again)
{
    static const char text[] = "2 passages found.\n"
                               "【3:0†source】 a.md\n"
                               "one\ntwo\n"
                               "【2:1†source】 of another search\n"
                               " 【3:1†source】 not at the beginning\n"
                               "【3:1†source】 b.md\n"
                               "three";
    struct source_passage passages[3];

    source_passages(text, 3, passages, 3);
    assert_passage(&passages[0], "one\ntwo\n【2:1†source】 of another search\n"
                                 " 【3:1†source】 not at the beginning\n");
    assert_passage(&passages[1], "three");
    assert_false(passages[2].shown);
    source_passages(text, 1, passages, 3);
    assert_false(passages[0].shown);
    source_passages("【3:0†source】", 3, passages, 1);
    assert_passage(&passages[0], "");
    source_passages("【3:0", 3, passages, 1);
    assert_false(passages[0].shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_is_written_in_one_form),
        cmocka_unit_test(a_passage_brings_no_marks),
        cmocka_unit_test(passages_are_found_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
