#include <string.h>

#include "core/base/mem.h"
#include "core/edit/diff.h"
#include "tests/support/test.h"
#include "tests/unit/core/edit/spans.h"

static void expect_diff(const char *before, const char *after, size_t additions,
                        size_t deletions, const char *wanted)
{
    AUTO_BUF out = {0};
    struct diff_counts counts = diff_texts(span_of(before), span_of(after), "f", &out);

    assert_int_equal(counts.additions, additions);
    assert_int_equal(counts.deletions, deletions);
    assert_string_equal(out.data ? out.data : "", wanted);
}

TEST(equal_texts_have_no_difference)
{
    expect_diff("a\nb\n", "a\nb\n", 0, 0, "");
    expect_diff("", "", 0, 0, "");
}

TEST(a_change_stands_between_three_lines_of_context)
{
    expect_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", 1, 1,
                "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(far_changes_are_hunks_of_their_own)
{
    expect_diff("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n", 2, 2,
                "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n"
                " 7\n-b\n+B\n");
    expect_diff("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n", 2, 2,
                "--- f\n+++ f\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
}

TEST(a_new_file_and_an_empty_one)
{
    expect_diff("", "abc", 1, 0,
                "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+abc\n\\ No newline at end of file\n");
    expect_diff("a\n", "", 0, 1, "--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n");
}

TEST(a_missing_line_break_at_the_end_is_a_difference)
{
    expect_diff("a", "a\n", 1, 1,
                "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

TEST(the_common_indentation_is_removed)
{
    expect_diff("    a\n\n      b\n", "    a\n\n      c\n", 1, 1,
                "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n \n-  b\n+  c\n");
}

TEST(the_byte_order_mark_is_not_shown)
{
    expect_diff("\xEF\xBB\xBF"
                "a\n",
                "\xEF\xBB\xBF"
                "b\n",
                1, 1, "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n+b\n");
}

/* ---- Random texts, beside the least number by a table ---- */

enum { LINES = 24 };

/* The length of the longest common sequence of lines. */
static size_t common(const char *a, size_t a_count, const char *b, size_t b_count)
{
    size_t table[LINES + 1][LINES + 1] = {{0}};

    for (size_t i = 1; i <= a_count; i++) {
        for (size_t j = 1; j <= b_count; j++) {
            size_t best = table[i - 1][j] > table[i][j - 1] ? table[i - 1][j] : table[i][j - 1];

            table[i][j] = a[2 * i - 2] == b[2 * j - 2] ? table[i - 1][j - 1] + 1 : best;
        }
    }
    return table[a_count][b_count];
}

static size_t random_lines(char *text, unsigned *seed)
{
    size_t count = (size_t)rand_r(seed) % (LINES + 1);

    for (size_t n = 0; n < count; n++) {
        text[2 * n] = (char)('a' + rand_r(seed) % 4);
        text[2 * n + 1] = '\n';
    }
    text[2 * count] = 0;
    return count;
}

/* Applies the diff to the text before; `out` has room. */
static void apply(const char *before, const char *diff, char *out)
{
    size_t line = 1;
    const char *at = strstr(diff, "@@");

    while (at && *at) {
        const char *end = strchr(at, '\n') + 1;

        if (*at == '@') {
            size_t first = strtoul(at + 4, NULL, 10);
            size_t count = strtoul(strchr(at, ',') + 1, NULL, 10);

            for (first += count == 0; line < first; line++, before += 2, out += 2)
                memcpy(out, before, 2);
        } else {
            if (*at != '+') {
                assert_memory_equal(at + 1, before, 2);
                before += 2;
                line++;
            }
            if (*at != '-') {
                memcpy(out, at + 1, 2);
                out += 2;
            }
        }
        at = end;
    }
    memcpy(out, before, strlen(before) + 1);
}

TEST(random_differences_are_least_and_make_the_text_after)
{
    unsigned seed = 1;

    for (int round = 0; round < 3000; round++) {
        char before[2 * LINES + 1], after[2 * LINES + 1], made[4 * LINES + 1];
        size_t a = random_lines(before, &seed), b = random_lines(after, &seed);
        size_t same = common(before, a, after, b);
        AUTO_BUF out = {0};
        struct diff_counts counts = diff_texts(span_of(before), span_of(after), "f", &out);

        assert_int_equal(counts.deletions, a - same);
        assert_int_equal(counts.additions, b - same);
        apply(before, out.data ? out.data : "", made);
        assert_string_equal(made, after);
    }
}

TEST(texts_that_differ_everywhere_are_one_change)
{
    enum { MANY = 5000 };
    AUTO_BUF before = {0}, after = {0};
    struct diff_counts counts;

    for (int n = 0; n < MANY; n++) {
        buf_addf(&before, "a%d\n", n);
        buf_addf(&after, "b%d\n", n);
    }
    counts = diff_texts((struct edit_span){before.data, before.length},
                        (struct edit_span){after.data, after.length}, "f", NULL);
    assert_int_equal(counts.additions, MANY);
    assert_int_equal(counts.deletions, MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_have_no_difference),
        cmocka_unit_test(a_change_stands_between_three_lines_of_context),
        cmocka_unit_test(far_changes_are_hunks_of_their_own),
        cmocka_unit_test(a_new_file_and_an_empty_one),
        cmocka_unit_test(a_missing_line_break_at_the_end_is_a_difference),
        cmocka_unit_test(the_common_indentation_is_removed),
        cmocka_unit_test(the_byte_order_mark_is_not_shown),
        cmocka_unit_test(random_differences_are_least_and_make_the_text_after),
        cmocka_unit_test(texts_that_differ_everywhere_are_one_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
